"""Inside a call: raw bodies, and pairs of keys and values (docs/tags.md, 5 and 6)."""

from __future__ import annotations

import pytest
from tag_cases import TOOLS, ids, read

import harmonystream as hs

BEGIN, END = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
RAW = BEGIN + "f<｜tool▁sep｜>{}" + END
Q = "<tool_call>\n<function=f>\n{}</function>\n</tool_call>"
GLM = "<tool_call>f{}</tool_call>"


def raw(body, **options):
    """The arguments of a body that closers end."""
    reasoning, content, ((name, *arguments),), codes = read("deepseek", RAW.replace("{}", body), **options)
    assert (reasoning, content, name, codes) == ("", "", "f", [])
    return arguments


def pairs(body, call=Q, **options):
    """Arguments and deviations."""
    name = "qwen3_coder" if call is Q else "glm"
    reasoning, content, ((name, *arguments),), codes = read(name, call.replace("{}", body), **options)
    assert (reasoning, content, name) == ("", "", "f")
    return arguments, codes


# --- raw ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"a": 1}',
        '{"a": " }{ \\" "}',
        "[1, {}]",
        '"text"',
        "5",
        "null",
        "no JSON",
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


def test_an_empty_body():
    assert raw("") == raw(" \n") == raw("```json\n```") == ["{}"]
    assert raw("", empty_args="null") == ["null"]
    assert raw("", empty_args="") == [""]


def test_only_a_whole_fence_is_taken_off():
    assert raw('`{"a": 1}`') == ['`{"a": 1}`']
    assert raw('``{"a": 1}') == ['``{"a": 1}']
    assert raw('```json\n{"a": "```"}\n```') == ['{"a": "```"}']
    assert raw('{"a": 1}\n```') == ['{"a": 1}\n```']


def test_whitespace_between_two_values_is_kept():
    assert raw('{"a": 1} \n {"b": 2}') == ['{"a": 1} \n {"b": 2}']


def test_a_closer_in_open_json_is_text_unless_a_call_may_end_there():
    said = '{"a": "<｜tool▁call▁end｜> or not"}'
    assert raw(said) == [said]
    cut = RAW.replace("{}", '{"a": "b')
    assert read("deepseek", cut) == ("", "", [("f", '{"a": "b')], [])


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
    assert read("deepseek", cut, finish="stop") == ("", "", [("f", body)], [])
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


# --- pairs --------------------------------------------------------------------------------------------------------


def test_no_pairs():
    assert pairs("") == pairs("", GLM) == (["{}"], [])
    assert pairs("", empty_args="") == ([""], [])


def test_pairs_become_json():
    assert pairs("<parameter=s>a</parameter>\n\n<parameter=i>5</parameter>\n") == (['{"s": "a", "i": 5}'], [])
    body = "<arg_key>s</arg_key>\n<arg_value>a</arg_value><arg_key>i</arg_key><arg_value>5</arg_value>"
    assert pairs(body, GLM) == (['{"s": "a", "i": 5}'], [])
    assert pairs(body * 2, GLM) == (['{"s": "a", "i": 5, "s": "a", "i": 5}'], [])


def test_keys_and_strings_are_escaped():
    assert pairs('<parameter=a"b\\c>x"y\\z\t\r\x01/é😀</parameter>') == (
        ['{"a\\"b\\\\c": "x\\"y\\\\z\\t\\r\\u0001/é😀"}'],
        [],
    )


@pytest.mark.parametrize(
    ("value", "layout", "kept"),
    [
        ("a", "a", "a"),
        ("\na\n", "a", "\\na\\n"),
        ("\n\na\n\n", "\\na\\n", "\\n\\na\\n\\n"),
        ("\n", "", "\\n"),
        ("\n\n", "", "\\n\\n"),
        ("", "", ""),
        (" a ", " a ", " a "),
        ("a\nb", "a\\nb", "a\\nb"),
        ("\r\na\r\n", "\\r\\na\\r", "\\r\\na\\r\\n"),
    ],
)
def test_newlines_around_a_value(value, layout, kept):
    assert pairs(f"<parameter=s>{value}</parameter>") == ([f'{{"s": "{layout}"}}'], [])
    assert pairs(f"<arg_key>s</arg_key><arg_value>{value}</arg_value>", GLM) == ([f'{{"s": "{kept}"}}'], [])


@pytest.mark.parametrize(
    ("key", "value", "json"),
    [
        ("i", " 5 ", "5"),
        ("i", "5.5", '"5.5"'),
        ("o", "{'a': None}", '{"a": null}'),
        ("o", '{"a":1}', '{"a":1}'),
        ("sn", "null", "null"),
        ("sn", "nullable", '"nullable"'),
        ("sn", " NULL\n", "null"),
        ("sn", "nul", '"nul"'),
        ("sn", " " * 64 + "null", '"' + " " * 64 + 'null"'),
        ("s", "null", '"null"'),
        ("x", "5", '"5"'),
    ],
)
def test_types(key, value, json):
    arguments, codes = pairs(f"<parameter={key}>{value}</parameter>")
    assert arguments == [f'{{"{key}": {json}}}']
    assert codes == (["value-type"] if value == "5.5" else [])


def test_untyped_values():
    body = "<arg_key>x</arg_key><arg_value>{}</arg_value>"
    for value in ("5", "[1]", "null", "true", '"a"', "1e3"):
        assert pairs(body.replace("{}", value), GLM) == ([f'{{"x": {value}}}'], [])
    for value in ("a", "True", "[1", "{'a': 1}"):
        assert pairs(body.replace("{}", value), GLM) == ([f'{{"x": "{value}"}}'], [])


def test_a_key_may_say_the_type():
    call = '<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="{}>5</｜DSML｜parameter>'
    call += "</｜DSML｜invoke></｜DSML｜function_calls>"

    def typed(end):
        return read("dsml", call.replace("{}", end))[2:]

    assert typed('x" string="true"') == ([("f", '{"x": "5"}')], [])
    assert typed('x" string="false"') == ([("f", '{"x": 5}')], [])
    assert typed('x"') == ([("f", '{"x": 5}')], [])
    assert typed('i" string="true"') == ([("f", '{"i": 5}')], [])
    assert typed('s" string="false"') == ([("f", '{"s": "5"}')], [])


def test_a_value_that_is_held_for_too_long():
    body = "<parameter=o>[{}</parameter>".replace("{}", "1" * 1024)
    assert pairs(body, max_hold=1024) == ([f'{{"o": "[{"1" * 1024}"}}'], ["held-too-long"])
    assert pairs(body, max_hold=2048) == ([f'{{"o": "[{"1" * 1024}"}}'], ["value-type"])


def test_a_value_streams_and_what_is_held_does_not():
    parser = hs.Parser("glm", tools=TOOLS)

    def heard(piece):
        return [event.arguments for event in parser.feed_text(piece) if type(event) is hs.ToolCallDelta]

    assert heard("<tool_call>f<arg_key>s</arg_key><arg_value>") == []
    assert heard("a") == ['{"s": "a']
    assert heard("b<") == ["b"]
    assert heard("c") == ["<c"]
    assert heard("</arg_value>") == []  # is it the closer? what follows tells
    assert heard("<arg_key>o</arg_key><arg_value>{") == ['"']
    assert heard('"a": 1}') == []
    assert heard("</arg_value></tool_call>") == [', "o": {"a": 1}}']
