"""A stream of arrays, as a reader in C sees it."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator

import pyarrow as pa
from arrow_structs import Array, Schema, Stream, pointer

from harmonystream._native.stream.arrow_out import Node
from harmonystream._native.stream.arrow_stream import stream_of

KIND = Node(b"C", "", 0, (None, b""))


def opened(capsule: object) -> Stream:
    return Stream.from_address(pointer(capsule, b"arrow_array_stream"))


def test_chunks_come_one_by_one_and_then_an_empty_struct():
    asked = []

    def chunks() -> Iterator[Node]:
        for number in range(2):
            asked.append(number)
            yield Node(b"C", "", 3, (None, b"abc"))

    capsule = stream_of(KIND, chunks())
    stream, schema, array = opened(capsule), Schema(), Array()
    at = ctypes.addressof(stream)
    assert (stream.get_schema(at, schema), schema.format, asked) == (0, b"C", [])
    schema.release(ctypes.addressof(schema))
    for number in range(2):
        assert (stream.get_next(at, array), array.length, asked) == (0, 3, list(range(number + 1)))
        array.release(ctypes.addressof(array))
    for _ in range(2):
        assert (stream.get_next(at, array), bool(array.release)) == (0, False)
    assert stream.get_last_error(at) is None


def test_an_error_is_reported_and_ends_the_stream():
    def chunks() -> Iterator[Node]:
        raise OSError("the disk \ud800 is gone")
        yield KIND

    capsule = stream_of(KIND, chunks())
    stream, array = opened(capsule), Array()
    at = ctypes.addressof(stream)
    assert (stream.get_next(at, array), bool(array.release)) == (5, False)
    assert stream.get_last_error(at) == b"OSError: the disk ? is gone"
    assert (stream.get_next(at, array), bool(array.release)) == (0, False)
    for asked in ("get_schema", "get_next"):
        wrong = stream_of(object(), iter([object()]))
        other = opened(wrong)
        assert getattr(other, asked)(ctypes.addressof(other), Schema() if asked == "get_schema" else array) == 5
        assert b"has no attribute" in other.get_last_error(ctypes.addressof(other))


def test_a_released_stream_keeps_nothing():
    class Watched(list):  # type: ignore[type-arg]
        pass

    for release in (True, False):
        kept = Watched([KIND])
        capsule = stream_of(KIND, iter(kept))
        if release:
            stream = opened(capsule)
            stream.release(ctypes.addressof(stream))
            assert not stream.release
        del capsule
        gc.collect()
        assert [one for one in gc.get_referrers(kept) if type(one) is type(iter(kept))] == []
    assert pa.array(KIND).to_pylist() == []
