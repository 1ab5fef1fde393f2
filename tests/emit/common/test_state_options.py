"""The options in a state: what the constructor got, and nothing that is as usual."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_server import APIS

import harmonystream as hs
from harmonystream.emit.common.envelope import unpack
from harmonystream.emit.common.stream import EventStream

GIVEN = {
    "chat": [
        {"reasoning_field": "both", "preamble_field": None, "include_usage": True, "extra": {"a": 1}, "taken": ["x"]},
        {"tool_choice": "none"},
        {"tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": False},
    ],
    "responses": [
        {"request": {"temperature": 0.5, "tool_choice": "none"}, "reasoning": "text", "container_id": "c"},
        {"request": {"reasoning": {"summary": "auto"}, "parallel_tool_calls": False}, "extra": {"a": 1}},
        {"reasoning": False, "taken": ["x"]},
    ],
    "messages": [
        {"usage": {"input_tokens": 3}, "signature": "", "text_key": "t"},
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, "thinking": False},
        {"tool_choice": {"type": "none"}, "extra": {"a": 1}, "taken": ["x"]},
    ],
}
PRIVATE = ("_calls_shown", "_named", "_fields", "_preamble_field", "_include_usage", "_extra", "_taken", "_reasoning")
MORE = ("_repeated", "_tools", "_container_id", "_given", "_thinking", "_signs", "_text_key", "_hooked")


def options_of(stream: Any) -> bytes:
    if stream.is_new:
        stream.start()
    return unpack(stream.to_bytes()).options


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("number", range(4))
def test_the_constructor_makes_the_same_of_them(api, number):
    given = {} if number == 3 else GIVEN[api][number]
    stream = APIS[api].stream_of(hs.Parser(), **given)
    options_of(stream)
    again = type(stream).from_bytes(stream.to_bytes())
    for name in (*PRIVATE, *MORE):
        assert getattr(again, name, None) == getattr(stream, name, None), name
    again._options = None
    assert options_of(again) == options_of(stream)


def test_defaults_are_not_in_the_state():
    names = {api: [*json.loads(options_of(module.stream_of(hs.Parser())))] for api, module in APIS.items()}
    assert names == {"chat": ["model"], "responses": ["model"], "messages": ["model"]}


def test_options_that_were_given_are_in_the_state():
    def reasoning_option(**options: Any) -> Any:
        stream = hs.ResponsesStream(hs.Parser(), id="resp_1", model="m", created=1, **options)
        return json.loads(options_of(stream)).get("reasoning")

    assert (
        reasoning_option(reasoning=True) is reasoning_option(reasoning="text") is reasoning_option(request={}) is None
    )
    assert reasoning_option(reasoning=False) is False
    assert (
        reasoning_option(reasoning="summary")
        == reasoning_option(request={"reasoning": {"summary": "auto"}})
        == "summary"
    )
    assert reasoning_option(reasoning="text", request={"reasoning": {"summary": "auto"}}) == "text"
    assert reasoning_option(extra={"a": 1}) == "text"


@pytest.mark.parametrize("created_at", [1, 1.5])
def test_the_head_of_a_moved_response_is_its_own(created_at):
    more = {"request": {"instructions": 'Be "brief"', "user": "é"}, "extra": {"cost": 1, "id": "resp_2"}}
    for id in ('resp_"é', "resp_3"):
        stream = hs.ResponsesStream(hs.Parser(), id=id, model="m", created=created_at, **more)
        stream.start()
        moved = hs.ResponsesStream.from_bytes(stream.to_bytes())
        assert moved.response() == stream.response()
        assert moved.feed_text("<|channel|>final<|message|>Hi") == stream.feed_text("<|channel|>final<|message|>Hi")
        assert moved.finish("stop") == stream.finish("stop")


def test_an_emitter_of_ones_own_has_no_state():
    class Other(EventStream):
        pass

    with pytest.raises(ValueError, match="a Other cannot be moved: its class is of no API here"):
        Other(hs.Parser()).to_bytes()
