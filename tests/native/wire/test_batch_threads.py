"""Threads: batches are independent, and one batch and its parsers refuse who comes second.

These tests mean most on a free-threaded Python; but a step gives up the GIL as well, and threads are switched often.
"""

from __future__ import annotations

import json
import sys
import threading
from array import array
from collections import Counter
from collections.abc import Callable

import pytest
from streams import as_tuple, merge, to_ids

import harmonystream as hs
from harmonystream._native.wire.batch import Batch
from harmonystream.emit.chat import ChatStream

TURN = to_ids(
    b"<|channel|>analysis<|message|>Think \xf0\x9f\x98\x80<|end|>"
    b"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    b'{"a": "x\\n"}<|call|><|start|>assistant<|channel|>final<|message|>Hi "you"\n<|return|>'
)
INSIDE = TURN[:4]  # reasoning is open
COMMA = 11


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def chat(parser: hs.Parser | None = None) -> ChatStream:
    stream = ChatStream(parser or hs.Parser(), id="c", model="m", created=1)
    stream.start()
    return stream


def together(*calls: Callable[[], None]) -> None:
    """All at once; what one of them raises fails the test."""
    failed: list[BaseException] = []
    ready = threading.Barrier(len(calls))

    def run(call: Callable[[], None]) -> None:
        ready.wait()
        try:
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def refused(call: Callable[..., object], *arguments: object) -> bool:
    """Because it is in use, or not there, or not of this kind; any other error is a failure."""
    try:
        call(*arguments)
    except RuntimeError as error:
        assert "in use" in str(error) or "slots are taken" in str(error)
        return True
    except ValueError as error:
        assert "is not open" in str(error) or "is finished" in str(error) or " emitter" in str(error)
        return True
    return False


@pytest.mark.parametrize("verb", ["feed", "feed_sse"])
def test_batches_in_threads_are_independent(verb):
    made = {}

    def work(k: int) -> None:
        batch = Batch(capacity=64)
        slots = array("i", [batch.open() if verb == "feed" else batch.add(chat()) for _ in range(64)])
        feed = getattr(batch, verb)
        steps = [feed(slots, array("i", [tid] * 64)) for _ in range(20) for tid in TURN]
        if verb == "feed":
            told = merge(as_tuple(event) for step in steps for slot, event in step if slot == 5)
        else:
            told = b"".join(step[5] for step in steps)
        made[k] = (told, batch[63].usage)

    together(*[lambda k=k: work(k) for k in range(4)])
    parser, stream = hs.Parser(), chat()
    events = merge(as_tuple(event) for _ in range(20) for tid in TURN for event in parser.feed(tid))
    frames = b"".join(stream.feed(tid) for _ in range(20) for tid in TURN)
    assert made == dict.fromkeys(range(4), (events if verb == "feed" else frames, parser.usage))


def test_two_threads_on_one_batch_and_on_its_parsers():
    """Every call either does all of its work or raises; ids are counted, so none is read twice or lost."""
    batch = Batch(capacity=32)
    slots = [batch.open() for _ in range(32)]
    batch.feed(slots, INSIDE * 32, range(0, 132, 4))
    seven, done = batch[7], []
    before = seven.position
    ids = array("i", [COMMA] * 64 * 32)
    offsets = array("i", range(0, 64 * 33, 64))

    def steps() -> None:
        for _ in range(150):
            if not refused(batch.feed, slots, ids, offsets):
                done.append(64)

    def singles() -> None:
        for _ in range(3000):
            if not refused(seven.feed, COMMA):
                done.append(1)

    together(steps, steps, singles)
    assert seven.position - before == sum(done)
    assert len({batch[slot].position for slot in slots if slot != 7}) == 1


def test_threads_that_open_close_and_feed_one_batch():
    """Nothing is lost: at the end, the slots that are open are those that somebody has opened and not closed."""
    batch = Batch(capacity=16)
    counted_by: list[Counter[str]] = []
    step = array("i", range(16))

    def churn(seed: int) -> None:
        counted: Counter[str] = Counter()
        for i in range(1500):
            slot = (seed * 7 + i * 5) % 16
            counted["opened"] += not refused(batch.open) if i % 3 else not refused(batch.add, chat())
            counted["closed"] += not refused(batch.close, slot) if i % 2 else not refused(batch.finish, slot, "stop")
            for verb in (batch.feed, batch.feed_sse):
                counted["fed"] += not refused(verb, [(slot + 8) % 16], [TURN[i % len(TURN)]])
                refused(verb, step, array("i", [COMMA] * 16))
            assert 0 <= len(batch) <= 16
            assert sys.getsizeof(batch) > 0
            refused(batch.__getitem__, slot)
        counted_by.append(counted)

    together(*[lambda seed=seed: churn(seed) for seed in range(3)])
    counts = sum(counted_by, Counter())
    assert counts["opened"] - counts["closed"] == len(batch)
    assert counts["fed"] > 0
    for slot in range(16):
        refused(batch.close, slot)
    assert len(batch) == 0
    assert sorted(batch.open() for _ in range(16)) == list(range(16))


def test_an_emitter_cannot_be_changed_between_measuring_and_filling():
    """A frame's number is measured, and then written: another one, of more digits, would not fit."""
    batch, over = Batch(capacity=64), threading.Event()
    streams = [hs.ResponsesStream(hs.Parser(), id="r", model="m", created=1) for _ in range(64)]
    for stream in streams:
        stream.start()
        stream.feed([*INSIDE, COMMA])
    slots, ids, offsets = [batch.add(stream) for stream in streams], [COMMA] * 64 * 16, range(0, 64 * 16 + 1, 16)
    counted = Counter[str]()

    def change() -> None:
        while not over.is_set():
            for stream in streams:
                for number in (1, 10**17):
                    counted["refused"] += refused(setattr, stream, "_number", number)
                refused(stream.response)

    def feed() -> None:
        try:
            for _ in range(1500):
                try:
                    frames = batch.feed_sse(slots, ids, offsets)
                except RuntimeError as error:
                    assert "in use" in str(error)  # the emitter, in response()
                    continue
                counted["steps"] += 1
                for frame in frames:
                    assert json.loads(frame.partition(b"data: ")[2])["delta"] == "," * 16
        finally:
            over.set()

    together(change, feed)
    assert counted["steps"] > 0


def test_buffers_that_change_while_they_are_read():
    """Whatever ids another thread writes meanwhile, they are ids; slots and offsets are checked one by one."""
    batch = Batch(capacity=8)
    slots, ids = array("i", range(8)), array("i", [COMMA] * 8 * 200)
    offsets = array("i", range(0, 8 * 200 + 1, 200))
    for _ in range(8):
        batch.open()
    fed, over = [0], threading.Event()

    def write() -> None:
        value = 0
        while not over.is_set():
            value = (value * 1103515245 + 12345) % 2**32
            ids[value % len(ids)] = value - 2**31
            slots[value % 8] = value % 9 if value & 64 else value % 8
            offsets[1 + value % 8] = value % 1700

    def feed() -> None:
        try:
            for _ in range(400):
                try:
                    batch.feed(slots, ids, offsets)
                    fed[0] += 1
                except ValueError:
                    for k in range(8):
                        slots[k], offsets[k + 1] = k, 200 * (k + 1)
        finally:
            over.set()

    together(write, feed)
    assert len(batch) == 8
    for slot in range(8):
        batch.finish(slot)
