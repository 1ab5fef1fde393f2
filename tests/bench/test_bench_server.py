"""bench/server.py runs, its servers answer alike, and its engine's chunks are those of vLLM."""

from __future__ import annotations

import json
import re
import sys

import pytest

from bench import server
from bench.wire import chunks

CLOCK = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a clock of another process")


@CLOCK
def test_it_measures_all_three_servers(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench.server", "--tokens=64", "--streams=2", "--rounds=1", "--markdown"])
    server.main()
    printed = capsys.readouterr().out
    row = re.compile(
        r"^\| (harmonystream|openai-harmony|one chunk).*\| [\d,]+ \| [\d.]+ µs \| (-?[\d.]+ µs|–) \|$", re.M
    )
    assert [match[1] for match in row.finditer(printed)] == ["harmonystream", "openai-harmony", "one chunk"]
    assert re.search(r"^ours sends [\d.]+× as many chunks", printed, re.M)
    assert "\n2 clients at a time, 64 tokens each, 1 rounds\n" in printed


def test_a_row_says_what_is_left_without_the_server():
    rows = server.rows({"ours": 15_000.0, "official": 40_000.0, "nothing": 12_500.0})
    assert [row.cells[1:] for row in rows] == [
        ("66,667", "15.00 µs", "2.50 µs"),
        ("25,000", "40.00 µs", "27.50 µs"),
        ("80,000", "12.50 µs", "–"),
    ]


def test_every_token_is_in_one_chunk():
    for size in (1, 8):
        *made, end = chunks(40, size)
        choices = [json.loads(chunk.removeprefix(b"data: "))["choices"][0] for chunk in made]
        assert [len(choice["token_ids"]) for choice in choices[:-1]] == [size] * (len(made) - 1)
        assert [choice["finish_reason"] for choice in choices] == [None] * (len(made) - 1) + ["stop"]
        assert end == b"data: [DONE]\n\n"
