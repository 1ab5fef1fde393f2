"""Bare function names: the rules for a recipient, in order, and every output follows them."""

from __future__ import annotations

from typing import Any

import pytest

import harmonystream as hs

NAMES = ["get_weather", "math.sum"]
BUILT_IN = ("python", "browser", "container", "browser.search", "container.exec", "python.run")
OTHERS = ("poem", "weather.get", "mcp.server.tool")


def output(recipient: str, channel: str = "commentary") -> str:
    return f"<|channel|>{channel} to={recipient} <|constrain|>json<|message|>{{}}<|call|>"


def kinds(recipient: str, tools: Any, channel: str = "commentary") -> list[tuple[str, str]]:
    return [(call.kind, call.name) for call in hs.parse(output(recipient, channel), tools=tools).tool_calls]


def test_the_rules_for_a_recipient_in_their_order():
    for tools in (None, NAMES):
        assert kinds("assistant", tools) == []
        assert kinds("functions.get_weather", tools) == [("function", "get_weather")]
        assert kinds("functions.", tools) in ([], [("other", "functions.")])
        for name in BUILT_IN:
            assert kinds(name, tools) == [("builtin", name)]
        for name in NAMES:
            assert kinds(name, tools) == [("function", name)]
    for name in OTHERS:
        assert kinds(name, None) == [("function", name)]
        assert kinds(name, NAMES) == [("other", name)]
    # An empty recipient, and a marker in its place, address nobody.
    for header in ("<|channel|>commentary to=<|message|>{}", "<|channel|>commentary to=<|constrain|>json<|message|>{}"):
        assert hs.parse(header + "<|end|>").tool_calls == ()


def test_the_prefix_is_stripped_once():
    assert kinds("functions.functions.f", None) == [("function", "functions.f")]


@pytest.mark.parametrize("channel", ["commentary", "analysis", "comment", "final"])
def test_a_call_counts_on_any_channel(channel):
    assert kinds("get_weather", NAMES, channel) == [("function", "get_weather")]


def responses(text: str, tools: Any) -> tuple[list[str], list[str]]:
    """The types of items with a call, streamed and in the whole response."""
    stream = hs.ResponsesStream(hs.Parser(tools=tools), id="r", model="m", created=1)
    events = stream.events() + stream.events(text) + stream.events(finish=True, reason="stop")
    added = [event["item"]["type"] for event in events if event["type"] == "response.output_item.added"]
    return added, [item["type"] for item in stream.response()["output"]]


def chat(text: str, tools: Any) -> tuple[list[str], list[str]]:
    stream = hs.ChatStream(hs.Parser(tools=tools), id="c", model="m", created=1)
    events = stream.events() + stream.events(text) + stream.events(finish=True, reason="stop")
    deltas = [call for event in events for choice in event["choices"] for call in choice["delta"].get("tool_calls", ())]
    streamed = [call["function"]["name"] for call in deltas if call["function"].get("name")]
    message = stream.response()["choices"][0]["message"]
    return streamed, [call["function"]["name"] for call in message.get("tool_calls") or ()]


def test_a_name_that_the_request_does_not_have_is_an_mcp_call_in_responses():
    """An MCP call's item names its server, so that a name without a dot stays a function's call, for the client."""
    assert responses(output("get_weather"), NAMES) == (["function_call"],) * 2
    assert responses(output("files.read"), NAMES) == (["mcp_call"],) * 2
    assert responses(output("files.read"), None) == (["function_call"],) * 2
    assert responses(output("poem"), NAMES) == (["function_call"],) * 2


@pytest.mark.parametrize(
    "recipient", ["get_weather", "functions.get_weather", "math.sum", "python", "assistant", *OTHERS]
)
@pytest.mark.parametrize("tools", [None, NAMES], ids=["no list", "names"])
def test_the_four_ways_out_agree(recipient, tools):
    """Chat Completions and Responses, streamed or whole, have the same calls."""
    called = kinds(recipient, tools)
    assert chat(output(recipient), tools) == ([name for _, name in called],) * 2
    streamed, whole = responses(output(recipient), tools)
    assert streamed == whole
    types = {"function": "function_call", "builtin": "code_interpreter_call"}
    others = "mcp_call" if "." in recipient else "function_call"
    assert whole == [types.get(kind, others) for kind, _ in called] or (whole, called) == (["message"], [])


def test_without_tools_nothing_is_a_call():
    for recipient in ("get_weather", "functions.get_weather", "poem"):
        assert kinds(recipient, []) == []
