"""What a pattern says of the responses that are made of it."""

from __future__ import annotations

import pytest

import harmonystream as hs


def chat(**options: object) -> hs.ChatStream:
    return hs.ChatStream(hs.Parser(), id="chatcmpl-1", model="m", created=5, **options)  # type: ignore[arg-type]


def test_its_shape_has_no_identity_and_nothing_that_was_made_of_it() -> None:
    stream = chat(include_usage=True)
    assert stream._head["id"] == "chatcmpl-1"
    assert stream._call_ids is stream._call_ids
    fields, script, time, plain = stream._shape()
    assert fields == {"model": "m", "_include_usage": True}
    assert script is not None
    assert (time, plain) == ("created", ("chatcmpl-", "", False))


def test_callbacks_have_no_script() -> None:
    fields, script, _, _ = chat(call_id=str)._shape()
    assert script is None
    assert fields["_call_id"] is str


def test_a_head_that_repeats_the_request_is_made_for_each_response() -> None:
    stream = hs.ResponsesStream(hs.Parser(), id="resp_1", model="m", created_at=1, request={"temperature": 0.5})
    assert stream._shape()[3] is None
    assert hs.MessagesStream(hs.Parser(), id="msg_1", model="m", usage={"input_tokens": 3})._shape()[3] is None


def test_a_choice_is_no_pattern() -> None:
    streams = hs.ChatStream.several([hs.Parser(), hs.Parser()], id="c", model="m", created=1)
    with pytest.raises(ValueError, match="one of several choices is no pattern"):
        streams[0]._shape()


def test_an_identity_is_checked_as_the_constructor_checks_it() -> None:
    stream = chat()
    stream._identify("b\ud800", 7)
    assert (stream.id, stream.created) == ("b\ufffd", 7)
    with pytest.raises(TypeError, match="id is a str, not int"):
        stream._identify(3, 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="whole seconds"):
        stream._identify("b", 1.5)
    with pytest.raises(TypeError, match="this API says no time"):
        hs.MessagesStream(hs.Parser(), id="m", model="m")._identify("b", 7)
