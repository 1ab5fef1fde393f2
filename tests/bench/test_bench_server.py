"""bench/server.py runs, and its three servers answer alike."""

from __future__ import annotations

import re
import sys

from bench import server


def test_it_measures_all_three_servers(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench.server", "--tokens=64", "--streams=2", "--rounds=1", "--markdown"])
    assert server.main() == 0
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
