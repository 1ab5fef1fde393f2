"""Tool results as messages, in two ways."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import harmonystream as hs

CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}},
    {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
]


def test_results_as_one_user_message():
    weather = {"temperature": 25, "condition": "晴"}
    (message,) = hs.prompts.tool_results(CALLS[:1], [weather], style="user")
    assert message == {
        "role": "user",
        "content": '[Tool Results]\n**get_weather**:\n{\n  "temperature": 25,\n  "condition": "晴"\n}\n\n'
        "Now provide your response based on the tool results above.",
    }
    (message,) = hs.prompts.tool_results(CALLS, ['{"t":1}', "noon"], style="user", closing="Go on.")
    assert message["content"] == '[Tool Results]\n**get_weather**:\n{\n  "t": 1\n}\n\n**now**:\nnoon\n\nGo on.'


def test_results_as_tool_messages_of_harmony():
    answers = hs.prompts.tool_results(CALLS[:1], [{"temperature": 25, "condition": "晴"}])
    call = {"role": "assistant", "content": "", "reasoning": "Old thoughts.", "tool_calls": CALLS[:1]}
    prompt = hs.render([{"role": "user", "content": "?"}, call, *answers], model="gpt-oss-20b", date=None)
    assert prompt.text.endswith(
        "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>"
        "<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>"
        '{"temperature": 25, "condition": "晴"}<|end|><|start|>assistant'
    )


class Result(NamedTuple):
    call_id: str | None
    text: Any


def test_results_of_tools_are_put_in_the_order_of_the_calls():
    found = hs.prompts.tool_results(CALLS, [Result("c2", "noon"), Result("c1", "12°")])
    assert [(message["tool_call_id"], message["name"], message["content"]) for message in found] == [
        ("c1", "get_weather", "12°"),
        ("c2", "now", "noon"),
    ]
    parsed = hs.parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>', "hermes").tool_calls
    assert hs.prompts.tool_results(parsed, [Result("of the loop", b"raw")])[0]["tool_call_id"] == "call_0"


@pytest.mark.parametrize(
    ("calls", "results", "style", "error"),
    [
        (CALLS, ["one"], "tool", "2 calls and 1 results"),
        (CALLS, [Result("c1", ""), Result("c9", "")], "tool", "the result 'c9' belongs to no call"),
        (CALLS[:1], [{1j: 2}], "tool", "cannot be written as JSON"),
        (CALLS[:1], [""], "system", "style is 'system'"),
        ([{}], [""], "tool", "call 0 has no name"),
    ],
)
def test_mistakes_are_reported(calls, results, style, error):
    with pytest.raises(hs.errors.PromptError, match=error):
        hs.prompts.tool_results(calls, results, style)
