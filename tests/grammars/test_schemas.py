"""Schemas as pydantic, zod and people write them: references, unions, recursion. What is read fits them."""

from __future__ import annotations

import json
import random
import re
from itertools import permutations
from typing import Any

import pytest
from gbnf_matching import Gbnf
from grammar_walks import BACKENDS, accepts, ids_walk, vocab_of

import harmonystream as hs
from harmonystream.errors import GrammarError
from harmonystream.formats import format_of
from harmonystream.grammars.schemas import Schema, plain, with_definitions

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "sub": {"$ref": "#/$defs/Tree"}}, "required": ["v"]}
ENDLESS = {"type": "object", "properties": {"sub": {"$ref": "#/$defs/Endless"}}, "required": ["sub"]}
DEFS = {"Point": POINT, "Tree": TREE, "Endless": ENDLESS, "Unit": {"enum": ["c", "f"]}}


def tool(schema: Any, **more: Any) -> list[Any]:
    parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"], "$defs": DEFS, **more}
    return [{"name": "f", "strict": True, "parameters": parameters}]


# By format: a call of f, in which the value of `a` is to be put. The second is for strings.
CALLS = {
    "hermes": ('<tool_call>\n{{"name": "f", "arguments": {{"a": {}}}}}\n</tool_call>',) * 2,
    "qwen3_coder": (
        "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>",
        "<tool_call>\n<function=f>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>",
    ),
    "glm": ("<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>",) * 2,
    "dsml": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">{}'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">{}'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    "gemma4": ("<|tool_call>call:f{{a:{}}}<tool_call|>", '<|tool_call>call:f{{a:<|"|>{}<|"|>}}<tool_call|>'),
    "pythonic": ("[f(a={})]", "[f(a='{}')]"),
    "minimax_m3": (
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">]<]minimax[>[<a>{}]<]minimax[>[</a>'
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    )
    * 2,
}
JSON = ("hermes", "qwen3_coder", "glm", "dsml", "pythonic")
TEXT = ("qwen3_coder", "glm", "dsml", "gemma4", "pythonic", "minimax_m3")
CASES: list[tuple[Any, tuple[str, ...], str, bool]] = [
    # the schema of the argument, formats, the value as it is written, and whether it is allowed
    ({"$ref": "#/$defs/Point"}, JSON, '{"x": 1}', True),
    ({"$ref": "#/$defs/Point"}, JSON, '{"x": "1"}', False),
    ({"$ref": "#/$defs/Point"}, ("gemma4",), "{x:1}", True),
    ({"type": "array", "items": {"$ref": "#/$defs/Point"}}, JSON, '[{"x": 1}, {"x": 2}]', True),
    ({"type": "array", "items": {"$ref": "#/$defs/Point"}}, JSON, '[{"y": 1}]', False),
    ({"type": "array", "items": {"$ref": "#/$defs/Point"}}, ("gemma4",), "[{x:1},{x:2}]", True),
    ({"$ref": "#/$defs/Tree"}, JSON, '{"v": 1, "sub": {"v": 2}}', True),
    ({"$ref": "#/$defs/Tree"}, JSON, '{"v": 1, "sub": {"w": 2}}', False),
    ({"$ref": "#/$defs/Tree"}, ("gemma4",), "{v:1,sub:{v:2}}", True),
    ({"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}, JSON, "null", True),
    ({"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}, JSON, "[]", False),
    ({"allOf": [{"$ref": "#/$defs/Point"}], "description": "A place"}, JSON, '{"x": 3}', True),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, JSON, '{"k": 1}', True),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, JSON, '{"k": "v"}', False),
    ({"type": ["integer", "boolean"]}, JSON, "true", True),
    ({"type": ["integer", "boolean"]}, JSON, "1.5", False),
]
TEXTS: list[tuple[Any, str, bool]] = [
    ({"$ref": "#/$defs/Unit"}, "c", True),
    ({"$ref": "#/$defs/Unit"}, "k", False),
    ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, "b", True),
    ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, "x", False),
    ({"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, "None", False),
    ({"allOf": [{"$ref": "#/$defs/Unit"}]}, "f", True),
    ({"type": "string", "format": "date-time"}, "2026-01-01", True),
]


@pytest.mark.parametrize(("schema", "formats", "value", "allowed"), CASES)
def test_values(schema: Any, formats: tuple[str, ...], value: str, allowed: bool) -> None:
    for format in formats:
        check(format, schema, CALLS[format][0].format(value), allowed)


@pytest.mark.parametrize(("schema", "value", "allowed"), TEXTS)
def test_strings_without_quotes(schema: Any, value: str, allowed: bool) -> None:
    for format in TEXT:
        if format != "pythonic" or "format" not in schema:
            check(format, schema, CALLS[format][1].format(value), allowed)


def check(format: str, schema: Any, text: str, allowed: bool) -> None:
    tools = tool(schema)
    assert accepts(hs.grammar(format, tools, choice="required").lark(), text) == allowed, (format, text)
    if allowed:
        (call,) = hs.parse(text, format, tools=[{"type": "function", "function": tools[0]}]).tool_calls
        assert call.complete, format
        assert json.loads(call.arguments).keys() == {"a"}, format


def test_what_begins_as_a_container_is_one() -> None:
    """A text that may also be an array of numbers is read as an array if it is one, and must then fit."""
    schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}
    for value, allowed in (("a word", True), ("[1, 2]", True), ('["a"]', False), ("", True)):
        check("glm", schema, CALLS["glm"][0].format(value), allowed)


def test_what_begins_as_an_item_in_a_tag_is_an_array() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}
    one = "]<]minimax[>[<item>{}]<]minimax[>[</item>"
    values = ("a word", True), (one.format(1), True), (one.format("a"), False), ("]<]minimax[>[<item>a", False)
    for value, allowed in (*values, ("]<", True), ("", True)):
        check("minimax_m3", schema, CALLS["minimax_m3"][0].format(value), allowed)


def test_optional_members_come_in_their_order() -> None:
    """Each choice of them is taken, and no other order, without a comma too many."""
    names = ["p", "q", "r", "s"]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    grammar = hs.grammar("harmony", tool(schema), choice="required")
    lark, gbnf = grammar.lark(), grammar.gbnf()
    for count in range(len(names) + 1):
        for chosen in permutations(names, count):
            value = json.dumps({"a": dict.fromkeys(chosen, 1)})
            for inner, allowed in ((value, list(chosen) == sorted(chosen)), (value.replace("}}", ",}}"), False)):
                text = f"<|channel|>commentary to=functions.f<|message|>{inner}<|call|>"
                found = Gbnf(gbnf)
                assert accepts(lark, text) == allowed, inner
                assert (found.take(text) and found.may_end) == allowed, inner


def test_a_schema_that_has_no_end() -> None:
    for format in ("gemma4", "minimax_m3"):
        with pytest.raises(GrammarError, match=r"contains itself: '#/\$defs/Endless'"):
            hs.grammar(format, tool({"$ref": "#/$defs/Endless"}))
    loop = {"Loop": {"$ref": "#/$defs/Loop"}}
    with pytest.raises(GrammarError, match=r"contains itself|refers to itself"):
        hs.grammar("dsml", tool({"$ref": "#/$defs/Loop"}, **{"$defs": loop}))
    union = {"Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"type": "string"}]}}
    with pytest.raises(GrammarError, match=r"contains itself|refers to itself"):
        hs.grammar("dsml", tool({"$ref": "#/$defs/Loop"}, **{"$defs": union}))


@pytest.mark.parametrize("ref", ["#/$defs/Nothing", "https://example.org/schema", "#anchor"])
def test_references_that_cannot_be_followed(ref: Any) -> None:
    with pytest.raises(GrammarError, match=r"leads nowhere|leads out of the schema"):
        hs.grammar("glm", tool({"$ref": ref}))


def test_references_to_other_places() -> None:
    """A value that stands alone takes along what it refers to, wherever that is."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"$ref": "#/properties/b"}}, "b": {"type": "integer"}},
        "required": ["a"],
    }
    for part in with_definitions(schema), schema:
        assert Schema(part, part).properties["b"] == {"type": "integer"}
    tools = [{"name": "f", "strict": True, "parameters": schema}]
    for value, allowed in (("[1, 2]", True), ('["x"]', False)):
        text = CALLS["glm"][0].format(value)
        assert accepts(hs.grammar("glm", tools, choice="required").lark(), text) == allowed


PAIRS = [name for name in hs.formats.names() if getattr(format_of(name), "pair", None)]


@pytest.mark.parametrize("format", PAIRS)
def test_a_value_does_not_begin_another_argument(format: str) -> None:
    """Such a value is read to its end only if what follows it happens to fit. In JSON, values have quotes."""
    pair = format_of(format).pair
    openers = [pair[0]] if isinstance(pair[0], str) else pair[0]
    vocab, end = vocab_of(format, control=False)
    string = [{"name": "f", "strict": True, "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
    grammar = hs.grammar(format, string, choice="required", reasoning="none", parallel=False)
    walks = (
        ids_walk(BACKENDS["llguidance"](grammar, vocab, end), vocab, end, format, random.Random(seed))
        for seed in range(4)
    )
    for ids in filter(None, walks):
        text = b"".join(map(vocab.token_bytes, ids)).decode(errors="replace")
        for call in hs.parse(text, format, tools=[{"type": "function", "function": string[0]}]).tool_calls:
            value = json.loads(call.arguments).get("a", "")
            is_json = json.dumps(value)[:9] in text  # with its quote
            assert is_json or not any(opener in value for opener in openers), value


@pytest.mark.parametrize("format", [name for name in PAIRS if format_of(name).section is None])
def test_text_after_a_call_without_arguments_does_not_break_it(format: str) -> None:
    row = format_of(format)
    opener, end_of_name, closer, value_closer = (
        one if isinstance(one, str) else one[0] for one in (*row.call, row.pair[3])
    )
    text = f"{opener}f{end_of_name}{closer}a"
    assert not hs.parse(text + value_closer, format, tools=["f"]).tool_calls[0].complete
    grammar = hs.grammar(format, ["f"])
    taken, not_taken = Gbnf(grammar.gbnf()), Gbnf(grammar.gbnf())
    assert accepts(grammar.lark(), text)
    assert taken.take(text)
    assert taken.may_end
    assert not accepts(grammar.lark(), text + value_closer)
    assert not not_taken.take(text + value_closer)


@pytest.mark.parametrize("format", PAIRS)
def test_a_value_may_have_the_opener_of_a_call(format: str) -> None:
    """Such as `<user>` of poolside_v1, which XML has, too. Grammars cut markers that no XML has to their beginnings."""

    def first(marker: Any) -> str:
        return marker if isinstance(marker, str) else marker[0]

    row, grammar = format_of(format), hs.grammar(format, ["f"], choice="required", parallel=False)
    outside = row.section or ("", "")
    end_of_key = next((end for end, kind in row.typed.items() if kind == "string"), first(row.pair[1]))
    for opener in (row.call[0], outside[0]):
        for one in (opener,) if isinstance(opener, str) else opener:
            value = f"<a>{one}b</a>"
            pair = f"{first(row.pair[0])}k{end_of_key}{first(row.pair[2])}{value}{first(row.pair[3])}"
            call = f"{first(row.call[0])}f{first(row.call[1])}{pair}{first(row.call[2])}"
            text = f"{first(outside[0])}{call}{first(outside[1])}"
            (read,) = hs.parse(text, format, tools=["f"]).tool_calls
            assert (read.complete, json.loads(read.arguments)) == (True, {"k": value})
            assert accepts(grammar.lark(), text) or not re.match("<[a-z]", one), one


def test_an_escape_sequence_does_not_begin_a_marker() -> None:
    """As in `\\function call`, where the parser sees a marker of gigachat3, at least if that is a control token."""
    answer = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
    grammar = hs.grammar("gigachat3", ["f"], answer=answer)
    for text, allowed in (("\\function call<|role_sep|>", False), ("\\function calls", True)):
        text = f'{{"s":"{text}"}}'
        found = Gbnf(grammar.gbnf())
        assert (found.take(text) and found.may_end) == accepts(grammar.lark(), text) == allowed, text


def test_no_call_in_thoughts_where_none_is_allowed() -> None:
    for format in ("deepseek", "glm", "hermes"):
        row = format_of(format)
        opener = row.call[0] if isinstance(row.call[0], str) else row.call[0][0]
        for text, allowed in ((f"<think>a{opener}b</think>c", False), ("<think>a</think>c", True)):
            assert accepts(hs.grammar(format, ["f"], choice="none").lark(), text) == allowed


def test_a_plain_schema_is_one_that_all_backends_and_formats_keep() -> None:
    """Descriptions and other notes are left out. A member may have the name of a note."""
    given = {
        "type": "object",
        "description": "A place",
        "properties": {"title": {"type": "string", "title": "T", "default": ""}, "unit": {"enum": ["c", "f"]}},
        "required": ["unit"],
    }
    properties = {"title": {"type": "string"}, "unit": {"enum": ["c", "f"]}}
    assert plain(given) == {"type": "object", "properties": properties, "required": ["unit"]}
    assert plain({"type": "array", "items": {"type": "null", "$comment": "-"}}) == {
        "type": "array",
        "items": {"type": "null"},
    }
    for other in (
        {"type": "array"},
        {"type": "object"},
        {"type": ["string", "null"]},
        {"type": "string", "maxLength": 3},
        {"enum": ["a", 1]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "string"}}, "$defs": {}},
        True,
    ):
        assert plain(other) is None, other
