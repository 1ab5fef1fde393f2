"""The cases of many streams and of data sets run: sizes are tiny here, and no time is looked at."""

from __future__ import annotations

import pyarrow as pa

import harmonystream as hs
from bench.cases import many, rows, threads
from bench.rivals import with_openai_harmony as official
from bench.rivals.sides import Side


def test_many_streams_and_a_data_set_have_floors(monkeypatch):
    monkeypatch.setattr(many, "TOKENS", 2048)
    with Side("with_openai_harmony") as rival:
        found = list(many.measured(1, rival, 1 / 256))
    assert [row.cells[2] for row in found] == ["at most 1.5", "at least 300"]
    assert found[0].cells[0].startswith("columns of 64 streams")


def test_both_read_the_same_data_set():
    ids = rows.row()
    ours = pa.array(hs.columns.parse_many(rows.columns(ids, 2), fields=("reasoning", "content", "calls"))).to_pylist()
    for row in ours:
        row["calls"] = [{name: call[name] for name in ("name", "arguments")} for call in row["calls"]]
    assert official.arrow_of(list(ids), 2).to_pylist() == ours
    assert ours[1]["calls"][0]["name"] == "write_file"


def test_a_worker_reads_a_data_set_without_a_batch(monkeypatch):
    monkeypatch.setattr(threads, "FEW", 2)
    threads.prepare(len(threads.CASES) - 1, seconds=0.001)
    threads.work()
    threads.OWN.busy.forget()
    assert len(threads.OWN.busy.feed(threads.OWN.busy.slots)) == threads.ROWS_EACH
