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

ROOT = Path(__file__).resolve().parents[2]
TOKENS = 128
NAMES = ("batch", "by_hand", "emitters", "old_release", "parallel", "sse", "streams")


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
        assert batch.one_token(emitters, taken=emitters)() > 0


def test_without_two_free_cores_there_is_no_floor(bench):
    verdict = bench["parallel"].verdict
    busy = verdict("columns", 1.5, 1.93, 10, 60, 2, 11)
    assert (busy.met, busy.note) == (
        None,
        "not judged: two processes get 1.93×; 2 cores, two of them free in 10 of 60 turns",
    )
    assert [verdict("columns", got, 2.0, 11, 30, 2, 11).met for got in (1.79, 1.8)] == [False, True]
    note = "two processes get 2.00×; 2 cores, two of them free in 11 of 30 turns"
    assert verdict("columns", 1.8, 2.0, 11, 30, 2, 11).note == note


class Told:
    """Workers that get done what the test says."""

    def __init__(self, *told):
        self.told = list(told)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def speedup(self):
        return self.told.pop(0)


def test_only_turns_between_two_good_ones_of_processes_count(bench, monkeypatch):
    parallel = bench["parallel"]
    apart, threads = Told(2.0, 1.95, 1.5, 1.91, 2.09, 2.5, 2.0), Told(1.8, 0.9, 1.0, 1.7, 1.6, 1.1)
    both = {parallel.processes: apart, parallel.ThreadPoolExecutor: threads}
    monkeypatch.setattr(parallel, "Workers", lambda kind, case, cores: both[kind])
    assert parallel.compared(("case", False, 1), [0, 1], 2, 6) == ("case", 1.75, (1.975 + 2.0) / 2, 2, 4)
    assert (len(apart.told), len(threads.told)) == (2, 2)
    apart.told, threads.told = [1.5, 1.5, 1.7], [1.0, 1.2]
    assert parallel.compared(("case", False, 1), [0, 1], 1, 2) == ("case", 1.1, 1.55, 0, 2)


@pytest.mark.parametrize(("emitters", "piece"), [(False, 1), (True, 16)])
def test_what_a_worker_does(bench, monkeypatch, emitters, piece):
    parallel, batch = bench["parallel"], bench["batch"]
    for module in (parallel, batch):
        monkeypatch.setattr(module, "STREAMS", 8)
    monkeypatch.setattr(parallel, "SECONDS", 0.001)
    steps = parallel.Steps(emitters, piece)
    positions = [steps.batch[slot].position for slot in steps.slots]
    steps()
    assert [steps.batch[slot].position - at for slot, at in zip(steps.slots, positions)] == [parallel.FEW * piece] * 8
    steps.forget()
    if emitters:
        assert steps.batch.close(0).response()["choices"][0]["message"]["content"] == ""


@pytest.mark.slow
def test_threads_are_measured_in_a_process_of_their_own():
    code = "import json; from bench import parallel; print(json.dumps(parallel.speedups(1, 2)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENV, capture_output=True, text=True)
    assert done.stderr == ""
    seen = json.loads(done.stdout)
    assert (seen["cores"] >= 1, seen["enough"]) == (True, 1)
    assert [name for name, *_ in seen["found"]] == [
        *("columns, 1 token", "columns, 16 tokens", "SSE bytes, 1 token", "SSE bytes, 16 tokens")
    ]
    assert all(got > 0 and given > 0 and turns <= 2 for _, got, given, _, turns in seen["found"])
