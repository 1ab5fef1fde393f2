"""Bodies of calls that are their arguments, as JSON (docs/tags.md, 5)."""

from __future__ import annotations

import json

import pytest
from tag_cases import ids, read

import harmonystream as hs

BEGIN, END = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
RAW = BEGIN + "f<｜tool▁sep｜>{}" + END


def raw(body, **options):
    """The arguments of a body that closers end."""
    reasoning, content, ((name, *arguments),), codes = read("deepseek", RAW.replace("{}", body), **options)
    assert (reasoning, content, name, codes) == ("", "", "f", [])
    return arguments


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"a": 1}',
        '{"a": " }{ \\" "}',
        '{"a": "<｜tool▁call▁end｜>"}',
        '{"a": "<｜tool▁calls▁begin｜>", "b": "<think>"}',
        '{\n "a":\n\n [ ]\n}',
    ],
)
def test_a_raw_body_passes_as_it_is(body):
    assert raw(body) == [body]
    assert raw(f"\n {body}\t\n") == [body]
    assert raw(f"```json\n{body}\n```") == [body]
    assert raw(f"```\n {body}\n ```\n") == [body]


@pytest.mark.parametrize("body", ["[1, {}]", '"text"', "5", "null", "no JSON", '`{"a": 1}`', '``{"a": 1}'])
def test_a_raw_body_that_is_not_an_object_is_not_complete(body):
    assert read("deepseek", RAW.replace("{}", body)) == ("", "", [("f", body, "cut")], ["invalid-json"])


def test_an_empty_body():
    assert raw("") == raw(" \n") == raw("```json\n```") == ["{}"]
    assert raw("", empty_args="null") == ["null"]
    assert raw("", empty_args="") == [""]


def test_only_a_whole_fence_is_taken_off():
    assert raw('```json\n{"a": "```"}\n```') == ['{"a": "```"}']
    found = ("", "", [("f", '{"a": 1}')], ["ignored-text"])
    assert read("deepseek", RAW.replace("{}", '{"a": 1}\n```')) == found


def test_whitespace_between_two_values_is_kept():
    said = '{"a": 1} \n {"b": 2}'
    assert read("deepseek", RAW.replace("{}", said)) == ("", "", [("f", said, "cut")], ["invalid-json"])


def test_a_closer_in_open_json_is_text_unless_a_call_may_end_there():
    said = '{"a": "<｜tool▁call▁end｜> or not"}'
    assert raw(said) == [said]
    cut = RAW.replace("{}", '{"a": "b')
    assert read("deepseek", cut) == ("", "", [("f", '{"a": "b', "cut")], [])


def test_what_implies_the_end_of_a_raw_body():
    call = BEGIN + 'f<｜tool▁sep｜>{"a": 1}'
    whole = [("f", '{"a": 1}')]
    assert read("deepseek", call + "\n<｜tool▁calls▁end｜>") == ("", "", whole, ["missing-closer"])
    assert read("deepseek", call + "<｜end▁of▁sentence｜>") == ("", "", whole, ["missing-closer"])
    second = "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}" + END
    assert read("deepseek", call + second) == ("", "", [*whole, ("g", "{}")], ["missing-closer"])
    assert read("deepseek", call) == ("", "", whole, [])


@pytest.mark.parametrize("body", ['{"a": "b', "{", "[1", '{"a": "b"'])
def test_a_raw_body_that_is_cut(body):
    cut = BEGIN + "f<｜tool▁sep｜>" + body
    assert read("deepseek", cut) == ("", "", [("f", body, "cut")], [])
    assert read("deepseek", cut, finish="length") == ("", "", [("f", body, "cut")], [])
    assert read("deepseek", cut, finish="stop") == ("", "", [("f", body, "cut")], [])
    assert read("deepseek", cut + "<｜end▁of▁sentence｜>") == ("", "", [("f", body, "cut")], ["missing-closer"])


def test_a_partial_closer_at_the_end():
    call = BEGIN + 'f<｜tool▁sep｜>{"a": 1}'
    assert read("deepseek", call + "\n<｜tool▁ca")[2] == [("f", '{"a": 1}')]
    assert read("deepseek", call[:-1] + "<｜tool▁ca")[2] == [("f", '{"a": 1<｜tool▁ca', "cut")]


def test_inert_ids_in_a_body_are_dropped():
    pad = "<|pad|>"
    assert ids("deepseek", BEGIN + 'f<｜tool▁sep｜>{"a', pad, '": 1}', END) == (
        *("", "", [("f", '{"a": 1}')], ["stray-control"]),
    )
    assert ids("glm", "<tool_call>f<arg_key>s</arg_key><arg_value>a", pad, "b</arg_value></tool_call>") == (
        *("", "", [("f", '{"s": "ab"}')], ["stray-control"]),
    )


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("mistral", "[TOOL_CALLS]f[ARGS]", ""),
        ("hermes", '<tool_call>\n{"name": "f", "arguments": ', "}\n</tool_call>"),
        ("hermes", '<tool_call>\n{"name": "f", "parameters": ', "}\n</tool_call>"),
    ],
)
@pytest.mark.parametrize("char", [chr(code) for code in range(1, 32)])
def test_control_characters_in_strings_are_escaped(name, before, after, char):
    """A model's raw newline in a string of JSON would be refused by every JSON parser."""
    body = f'{{\n\t"s": "a{char}b\\{char}c\\\\{char}", "t{char}": [1,\n"{char}{char}"]}}'
    arguments = {"s": f"a{char}b\\{char}c\\{char}", f"t{char}": [1, char * 2]}
    text = before + body + after
    for size in (1, 3, len(text)):
        parser = hs.Parser(name, tools=["f"])
        events = [event for i in range(0, len(text), size) for event in parser.feed_text(text[i : i + size])]
        events += parser.finish("stop")
        said = "".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta))
        assert json.loads(said) == arguments
        assert said.startswith('{\n\t"s"')  # layout is as it was


def test_under_escaped_arguments_in_a_string_are_json():
    body = json.dumps({"s": "a"}).replace("a", "a\nb").replace('"', '\\"')
    done = hs.parse(f'<tool_call>\n{{"name": "f", "arguments": "{body}"}}\n</tool_call>', "hermes", tools=["f"])
    assert [json.loads(call.arguments) for call in done.tool_calls] == [{"s": "a\nb"}]


def in_pieces(name, text, size):
    """Each call's arguments and whether it is complete, from a stream in pieces of this size."""
    parser = hs.Parser(name, tools=["f", "g"])
    events = [event for i in range(0, len(text), size) for event in parser.feed_text(text[i : i + size])]
    events += parser.finish("stop")
    calls = [["", None] for event in events if isinstance(event, hs.ToolCallStart)]
    for event in events:
        if isinstance(event, hs.ToolCallDelta):
            calls[event.index][0] += event.arguments
        elif isinstance(event, hs.ToolCallEnd):
            calls[event.index][1] = event.complete
    return calls


FIRST_AND_NEXT = {
    "mistral": ("[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS]g[ARGS]{}"),
    "deepseek": (BEGIN + "f<｜tool▁sep｜>", "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}" + END),
    "kimi_k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
        "<|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
    ),
}


@pytest.mark.parametrize("name", FIRST_AND_NEXT)
@pytest.mark.parametrize("body", ['{"a": "b"', '{"a": "b", ', '{"a": [1', '{"a":'])
def test_an_opener_outside_of_strings_ends_a_body_that_lacks_brackets(name, body):
    before, after = FIRST_AND_NEXT[name]
    for size in (1, 3, 1000):
        assert in_pieces(name, before + body + after, size) == in_pieces(name, before + body + after, 1000)
    done = hs.parse(before + body + after, name, tools=["f", "g"])
    assert [(call.name, call.arguments.strip(), call.complete) for call in done.tool_calls] == [
        ("f", body.strip(), False),
        ("g", "{}", True),
    ]
    assert done.content == ""


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        ('{"a: "b"}', True),  # a quote is missing
        ('{"a": b"}', True),
        ('{"a": "say {x}', False),  # the string goes on: it mentions a call
    ],
)
def test_a_string_that_has_lost_its_end_ends_before_the_next_call_where_none_has_a_closer(body, ended):
    rest = "[TOOL_CALLS]g[ARGS]" + ('{"h": 1}' if ended else 'h"}')
    calls = hs.parse("[TOOL_CALLS]f[ARGS]" + body + rest, "mistral", tools=["f", "g"]).tool_calls
    if not ended:
        assert [(call.arguments, call.complete) for call in calls] == [(body + rest, True)]
    else:
        assert [(call.name, call.arguments, call.complete) for call in calls] == [
            ("f", body, False),
            ("g", '{"h": 1}', True),
        ]


@pytest.mark.parametrize("opener", ["[", "1", "[[", "nu", "!"])
@pytest.mark.parametrize("closer", ["", "~"])
def test_an_opener_that_json_may_have_outside_of_strings_is_json(opener, closer):
    row = hs.Format(name="own", call=(opener, "@", closer), stops=("<s>",))
    body = '{"a": [1, [[2]], null], "b": {"c": 12}}'
    (call,) = hs.parse(f"{opener}f@{body}{closer}", row, tools=["f"]).tool_calls
    assert (call.arguments, call.complete) == (body, True)
