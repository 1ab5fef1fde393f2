"""Frames compare and slice as a sequence of bytes does."""

from __future__ import annotations

import pytest
from wire_chat import stream_of

import harmonystream as hs

# <|channel|>final<|message|>Hi
INSIDE = [200005, 17196, 200008, 12194]


def batch_of(n: int) -> tuple[hs.Batch, list[int]]:
    """A batch of so many chats that have started."""
    batch = hs.Batch(capacity=n)
    slots = []
    for _ in range(n):
        stream = stream_of(hs.Parser())
        stream.start()
        slots.append(batch.add(stream))
    return batch, slots


def test_frames_compare_and_slice():
    (batch, slots), (other, others) = batch_of(3), batch_of(3)
    step = ([*INSIDE, *INSIDE, 11], [0, 4, 4, 9])
    frames, same = batch.feed_sse(slots, *step), other.feed_sse(others, *step)
    one, none, two = frames
    assert frames == same == [one, none, two] == frames == (one, none, two)
    assert frames != other.feed_sse(others, [13225] * 3)
    for unlike in ([one, none], [one, none, b""], [one, none, "x"], [], None, 5, b"".join(frames)):
        assert frames != unlike
    assert frames[1:] == [none, two]
    assert (frames[::-1], frames[5:], frames[:-2]) == ([two, none, one], [], [one])
    empty = batch.feed_sse([], [])
    assert empty == []
    assert empty[:] == []
    unmade = type(empty).__new__(type(empty))
    assert unmade == type(empty).__new__(type(empty))
    assert unmade == []
    assert frames != unmade
    with pytest.raises(TypeError, match="unhashable"):
        hash(frames)
    with pytest.raises(TypeError):
        frames["0"]  # type: ignore[call-overload]
