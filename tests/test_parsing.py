"""parse(): whole outputs."""

from __future__ import annotations

import pytest
from streams import to_ids

import harmonystream as hs

TEXT = (
    "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary<|message|>Plan.<|end|>"
    '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>'
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>42<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Done.<|return|>"
)
CALL = hs.ToolCall(0, "f", '{"a":1}', None, "function", True, True)


@pytest.mark.parametrize("output", [TEXT, TEXT.encode(), to_ids(TEXT.encode())], ids=["str", "bytes", "ids"])
def test_a_whole_output(output):
    whole = hs.parse(output, tools=["f"], finish_reason="stop")
    assert (whole.reasoning, whole.content, whole.tool_calls) == ("Think.", "Plan.Done.", (CALL,))
    assert whole.finish_reason == "tool_calls"
    assert [(m.role, m.channel, m.recipient, m.content_type, m.text, m.tool_calls) for m in whole.messages] == [
        ("assistant", "analysis", None, None, "Think.", ()),
        ("assistant", "commentary", None, None, "Plan.", ()),
        ("assistant", "commentary", "functions.f", "json", '{"a":1}', (CALL,)),
        ("functions.f", "commentary", "assistant", None, "", ()),
        ("assistant", "final", None, None, "Done.", ()),
    ]
    assert [message.start for message in whole.messages[1:]] == [message.stop for message in whole.messages[:-1]]
    assert whole.messages[-1].stop == whole.usage.total
    assert [deviation.code for deviation in whole.deviations] == ["foreign-role"]


def test_a_message_with_everything():
    text = '<think>Hm.</think>On it.<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
    text += '<tool_call>{"name": "g", "arguments": {}}</tool_call> Done.<|im_end|>'
    whole = hs.parse(text, "hermes")
    assert (whole.reasoning, whole.content, whole.finish_reason) == ("Hm.", "On it. Done.", "tool_calls")
    calls = (
        hs.ToolCall(0, "f", '{"a": 1}', None, "function", True, True),
        hs.ToolCall(1, "g", "{}", None, "function", True, True),
    )
    assert whole.tool_calls == calls
    assert whole.messages == (hs.Message("assistant", None, None, None, "Hm.", "On it. Done.", calls, 0, len(text)),)
    assert whole.messages[0].text == "On it. Done."
    assert hs.parse("<think>Hm.", "hermes").messages[0].text == "Hm."
    assert hs.parse(text[text.index("<tool_call>") : text.index(" Done")], "hermes").messages[0].text == '{"a": 1}{}'


def test_options_reach_the_parser():
    assert hs.parse("Hi", start="answer").messages[0].channel == "final"
    assert hs.parse("Hi", prompt="…<|start|>assistant<|channel|>analysis<|message|>").reasoning == "Hi"
    assert hs.parse("<|channel|>commentary to=f<|message|>x<|call|>", tools=[]).content == "x"
    assert hs.parse("a\n<think>", "hermes", trim="none").content == "a\n"
    assert hs.parse("<tool_call>f</tool_call>", "glm", empty_args="null").tool_calls[0].arguments == "null"
    long = f"<tool_call>f<arg_key>k</arg_key><arg_value>[{'1' * 2000}]</arg_value></tool_call>"
    assert hs.parse(long, "glm", max_hold=1024).tool_calls[0].arguments == f'{{"k": "[{"1" * 2000}]"}}'
    with pytest.raises(hs.errors.ParseError):
        hs.parse("Hi", strict=True)
    assert hs.parse("", finish_reason="length") == hs.Completion((), "", "", (), "length", hs.Usage(*[0] * 7), ())


def test_a_cut_call():
    whole = hs.parse(TEXT[: TEXT.index("1}")], finish_reason="length")
    assert whole.tool_calls == (hs.ToolCall(0, "f", '{"a":', None, "function", False, False),)
    assert whole.finish_reason == "length"
