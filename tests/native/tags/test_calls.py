"""How a call begins: its name, its id, its kind (docs/tags.md, 4)."""

from __future__ import annotations

import pytest
from tag_cases import read

import harmonystream as hs

CALL = '<tool_call>{"name": "f"}</tool_call>'
F = [("f", "{}")]
BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"


def test_calls_in_reasoning():
    assert read("hermes", f"<think>a\n{CALL}\nb</think>c") == ("a\nb", "c", F, ["call-in-reasoning"])
    assert read("hermes", f"a{CALL}b", start="reasoning") == ("a\nb", "", F, ["call-in-reasoning"])


def test_a_tag_that_begins_and_ends_a_call():
    call = '<｜DSML｜function_calls><｜DSML｜invoke name="f"/></｜DSML｜function_calls>'
    assert read("dsml", f"a{call}b") == ("", "a\nb", F, [])
    assert read("dsml", f"a{call}b", empty_args="") == ("", "a\nb", [("f", "")], [])


@pytest.mark.parametrize(
    ("body", "name", "arguments"),
    [
        ("get_x\n```json\n{}\n```", "get_x", "{}"),
        ("get_x\n{}", "get_x", "{}"),
        ("get_x{}", "get_x", "{}"),
        (" get_x ```json\n{}\n```", "get_x", "{}"),
        ("{}", "function", "{}"),
        ('\n{"a": 1}', "function", '{"a": 1}'),
        ("", "function", "{}"),
    ],
)
def test_the_word_function_before_a_name(body, name, arguments):
    call = f"{BEGIN}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{body}<｜tool▁call▁end｜>{END}"
    assert read("deepseek", call, tools=None) == ("", "", [(name, arguments)], [])


def test_two_words_after_function_are_no_name():
    body = "two words\n{}"
    call = f"{BEGIN}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{body}<｜tool▁call▁end｜>{END}"
    assert read("deepseek", call, tools=None) == ("", "", [("function", body, "cut")], ["invalid-json"])


@pytest.mark.parametrize(
    ("id", "name", "kind"),
    [
        ("functions.f:0", "f", "function"),
        ("functions.f:12", "f", "function"),
        ("f:0", "f", "function"),
        ("functions.a.b:0", "a.b", "function"),
        ("functions.a:b", "a:b", "function"),
        ("f", "f", "function"),
        ("functions.f", "f", "function"),
        ("functions.:0", "functions.:0", "other"),
        ("call_0", "call_0", "other"),
        ("17", "17", "other"),
        ("functions.5:0", "functions.5:0", "other"),
        ("call_x", "call_x", "function"),
        ("h0", "h0", "function"),
    ],
)
def test_ids_that_have_names_in_them(id, name, kind):
    text = f"<|tool_call_begin|>{id}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    (call,) = hs.parse(text, "kimi_k2").tool_calls
    assert (call.id, call.name, call.kind) == (id, name, kind)
    of_api = id.startswith("call_")  # if tools are declared, no name is looked for in it
    (call,) = hs.parse(text, "kimi_k2", tools=["only"]).tool_calls
    assert (call.id, call.name, call.kind) == (id, "only" if of_api or kind == "other" else name, "function")
    (call,) = hs.parse(text, "kimi_k2", tools=["f", "g"]).tool_calls
    assert (call.id, call.name, call.kind) == (id, name, "other" if of_api else kind)


@pytest.mark.parametrize("id", ["call_x", "call_f", "chatcmpl-tool-9f3c"])
def test_a_declared_name_that_looks_like_an_id_is_a_name(id):
    text = f"<|tool_call_begin|>{id}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    (call,) = hs.parse(text, "kimi_k2", tools=[id, "g"]).tool_calls
    assert (call.id, call.name, call.kind) == (id, id, "function")


@pytest.mark.parametrize(
    "id", ["f0", "f_0", "functions_f_2", "functionsf5", "functions-f-5", "functions:f", "functions.f_2", "f:"]
)
def test_declared_names_in_ids_that_are_misspelt(id):
    text = f"<|tool_call_begin|>{id}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    done = hs.parse(text, "kimi_k2", tools=["f", "g", "f_3"])
    assert [(call.id, call.name) for call in done.tool_calls] == [(id, "f")]
    assert [code for code, _ in done.deviations] == ["misspelt-name"]
    assert hs.parse(text, "kimi_k2", tools=["h", "g"]).tool_calls[0].name != "f"


def test_the_longest_name_in_an_id_counts():
    text = "<|tool_call_begin|>functions_f_3<|tool_call_argument_begin|>{}<|tool_call_end|>"
    assert hs.parse(text, "kimi_k2", tools=["f", "f_3"]).tool_calls[0].name == "f_3"


def test_a_member_that_is_the_name_is_no_id():
    """Only a name between markers can be an id with the name in it."""
    row = hs.Format(
        name="both", section=("<calls>", "</calls>"), call=("<call>", ">", "</call>"), wrapped=True, name_as="id"
    )
    parser = hs.Parser(row)
    events = parser.feed_text('<calls>{"name": "functions.f:0", "arguments": {}}<call>functions.g:1>{}</call></calls>')
    starts = [event for event in events if isinstance(event, hs.ToolCallStart)]
    assert [(start.name, start.id) for start in starts] == [("functions.f:0", None), ("g", "functions.g:1")]
