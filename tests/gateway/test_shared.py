"""The database of a gateway: one in memory, or one for several processes."""

from __future__ import annotations

import sqlite3

import pytest

from harmonystream.gateway.operating.shared import connect, writing

SCHEMA = "CREATE TABLE IF NOT EXISTS numbers (number INTEGER)"


def numbers(database):
    return [number for (number,) in database.execute("SELECT number FROM numbers")]


def test_what_one_connection_has_written_another_reads(tmp_path):
    one, other = connect(tmp_path, SCHEMA), connect(tmp_path, SCHEMA)
    with writing(one):
        one.execute("INSERT INTO numbers VALUES (1)")
        assert numbers(other) == []
    assert numbers(other) == [1]


def test_a_transaction_that_raises_leaves_nothing_and_bars_nobody(tmp_path):
    one, other = connect(tmp_path, SCHEMA), connect(tmp_path, SCHEMA)
    with pytest.raises(sqlite3.OperationalError), writing(one):
        one.execute("INSERT INTO numbers VALUES (1)")
        one.execute("INSERT INTO nowhere VALUES (1)")
    with writing(other):
        other.execute("INSERT INTO numbers VALUES (2)")
    assert numbers(one) == [2]


def test_in_memory_each_has_its_own():
    one, other = connect(None, SCHEMA), connect(None, SCHEMA)
    one.execute("INSERT INTO numbers VALUES (1)")
    assert (numbers(one), numbers(other)) == ([1], [])
