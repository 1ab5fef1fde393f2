"""bench/server.py runs, and its three servers answer alike."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

for needed in ("openai_harmony", "pydantic", "starlette", "uvicorn"):
    pytest.importorskip(needed)

ROOT = Path(__file__).resolve().parents[2]


def test_it_measures_all_three_servers():
    command = [sys.executable, "-m", "bench.server", "--tokens=64", "--streams=2", "--rounds=1", "--markdown"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    row = re.compile(
        r"^\| (harmonystream|openai-harmony|one chunk).*\| [\d,]+ \| [\d.]+ µs \| (-?[\d.]+ µs|–) \|$", re.M
    )
    assert [match[1] for match in row.finditer(done.stdout)] == ["harmonystream", "openai-harmony", "one chunk"]
    assert re.search(r"^ours sends [\d.]+× as many chunks", done.stdout, re.M)
    assert "\n2 clients at a time, 64 tokens each, 1 rounds\n" in done.stdout


def test_its_table_goes_into_the_page_of_servers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    publish, page, server = (
        importlib.import_module(f"bench.{name}") for name in ("publish", "server_publish", "server")
    )
    before, inner, behind = publish.block(page.PAGE.read_text(encoding="utf-8"), publish.PAGE_BLOCK)
    table = next(part for part in inner.split("\n\n") if part.startswith("| ")).splitlines()
    assert before.rpartition("\n## ")[2].startswith("What a chunk costs\n")
    assert publish.cells(table[0]) == list(page.HEAD)
    assert [publish.cells(row)[0] for row in table[2:]] == list(server.KINDS.values())
    run = inner.removeprefix("- ").replace("\n- ", "\n")
    assert publish.published(f"{before}x{behind}", run) == before + inner + behind


def test_a_row_says_what_is_left_without_the_server(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    server = importlib.import_module("bench.server")
    assert [cells[1:] for cells in server.rows({"ours": 15_000.0, "official": 40_000.0, "nothing": 12_500.0})] == [
        ("66,667", "15.00 µs", "2.50 µs"),
        ("25,000", "40.00 µs", "27.50 µs"),
        ("80,000", "12.50 µs", "–"),
    ]
