"""Frames: a sequence of bytes, and one block without a copy."""

from __future__ import annotations

import copy

import pytest
from wire_chat import stream_of

import harmonystream as hs

# <|channel|>final<|message|>Hi
INSIDE = [200005, 17196, 200008, 12194]


def batch_of(n: int) -> tuple[hs.batch.Batch, list[int]]:
    """A batch of so many chats that have started."""
    batch = hs.batch.Batch(capacity=n)
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


def test_frames_are_a_sequence_and_a_block():
    (batch, slots), twin = batch_of(3), stream_of(hs.Parser())
    twin.start()
    one, two = twin.feed(INSIDE), twin.feed(11)
    frames = batch.feed_sse(slots, [*INSIDE, *INSIDE, 11], [0, 4, 4, 9])
    assert (one, two) != (b"", b"")
    assert (len(frames), frames[0], frames[1], frames[-1]) == (3, one, b"", frames[2])
    assert frames[2].startswith(one[:40])
    assert [*frames] == [frames[0], b"", frames[2]]
    assert (frames.block, frames.offset.tolist()) == (b"".join(frames), [0, len(one), len(one), len(frames.block)])
    assert [(view.format, view.readonly) for view in (frames.block, frames.offset)] == [("B", True), ("q", True)]
    block, whole = frames.block, b"".join(frames)
    assert repr(frames) == f"<Frames: 3 slots, {len(frames.block)} bytes>"
    for index in (3, -4):
        with pytest.raises(IndexError, match="fewer slots"):
            frames[index]
    assert [*batch.feed_sse([], [])] == []
    del frames
    assert block == whole
    empty = batch.feed_sse([], [])
    assert ([*empty], empty.offset.tolist(), len(empty.block)) == ([], [0], 0)
    nothing = type(empty).__new__(type(empty))
    assert (len(nothing), [*nothing], repr(nothing)) == (0, [], "<Frames: 0 slots, 0 bytes>")
    with pytest.raises(BufferError, match="empty"):
        memoryview(nothing)
    for call in (type(empty), lambda: copy.copy(empty)):
        with pytest.raises(TypeError, match=r"makes them|not pickled"):
            call()
