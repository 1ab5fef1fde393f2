"""Server-sent events as the adapters read them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonystream.engines import EngineError
from harmonystream.engines import http as adapter
from harmonystream.engines.http import SseReader

STREAM = (
    b": hi\n\ndata: 1\n\ndata:2\r\n\r\nevent: x\nid: 3\ndata: a\ndata: b\n\n\n\ndata: \xf0\x9f\x90\xbc\n\nretry: 1\n\n"
)
EVENTS = [b"1", b"2", b"a\nb", b"\xf0\x9f\x90\xbc"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_do_not_depend_on_how_the_stream_is_cut(cuts):
    edges = [0, *sorted(cuts), len(STREAM)]
    reader = SseReader()
    assert [event for at, end in pairwise(edges) for event in reader.feed(STREAM[at:end])] == EVENTS


@given(st.lists(st.sampled_from([b"data: ", b"data:", b"\n", b"\n\n", b"\r", b"x", b": ", b"data: x\n\n"]).map(bytes)))
def test_pieces_of_any_size_say_the_same(pieces):
    at_once, one_by_one = SseReader(), SseReader()
    data = b"".join(pieces)
    expected = [event for at in range(len(data)) for event in one_by_one.feed(data[at : at + 1])]
    assert [event for piece in pieces for event in at_once.feed(piece)] == expected


def test_numbers_that_are_not_json_are_read_all_the_same():
    assert adapter._object(b'{"a": -Infinity}') == {"a": float("-inf")}
    with pytest.raises(EngineError, match="not JSON"):
        adapter._object(b"[" * 100_000)


def test_an_event_that_has_not_ended_is_not_told():
    reader = SseReader()
    assert reader.feed(b"data: 1\n") == []
    assert reader.feed(b"\n") == [b"1"]


@pytest.mark.parametrize("piece", [b"x" * 64, b"data: xxxxxxxx\n"])
def test_an_endless_event_is_refused(monkeypatch, piece):
    monkeypatch.setattr(adapter, "MAX_EVENT", 1000)
    reader = SseReader()
    with pytest.raises(EngineError, match="more than 1000 bytes"):
        for _ in range(200):
            reader.feed(piece)
