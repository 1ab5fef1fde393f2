"""DeepSeek's encodings: the grammar of each version, and that what is written reads back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from families import DEEPSEEK, vocab
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonystream as hs

TOOL = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"s": {"type": "string"}}}}
CALLS = [
    {"id": "c1", "function": {"name": "f", "arguments": {"s": "x", "n": [1, "é"]}}},
    {"id": "c2", "function": {"name": "f", "arguments": {}}},
]
CHAT = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "U1"},
    {"role": "assistant", "content": "A1", "reasoning": "R1"},
    {"role": "user", "content": "U2"},
    {"role": "assistant", "content": "A2", "reasoning": "R2", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c2", "content": "T2"},
    {"role": "tool", "tool_call_id": "c1", "content": "T1"},
]


def calls(block: str, space: str = "") -> str:
    return (
        f'\n\n<｜DSML｜{block}>\n<｜DSML｜{space}invoke name="f">\n'
        f'<｜DSML｜{space}parameter name="s" string="true">x</｜DSML｜{space}parameter>\n'
        f'<｜DSML｜{space}parameter name="n" string="false">[1, "é"]</｜DSML｜{space}parameter>\n'
        f"</｜DSML｜{space}invoke>\n"
        f'<｜DSML｜{space}invoke name="f">\n\n</｜DSML｜{space}invoke>\n</｜DSML｜{block}><｜end▁of▁sentence｜>'
    )


EARLY = "<｜User｜>U1<｜Assistant｜></think>A1<｜end▁of▁sentence｜><｜User｜>U2<｜Assistant｜>"
KEPT = "<｜User｜>U1<｜Assistant｜><think>R1</think>A1<｜end▁of▁sentence｜><｜User｜>U2<｜Assistant｜>"
IN_TURN = "\n\n<function_results>\n<result>T1</result>\n<result>T2</result>\n</function_results>\n\n"
AS_USER = "<｜User｜><tool_result>T1</tool_result>\n\n<tool_result>T2</tool_result><｜Assistant｜>"


def body(text: str) -> str:
    return text[text.index("<｜User｜>U1") :]


@pytest.mark.parametrize(
    ("dialect", "thinking", "want"),
    [
        ("v3.2", True, EARLY + "<think>R2</think>A2" + calls("function_calls") + IN_TURN + "<think>"),
        ("v3.2", False, EARLY + "</think>A2" + calls("function_calls") + IN_TURN + "</think>"),
        ("v4", True, KEPT + "<think>R2</think>A2" + calls("tool_calls") + AS_USER + "<think>"),
        ("v4", False, EARLY + "</think>A2" + calls("tool_calls") + AS_USER + "</think>"),
        ("v4.1", True, KEPT + "<think>R2</think>A2" + calls(" calls", " ") + AS_USER + "<think>"),
    ],
)
def test_the_turns_of_each_version(dialect, thinking, want):
    prompt = hs.render(CHAT, format="dsml", dialect=dialect, thinking=thinking, tools=[TOOL])
    assert body(prompt.text) == want
    region = prompt.parser().region
    assert region == (hs.Region.REASONING if thinking else hs.Region.CONTENT)


def test_the_head_has_the_system_then_the_tools():
    text = hs.render(CHAT, model="deepseek-ai/DeepSeek-V3.2", tools=[TOOL]).text
    assert text.startswith("<｜begin▁of▁sentence｜>S\n\n## Tools\n\nYou have access to a set of tools")
    assert f"<functions>\n{json.dumps(TOOL)}\n</functions>\n<｜User｜>" in text
    assert hs.render("Hi", model="DeepSeek-V4").text == "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜><think>"
    most = hs.render("Hi", model="DeepSeek-V4", reasoning="max").text
    assert most.startswith("<｜begin▁of▁sentence｜>Reasoning Effort: Absolute maximum")
    new = hs.render("Hi", model="deepseek-v4.1", reasoning="low").text
    assert new.startswith("<｜begin▁of▁sentence｜><｜System｜>Reasoning Effort: 25 (range 1-100")


def test_without_tools_earlier_reasoning_is_left_out():
    for dialect in ("v3.2", "v4"):
        text = hs.render(CHAT[:4], format="dsml", dialect=dialect).text
        assert body(text) == EARLY + "<think>"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"dialect": "v5"}, "dialect is 'v5'; DeepSeek's encodings are v3.2, v4, v4.1"),
        ({"reasoning": "huge"}, "reasoning is 'huge'; the encoding v3.2 knows no efforts"),
        ({"poem": 1}, "no option poem: beside the named options, a DSML prompt takes"),
        ({"continue_final": True}, "the last message must be the assistant's"),
    ],
)
def test_mistakes_are_reported(options, error):
    with pytest.raises(hs.errors.PromptError, match=error):
        hs.render("Hi", format="dsml", **options)


def test_a_prompt_may_end_inside_the_last_message():
    chat = [CHAT[1], {"role": "assistant", "content": "It"}]
    assert hs.render(chat, format="dsml", continue_final=True).text.endswith("<think></think>It")
    chat[1] = {"role": "assistant", "reasoning": "Let"}
    assert hs.render(chat, format="dsml", continue_final=True).text.endswith("<think>Let")


VOCAB = vocab(DEEPSEEK, ("<think>", "</think>", "｜DSML｜"))
PIECES = ["<｜User｜>", "<think>", "</think>", "｜DSML｜", "<｜DSML｜invoke", "天", "\n", "a", " ", "{"]
TEXT = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
CALM = st.text("abc 天\n{", max_size=6)
VALUE = CALM | st.integers() | st.lists(st.integers(), max_size=2)


@settings(max_examples=100)
@given(
    TEXT,
    CALM,
    CALM,
    st.none() | st.dictionaries(st.sampled_from(["s", "n", "o"]), VALUE),
    st.sampled_from(["v3.2", "v4"]),
)
def test_any_turn_renders_and_reads_back_and_text_is_never_a_marker(asked, reasoning, content, arguments, dialect):
    known = VOCAB
    made = [] if arguments is None else [{"id": "c", "function": {"name": "f", "arguments": arguments}}]
    last: dict[str, Any] = {"role": "assistant", "content": content, "reasoning": reasoning, "tool_calls": made}
    options = {"format": "dsml", "dialect": dialect, "vocab": known, "tools": [TOOL]}
    prompt = hs.render([{"role": "user", "content": asked}], **options)
    whole = hs.render([{"role": "user", "content": asked}, last], training=True, **options)
    assert whole.ids[: len(prompt.ids)] == prompt.ids
    assert b"".join(map(known.token_bytes, whole.ids)).decode() == whole.text
    assert sum(tid in known.control.values() for tid in prompt.ids) == 3  # the beginning, the user, the assistant
    got = hs.parse(whole.ids[len(prompt.ids) :], "dsml", vocab=known, prompt=prompt.ids, finish_reason="stop")
    assert got.reasoning.strip("\n") == reasoning.strip("\n")
    assert got.content.strip("\n") == content.strip("\n")
    assert [json.loads(call.arguments) for call in got.tool_calls] == ([] if arguments is None else [arguments])


U, A, SEP = "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"


def v32(*messages: dict, **options: object) -> str:
    text = hs.render(list(messages), format="dsml", dialect="v3.2", **options).text
    return text.removeprefix("<｜begin▁of▁sentence｜>")


def test_v32_closes_the_thoughts_that_the_assistant_did_not_have():
    """As DeepSeek's encoder does, which ends each message of a user, and each row of results, with a tag."""
    first, second = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    assert v32(first, second) == f"{U}a{A}</think>{U}b{A}<think>"
    assert v32(first, second, thinking=False) == f"{U}a{A}</think>{U}b{A}</think>"
    assert v32(first, {"role": "system", "content": ""}, second) == f"{U}a{A}</think>{U}b{A}<think>"
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    called = [{"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "content": "r"}]
    assert v32(first, *called, second).endswith(f"</function_results>\n\n</think>{U}b{A}<think>")
    assert v32(first, *called).endswith("</function_results>\n\n<think>")
    answered = {"role": "assistant", "content": "x"}
    assert v32(first, answered, second) == f"{U}a{A}</think>x{SEP}{U}b{A}<think>"


def test_v4_joins_what_users_say_in_a_row():
    text = hs.render([{"role": "user", "content": text} for text in "ab"], model="DeepSeek-V4").text
    assert f"{U}a\n\nb{A}" in text
