"""Which of its two states a stream has, and when it has none."""

from __future__ import annotations

import pytest
from wire_server import APIS

import harmonystream as hs
from harmonystream._native.wire.envelope import unpack
from harmonystream._native.wire.moving import parser_of

OPEN = "<|channel|>analysis<|message|>"


@pytest.mark.parametrize("api", APIS)
def test_what_a_script_tells_moves_without_python(api, monkeypatch):
    stream = APIS[api].stream_of(hs.Parser())
    assert stream.is_new
    with pytest.raises(ValueError, match="has not started"):
        stream.to_bytes()
    stream.start()
    stream.feed_text(OPEN + "Look")
    monkeypatch.setattr(type(stream), "describe", None)  # nobody may ask
    data = stream.to_bytes()
    assert unpack(data).told
    moved = type(stream).from_bytes(data)
    assert moved._scripted
    assert moved.to_bytes() == data
    assert moved.feed_text(" it up") == stream.feed_text(" it up")


@pytest.mark.parametrize("api", APIS)
def test_what_python_was_told_is_what_python_remembers(api):
    stream = APIS[api].stream_of(hs.Parser())
    stream.start()
    stream.feed_text(OPEN + "Look")
    stream.response()
    assert not unpack(stream.to_bytes()).told
    moved = type(stream).from_bytes(stream.to_bytes())
    assert not moved._scripted
    assert moved.response() == stream.response()


def test_a_strict_stream_has_no_script():
    stream = APIS["chat"].stream_of(hs.Parser(strict=True))
    stream.start()
    assert not unpack(stream.to_bytes()).told
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
    stream.start()
    with pytest.raises(ValueError, match="has started"):
        stream._move_to(hs.Parser(), False, 1)


def test_the_parser_of_a_state_is_that_of_its_bytes():
    parser = hs.Parser()
    stream = hs.ChatStream(parser, id="chatcmpl-1", model="m", created=1)
    stream.start()
    stream.feed_text("<|channel|>final<|message|>Hi")
    saved = unpack(stream.to_bytes())
    assert saved.parser == parser.to_bytes()
    made = parser_of(saved, None, None, None)
    assert (made.channel, made.position) == ("final", parser.position)
    with pytest.raises(ValueError, match="has the format 'harmony', not 'hermes'"):
        parser_of(saved, None, "hermes", None)
