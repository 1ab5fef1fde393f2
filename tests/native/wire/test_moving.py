"""Which of its two states a stream has, and when it has none."""

from __future__ import annotations

import pytest
from wire_server import APIS

import harmonystream as hs

OPEN = "<|channel|>analysis<|message|>"


@pytest.mark.parametrize("api", APIS)
def test_what_a_script_tells_moves_without_python(api, monkeypatch):
    stream = APIS[api].stream_of(hs.Parser())
    assert stream.is_new
    with pytest.raises(ValueError, match="has not started"):
        stream._told_state()
    stream.start()
    stream.feed_text(OPEN + "Look")
    monkeypatch.setattr(type(stream), "describe", None)  # nobody may ask
    moved = type(stream).from_bytes(stream.to_bytes())
    assert moved._scripted
    assert moved._told_state() == stream._told_state()
    assert moved.feed_text(" it up") == stream.feed_text(" it up")


@pytest.mark.parametrize("api", APIS)
def test_what_python_was_told_is_what_python_remembers(api):
    stream = APIS[api].stream_of(hs.Parser())
    stream.start()
    stream.feed_text(OPEN + "Look")
    stream.response()
    assert stream._told_state() is None
    moved = type(stream).from_bytes(stream.to_bytes())
    assert not moved._scripted
    assert moved.response() == stream.response()


def test_a_strict_stream_has_no_script():
    stream = APIS["chat"].stream_of(hs.Parser(strict=True))
    stream.start()
    assert stream._told_state() is None
    assert hs.ChatStream.from_bytes(stream.to_bytes()).parser.strict


def test_a_state_does_not_grow_with_what_is_repeated():
    stream = APIS["chat"].stream_of(hs.Parser())
    stream.start()
    stream.feed_text(OPEN)
    small = len(stream.to_bytes())
    for _ in range(100):
        stream.feed_text("x" * 100)
    assert len(stream.to_bytes()) <= small + 10_000 + 5


def test_only_a_new_stream_goes_on():
    stream = APIS["chat"].stream_of(hs.Parser())
    script, constants = stream._script(), stream._constants()
    stream.start()
    with pytest.raises(ValueError, match="has started"):
        stream._tell_again(script, *constants, stream._told_state(), None, 1)
    with pytest.raises(ValueError, match="has started"):
        stream._move_to(hs.Parser(), False, 1)
