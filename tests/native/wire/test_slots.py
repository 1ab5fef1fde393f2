"""Many slots in one call: open_many, finish_many and counts are what the calls for one slot say."""

from __future__ import annotations

import os
import subprocess
import sys
from array import array

import pytest

import harmonystream as hs

ANSWER = [200005, 17196, 200008, 12194, 11]  # <|channel|>final<|message|>Hi,


def fed(batch: hs.batch.Batch, slots: array[int]) -> array[int]:
    batch.feed(slots, ANSWER * len(slots), range(0, len(ANSWER) * len(slots) + 1, len(ANSWER)))
    return slots


def emitter() -> hs.ChatStream:
    stream = hs.ChatStream(hs.Parser(), id="c", model="m", created=1)
    stream.start()
    return stream


@pytest.mark.parametrize("options", [{}, {"tools": ["f"], "start": "answer"}, {"prompt": "<|start|>assistant"}])
def test_slots_are_those_of_open(options):
    one, many = hs.batch.Batch(capacity=5), hs.batch.Batch(capacity=5)
    slots = many.open_many(5, **options)
    assert list(slots) == [one.open(**options) for _ in range(5)]
    assert (slots.typecode, len(many)) == ("i", 5)
    assert [many[slot].to_bytes() for slot in slots] == [one[slot].to_bytes() for slot in range(5)]
    assert len({id(many[slot]) for slot in slots}) == 5
    columns = many.feed(slots, [12194] * 5)
    assert list(columns) == list(one.feed(range(5), [12194] * 5))


def test_all_slots_are_opened_or_none():
    batch = hs.batch.Batch(capacity=3)
    batch.open()
    with pytest.raises(RuntimeError, match="2 of 3 slots are free, not 3"):
        batch.open_many(3)
    with pytest.raises(ValueError, match="0 or more, not -1"):
        batch.open_many(-1)
    with pytest.raises(TypeError):
        batch.open_many(2, tools=5)
    assert len(batch) == 1
    assert list(batch.open_many(0)) == []
    assert len(batch.open_many(2)) == 2


@pytest.mark.parametrize("reasons", [None, "length", ["stop", None, "length"]])
def test_ends_are_those_of_finish(reasons):
    one, many = hs.batch.Batch(capacity=3), hs.batch.Batch(capacity=3)
    fed(one, one.open_many(3))
    slots = fed(many, many.open_many(3))
    each = reasons if isinstance(reasons, list) else [reasons] * 3
    assert many.finish_many(slots, reasons) == [one.finish(slot, reason) for slot, reason in enumerate(each)]
    assert len(many) == 0
    assert many.finish_many([]) == []


def test_emitters_end_with_their_usage():
    one, many = hs.batch.Batch(capacity=2), hs.batch.Batch(capacity=2)
    for batch in (one, many):
        for _ in range(2):
            batch.add(emitter())
    usages = [{"prompt_tokens": 7}, None]
    assert many.finish_many([0, 1], "stop", usages) == [one.finish(slot, "stop", usages[slot]) for slot in range(2)]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([0, 1, 0],), ValueError, "given twice"),
        (([0, 5],), ValueError, "slot 5 is not open"),
        (([0, 1], ["stop"]), ValueError, "2 slots, 1 reasons and 2 usages"),
        (([0, 1], None, [None]), ValueError, "2 slots, 2 reasons and 1 usages"),
        ((["a"],), TypeError, "slots"),
        (([-1],), ValueError, "slots"),
    ],
)
def test_a_wrong_call_ends_nothing(arguments, error, match):
    batch = hs.batch.Batch(capacity=3)
    fed(batch, batch.open_many(3))
    with pytest.raises(error, match=match):
        batch.finish_many(*arguments)
    assert len(batch) == 3
    assert not any(batch[slot].finished for slot in range(3))


def test_a_stream_that_raises_does_not_stop_the_others():
    batch = hs.batch.Batch(capacity=3)
    fed(batch, batch.open_many(3))
    with pytest.raises(hs.errors.EmitterError) as caught:
        batch.finish_many([0, 1, 2], "stop", [None, {"prompt_tokens": 1}, None])
    assert isinstance(caught.value.errors[1], TypeError)
    assert [type(made) for made in caught.value.frames] == [tuple, type(None), tuple]
    assert (len(batch), batch[1].finished) == (1, False)
    assert batch.finish(1)[-1] == hs.StreamEnd(None, 5, 5)


def test_counts_are_usage_and_deviations():
    batch = hs.batch.Batch(capacity=4)
    slots = fed(batch, batch.open_many(4))
    batch.feed([2], [200005])
    counts = batch.counts(slots)
    assert (counts.format, counts.shape) == ("q", (4, len(hs.Region) + 1))
    assert counts.tolist() == [[*batch[slot].usage, batch[slot].deviation_count] for slot in slots]
    assert counts.tolist()[2][-1] > 0
    assert batch.counts([]).tolist() == []
    with pytest.raises(ValueError, match="slot 9 is not open"):
        batch.counts([0, 9])


def test_a_batch_in_a_cycle_with_its_emitter_is_collected():
    """The collector may free the emitter first, also where the vocabulary is one of the largest."""
    script = (
        "import gc, harmonystream as hs\n"
        "vocab = hs.vocab.from_bytes([b'a'] * 2**20, {name: 2**20 + i for i, name in enumerate(("
        "'<|return|>', '<|call|>', '<|constrain|>', '<|end|>', '<|start|>', '<|channel|>', '<|message|>', "
        "'<|endoftext|>'))})\n"
        "for end in (True, False):\n"
        "    batch = hs.batch.Batch('harmony', vocab, capacity=2)\n"
        "    stream = hs.ChatStream(hs.Parser('harmony', vocab), id='c', model='m', created=1)\n"
        "    stream.start()\n"
        "    slot = batch.add(stream)\n"
        "    batch.feed_sse([slot], [2**20 + 5])\n"
        "    stream.batch = batch\n"
        "    del stream, batch\n"
        "    assert gc.collect() > 0\n"
    )
    environment = os.environ | {"PYTHONMALLOC": "debug"}  # what is freed is overwritten
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)
