"""A small database that the processes of one gateway share, or that one process has for itself."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["connect", "writing"]

_WAIT = 5.0
"""Seconds that a process waits for another one's transaction."""


class _Connection(sqlite3.Connection):
    """It closes itself when it is dropped: newer Pythons warn of a connection that nobody has closed."""

    def __del__(self) -> None:
        self.close()


def connect(folder: str | os.PathLike[str] | None, schema: str) -> sqlite3.Connection:
    """A connection to the database in this folder; None: in memory. schema: statements that make what is not there.

    It is used by one thread at a time, and each statement is a transaction unless `writing` begins one.
    """
    where = ":memory:" if folder is None else os.path.join(folder, "shared.sqlite")
    made = sqlite3.connect(where, timeout=_WAIT, isolation_level=None, check_same_thread=False, factory=_Connection)
    if folder is not None:  # nothing here outlives the gateway: no write has to reach the disk
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = OFF")
    made.executescript(schema)
    return made


@contextmanager
def writing(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction, in which nobody else writes."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
