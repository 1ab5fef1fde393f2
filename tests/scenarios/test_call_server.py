"""A server of calls: types, the registry and a round, with a client that returns parsed calls."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from loops import end_of, run
from scripted import Scripted, call

import harmonystream as hs


def add(a: int, b: int) -> int:
    return a + b


def divide(a: int, b: int) -> float:
    return a / b


OUTPUT = "".join(
    call(name, arguments)
    for name, arguments in (("add", '{"a": 1, "b": 2}'), ("divide", '{"a": 1, "b": 0}'), ("launch", "{}"))
)


def test_a_call_has_an_id_a_name_and_arguments_as_text():
    (first, *_) = hs.parse(OUTPUT, "hermes").tool_calls
    assert (first.name, first.arguments, json.loads(first.arguments)) == ("add", '{"a": 1, "b": 2}', {"a": 1, "b": 2})
    stream = hs.ChatStream("hermes", id="chatcmpl-1", model="m", created=1)
    stream.start()
    stream.feed_text(OUTPUT)
    stream.finish("stop")
    choice = stream.response()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    for made, name in zip(choice["message"]["tool_calls"], ("add", "divide", "launch"), strict=True):
        assert made.keys() == {"id", "type", "function"}
        assert isinstance(made["id"], str) and made["id"]
        assert made["function"]["name"] == name
        assert isinstance(made["function"]["arguments"], str)


def one_round(message: dict[str, Any], tools: hs.Tools) -> list[dict[str, Any]]:
    """A round: each call goes through the registry, and each result is a message of the role tool."""
    results = asyncio.run(tools.run_all(message["tool_calls"]))
    return [message, *hs.prompts.tool_results(message["tool_calls"], results)]


def test_a_round_has_a_call_and_its_result():
    stream = hs.ChatStream("hermes", id="chatcmpl-1", model="m", created=1)
    stream.start()
    stream.feed_text(OUTPUT)
    stream.finish("stop")
    message = stream.response()["choices"][0]["message"]
    messages = one_round(message, hs.Tools(add, divide))
    assert [one["role"] for one in messages] == ["assistant", "tool", "tool", "tool"]
    assert [one["tool_call_id"] for one in messages[1:]] == [one["id"] for one in message["tool_calls"]]
    assert messages[1]["content"] == "3"
    assert json.loads(messages[2]["content"]) == {"error": "ZeroDivisionError: division by zero", "kind": "failed"}
    assert json.loads(messages[3]["content"])["kind"] == "unknown_tool"


def test_rounds_go_on_until_there_is_no_call_or_the_limit():
    end = end_of(run(Scripted([call("add", '{"a": 1, "b": 2}')], ["3"]), hs.Tools(add)))
    assert (end.reason, end.text, end.rounds) == ("answer", "3", 2)
    varied = [[call("add", f'{{"a": {n}, "b": 2}}')] for n in range(9)]
    end = end_of(run(Scripted(*varied), hs.Tools(add), max_rounds=3))
    assert (end.reason, end.called) == ("rounds", ("add",) * 3)
