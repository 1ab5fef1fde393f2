"""The cases of bytes and batches: they run, and time what they say. Sizes are tiny here, and no time is looked at."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import ENV

import harmonystream as hs

pytest.importorskip("openai_harmony")

ROOT = Path(__file__).parent.parent
TOKENS = 128


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(ROOT))
    try:
        yield {name: importlib.import_module(f"bench.{name}") for name in ("batch", "ours", "sse", "streams")}
    finally:
        sys.path.remove(str(ROOT))


@pytest.mark.parametrize("kind", ["content", "arguments"])
def test_the_hand_written_path_sends_the_same_bytes(bench, kind):
    sse = bench["sse"]
    work = sse.works(TOKENS)[kind]
    emitter = sse.opened("Chat", work)
    made = [frame for tid in work.ids if (frame := emitter.feed(tid))]
    assert sse.by_hand(bench["streams"].encoding(), work, kind) == made
    assert len(made) > TOKENS // 2


def test_both_paths_are_timed(bench):
    rows = list(bench["sse"].measured(64, 1))
    assert [row.name for row in rows] == ["token id to SSE bytes: content", "token id to SSE bytes: arguments"]
    assert all(row.ours > 0 and row.newest > 0 and row.floor == 15 for row in rows)


@pytest.mark.parametrize("api", ["Chat", "Responses", "Messages"])
def test_every_block_of_a_long_response_has_the_same_work(bench, api, monkeypatch):
    sse = bench["sse"]
    monkeypatch.setattr(sse, "BLOCKS", 3)
    work = sse.works(TOKENS)["content"]
    assert sse.last_over_first(api, work)() > 0
    emitter = sse.opened(api, work)
    frames = [len([frame for tid in work.ids if (frame := emitter.feed(tid))]) for _ in range(3)]
    assert frames[1] == frames[2] > TOKENS // 2


def test_a_step_is_one_token_for_each_open_answer(bench, monkeypatch):
    batch = bench["batch"]
    monkeypatch.setattr(batch, "STREAMS", 8)
    monkeypatch.setattr(batch, "STEPS", 2)
    for emitters in (False, True):
        some, slots = batch.filled(emitters)
        assert {some[slot].region for slot in slots} == {hs.Region.CONTENT}
        assert [len(ids) for ids in batch.steps(2)] == [8, 8]
        assert batch.one_token(emitters)() > 0


def test_without_two_free_cores_there_is_no_floor(bench):
    verdict = bench["batch"].verdict
    assert verdict(1.5, 1.79).met is None
    assert "not free" in verdict(1.5, 1.79).note
    assert [verdict(value, 1.9).met for value in (1.79, 1.8)] == [False, True]


@pytest.mark.slow
def test_threads_are_measured_in_a_process_of_their_own(bench):
    done = subprocess.run([sys.executable, "-m", "bench.batch"], cwd=ROOT, env=ENV, capture_output=True, text=True)
    assert done.stderr == ""
    assert [value > 0 for value in json.loads(done.stdout)] == [True, True]
