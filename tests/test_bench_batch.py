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

for needed in ("openai_harmony", "orjson"):
    pytest.importorskip(needed)

ROOT = Path(__file__).parent.parent
TOKENS = 128
NAMES = ("batch", "by_hand", "emitters", "old_release", "sse", "streams")


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(ROOT))
    try:
        yield {name: importlib.import_module(f"bench.{name}") for name in NAMES}
    finally:
        sys.path.remove(str(ROOT))


@pytest.mark.parametrize("kind", ["content", "reasoning", "arguments"])
def test_the_hand_written_path_sends_the_same_bytes(bench, kind):
    work = bench["emitters"].works(TOKENS)[kind]
    emitter = bench["emitters"].opened("Chat", kind, work)
    made = [frame for tid in work.ids if (frame := emitter.feed(tid))]
    assert bench["by_hand"].frames(bench["streams"].encoding(), work.opening, work.ids) == made
    assert len(made) > TOKENS // 2


def test_the_hand_written_path_asks_again_when_a_message_begins(bench):
    streams, by_hand = bench["streams"], bench["by_hand"]
    ids = streams.marked_ids(
        f"{streams.ANALYSIS}Hm<|end|><|start|>assistant{streams.CALL}{{}}<|call|>"
        f'<|start|>assistant{streams.FINAL}"Yes"<|return|>'
    )
    frames = b"".join(by_hand.frames(streams.encoding(), [], ids)).decode().split("\n\n")
    deltas = [json.loads(frame[6:])["choices"][0]["delta"] for frame in frames[:-1]]
    call = {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}
    assert deltas == [{"reasoning": "Hm"}, call, {"content": '"'}, {"content": "Yes"}, {"content": '"'}]


def test_all_paths_are_timed(bench):
    old = bench["old_release"].OldRelease(sys.executable)  # any release will do to try the pipe
    try:
        rows = list(bench["sse"].measured(64, 1, old))
    finally:
        old.close()
    assert [row.name for row in rows] == ["token id to SSE bytes: content", "token id to SSE bytes: arguments"]
    assert all(min(row.ours, row.newest, row.old) > 0 and row.floor == 15 for row in rows)
    assert [row.old for row in bench["sse"].measured(64, 1, None)] == [None, None]


APIS = ("Chat", "Responses", "Messages")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", ["content", "arguments"])
def test_every_block_of_a_long_response_has_the_same_work(bench, api, kind, monkeypatch):
    sse, emitters = bench["sse"], bench["emitters"]
    monkeypatch.setattr(sse, "BLOCKS", 3)
    work = emitters.works(TOKENS)[kind]
    assert sse.last_over_first(api, kind, work)() > 0
    emitter = emitters.opened(api, kind, work)
    frames = [len([frame for tid in work.ids if (frame := emitter.feed(tid))]) for _ in range(3)]
    assert frames[1] == frames[2] > TOKENS // 2


def test_each_emitter_is_timed_with_each_kind(bench):
    emitters = bench["emitters"]
    costs = list(emitters.measured(64, 1))
    assert [cost.name for cost in costs] == [*APIS, emitters.ALONE]
    assert all(list(cost.took) == list(emitters.KINDS) and min(cost.took.values()) > 0 for cost in costs)
    cells = emitters.cells(emitters.Cost("Chat", dict.fromkeys(emitters.KINDS, 12.34)))
    assert cells == ("Chat", *["12.3 ns"] * 4)
    assert len(cells) == len(emitters.HEAD)


@pytest.mark.parametrize("api", APIS)
def test_what_is_hidden_is_read_and_not_sent(bench, api):
    emitters = bench["emitters"]
    work = emitters.works(TOKENS)["hidden reasoning"]
    shown, hidden = (emitters.opened(api, kind, work) for kind in ("reasoning", "hidden reasoning"))
    assert len(b"".join(map(shown.feed, work.ids))) > 50 * TOKENS
    assert b"".join(map(hidden.feed, work.ids)) == b""
    assert hidden.parser.region is hs.Region.REASONING


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
    busy = verdict("columns", 1.5, 1.89, 2, 0.75)
    assert (busy.met, busy.note) == (
        None,
        "two cores are not free: 2 cores, of which others kept 0.8 busy; sha256 gets 1.89×",
    )
    assert [verdict("columns, 16 tokens", value, 1.9, 2, None).met for value in (1.79, 1.8)] == [False, True]
    assert verdict("columns, 16 tokens", 1.8, 1.9, 4, None).note == "4 cores; sha256 gets 1.90×"


@pytest.mark.parametrize(("gil", "met"), [(True, None), (False, False)])
def test_a_step_that_needs_the_gil_has_a_floor_without_it(bench, monkeypatch, gil, met):
    monkeypatch.setattr(bench["batch"], "gil_enabled", lambda: gil)
    assert bench["batch"].verdict("SSE bytes, 1 token", 1.0, 1.95, 2, None).met is met


def test_how_busy_others_are_is_told_in_cores(bench, monkeypatch):
    batch = bench["batch"]
    monkeypatch.setattr(batch.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(batch.time, "sleep", lambda seconds: None)
    told = iter([(100, 1000), (130, 1040)])
    monkeypatch.setattr(batch, "ticks", lambda: next(told))
    assert batch.others() == 3.0
    monkeypatch.setattr(batch, "ticks", lambda: (0, 0))
    assert batch.others() is None


@pytest.mark.slow
def test_threads_are_measured_in_a_process_of_their_own(bench):
    done = subprocess.run([sys.executable, "-m", "bench.batch"], cwd=ROOT, env=ENV, capture_output=True, text=True)
    assert done.stderr == ""
    seen = json.loads(done.stdout)
    assert seen["cores"] >= 1
    assert [name for name, *_ in seen["found"]] == [name for name, *_ in bench["batch"].CASES]
    assert all(value > 0 for _, *values in seen["found"] for value in values)
