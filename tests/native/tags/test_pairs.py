"""Keys and values (docs/tags.md, 5 and 6)."""

from __future__ import annotations

import json

import pytest
from tag_cases import TOOLS, read

import harmonystream as hs
from harmonystream.formats import format_of

Q = "<tool_call>\n<function=f>\n{}</function>\n</tool_call>"
GLM = "<tool_call>f{}</tool_call>"


def pairs(body, call=Q, **options):
    """Arguments and deviations."""
    name = "qwen3_coder" if call is Q else "glm"
    reasoning, content, ((name, *arguments),), codes = read(name, call.replace("{}", body), **options)
    assert (reasoning, content, name) == ("", "", "f")
    return arguments, codes


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
        ("a\n", "a\\n", "a\\n"),
        ("\na", "a", "\\na"),
        ("\r\na\r\n", "\\r\\na\\r\\n", "\\r\\na\\r\\n"),
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


@pytest.mark.parametrize(("more", "value"), [(0, "a"), (1, "a"), (8, "a"), (9, "a" + "</parameter>")])
def test_a_few_more_closers_belong_to_the_one_of_the_value(more, value):
    body = "<parameter=s>a" + "</parameter>" * (1 + more)
    assert pairs(body)[0] == [json.dumps({"s": value})]


def test_a_long_run_of_closers_is_read_once():
    parser = hs.Parser("qwen3_coder", tools=TOOLS)
    parser.feed_text("<tool_call><function=f><parameter=s>a")
    for _ in range(1000):
        given = [event.arguments for event in parser.feed_text("</parameter>") if type(event) is hs.ToolCallDelta]
        assert len(parser.to_bytes()) < 600  # it holds a few of them
    assert given == ["</parameter>"]


@pytest.mark.parametrize("begun", ["", " " * 64, '"', "\n[1", "{", "-", "7", "t", "tru", "True ", " null " + " " * 58])
def test_a_value_of_no_type_waits_while_it_may_be_json(begun):
    parser = hs.Parser("glm")
    assert len(parser.feed_text("<tool_call>f<arg_key>k</arg_key><arg_value>")) == 2
    assert parser.feed_text(begun) == ()


@pytest.mark.parametrize("begun", ["The", " " * 65, " " * 65 + "[", "tx", "trues", "x", "null " + " " * 60])
def test_a_value_of_no_type_streams_once_it_cannot_be_json(begun):
    parser = hs.Parser("glm")
    parser.feed_text("<tool_call>f<arg_key>k</arg_key><arg_value>")
    assert [event.arguments for event in parser.feed_text(begun)] == ['{"k": "' + begun]
    assert [event.arguments for event in parser.feed_text("!</arg_value></tool_call>")[:1]] == ['!"}']


@pytest.mark.parametrize(("spaces", "wrapped"), [(64, True), (65, False)])
def test_some_ws_may_come_before_all_the_arguments(spaces, wrapped):
    value = " " * spaces + '{"s": "a"}'
    expected = '{"s": "a"}' if wrapped else json.dumps({"arguments": value})
    body = f"<parameter=arguments>{value}</parameter>"
    assert pairs(body, tools=TOOLS) == ([expected], ["wrapped-arguments"] * wrapped)


@pytest.mark.parametrize("format", ["mimo", "qwen3_coder", "dsml", "minimax_m2", "minicpm5"])
def test_a_key_with_quotes_of_a_tool_that_nobody_declares(format):
    row = format_of(format)
    key = row.pair[0] if isinstance(row.pair[0], str) else row.pair[0][0]
    call = row.call[0] if isinstance(row.call[0], str) else row.call[0][0]
    end = row.call[1] if isinstance(row.call[1], str) else row.call[1][0]
    for quoted in ('s"{', "s'", 's="x"', '"', "=", 's" t="'):
        for tools in (None, ["f"], ["g"]):
            done = hs.parse(f"{call}f{end}{key}{quoted}>1</parameter>", format, tools=tools)
            assert len(done.messages) == 1
