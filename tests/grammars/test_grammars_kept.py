"""What a backend does not keep of a schema is an error, or is noted: it is never lost in silence."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import jsonschema_rs
import pytest
from gbnf_matching import Gbnf
from grammar_walks import accepts

import harmonystream as hs
from harmonystream.errors import GrammarError
from harmonystream.grammars.kept import are_apart, fitted
from harmonystream.grammars.patterns import rewritten, sized

P = {"a": {"type": "integer"}, "b": {"type": "integer"}}
# A schema, and whether xgrammar, llguidance and llama.cpp keep it in JSON without markers that end a call.
KEPT: list[tuple[Any, str]] = [
    ({"type": "string", "pattern": "^[a-z]{2,4}$"}, "xlg"),
    ({"type": "string", "pattern": "b", "maxLength": 3}, "l"),
    ({"type": "string", "pattern": "^ab?$", "maxLength": 3}, "xlg"),
    ({"type": "string", "pattern": "(?=b)"}, ""),
    ({"pattern": "b"}, "l"),
    ({"type": "string", "minLength": 2, "maxLength": 4}, "xlg"),
    ({"minLength": 2}, "l"),
    ({"type": "string", "format": "iban"}, "xlg"),
    ({"type": "integer", "minimum": 5}, "xl"),
    ({"type": "integer", "multipleOf": 3}, "xl"),
    ({"type": "number", "multipleOf": 0.5}, "l"),
    ({"const": "on"}, "xlg"),
    ({"type": "string", "enum": ["a", 1]}, "xlg"),
    ({"type": "string", "enum": ["a", "bcd"], "maxLength": 2}, "l"),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "xlg"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, ""),
    ({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]}, "l"),
    ({"type": "object", "properties": P, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "l"),
    ({"allOf": [{"type": "object", "properties": P}, {"required": ["a"]}]}, "l"),
    ({"not": {"type": "string"}}, ""),
    ({"type": "object", "properties": P, "if": {"required": ["a"]}, "then": {"required": ["b"]}}, ""),
    ({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}, "xl"),
    ({"type": "object", "propertyNames": {"pattern": "^x"}}, ""),
    ({"type": "object", "minProperties": 1}, "xl"),
    ({"type": "object", "properties": P, "dependentRequired": {"a": ["b"]}}, ""),
    ({"type": "object", "required": ["a"]}, "l"),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, ""),
    ({"type": "array", "contains": {"type": "integer"}}, ""),
    ({"type": "array", "prefixItems": [{"type": "integer"}]}, "xl"),
    ({"items": {"type": "integer"}}, "xlg"),
    ({"type": "object", "properties": P, "unevaluatedProperties": False}, ""),
]


def tools(schema: Any) -> list[Any]:
    return [{"name": "f", "strict": True, "parameters": {"properties": {"v": schema}, "required": ["v"]}}]


@pytest.mark.parametrize(("schema", "kept"), KEPT)
def test_what_is_kept(schema: Any, kept: str) -> None:
    text = json.dumps(schema)
    for backend in ("xgrammar", "llguidance"):
        assert (not fitted(text, backend).lost) == (backend[0] in kept), backend  # type: ignore[arg-type]
    exact = hs.grammar("hermes", tools(schema), choice="required")
    wide = hs.grammar("hermes", tools(schema), choice="required", exact=False)
    for language, name in (("structural_tag", "x"), ("gbnf", "g")):
        lost = wide.wider(language)  # type: ignore[arg-type]
        assert (not lost) == (name in kept), lost
        assert all("tool 'f'" in one for one in lost)
        if lost:
            with pytest.raises(GrammarError, match=r"tool 'f'.*exact=False allows more there"):
                getattr(exact, language)()
        else:
            assert getattr(exact, language)() == getattr(wide, language)()
    for one in wide.wider("lark"):
        assert "v" in one


def test_a_value_that_does_not_fit_is_refused_unless_something_is_noted() -> None:
    """The texts of JSON, for each schema and each value."""
    values = ["", "a", "ab", "abcd", "xx", 0, 3, 4, 5.5, None, True, [], [1], [1, 1], ["a"], {}, {"a": 1}, {"x": "s"}]
    for schema, _ in KEPT:
        grammar = hs.grammar("harmony", tools(schema), choice="required", exact=False)
        lark, gbnf = grammar.lark(), grammar.gbnf()
        for value in values:
            text = f"<|channel|>commentary to=functions.f<|message|>{json.dumps({'v': value})}<|call|>"
            found = Gbnf(gbnf)
            taken = {"lark": accepts(lark, text), "gbnf": found.take(text) and found.may_end}
            for language, is_taken in taken.items():
                if is_taken and not grammar.wider(language):  # type: ignore[arg-type]
                    assert jsonschema_rs.is_valid(schema, value), (language, schema, value)


def test_one_tool_falls_back_and_the_others_do_not() -> None:
    wrong = {"type": "object", "properties": {"a": {"type": "string", "not": {"const": "x"}}}}
    right = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    given = [
        {"name": "f", "strict": True, "parameters": wrong},
        {"name": "g", "strict": True, "parameters": right},
        {"name": "h", "strict": True, "parameters": {"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}}}},
    ]
    with pytest.raises(GrammarError, match=r"'not' of a string that is written without quotes.*tool 'f'\.a"):
        hs.grammar("dsml", given[:1])
    grammar = hs.grammar("dsml", given, choice="required", exact=False)
    unfit, broken = sorted(grammar.notes)
    assert unfit.startswith("tool 'f' takes any object: 'not'")
    assert broken.startswith("tool 'h' takes any object: a reference leads nowhere")
    call = (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="{}">\n<｜DSML｜parameter name="{}" string="{}">{}'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    )
    for name, key, string, value, taken in (
        ("f", "other", "true", "x", True),
        ("g", "n", "false", "3", True),
        ("g", "n", "true", "x", False),
        ("g", "other", "false", "3", False),
    ):
        assert accepts(grammar.lark(), call.format(name, key, string, value)) == taken


LIMITED = [
    # a schema, and strings that fit, and that do not
    ({"type": "string", "maxLength": 3}, ["", "abc"], ["abcd"]),
    ({"type": "string", "minLength": 2}, ["ab", "a b", "a\nb"], ["", "a"]),
    ({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}, ["NO-1", "SE-22"], ["NO-", "no-1"]),
    ({"type": "string", "pattern": "^https://"}, ["https://a/b"], ["http://a"]),
]


@pytest.mark.parametrize("format", ["qwen3_coder", "glm", "dsml", "gemma4", "minimax_m3"])
def test_limits_of_strings_without_quotes(format: str) -> None:
    from test_schemas import CALLS

    for schema, fit, other in LIMITED:
        parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        grammar = hs.grammar(format, [{"name": "f", "strict": True, "parameters": parameters}], choice="required")
        for value in (*fit, *other):
            text = CALLS[format][1].format(value)
            assert accepts(grammar.lark(), text) == (value in fit), (schema, value)
            found = Gbnf(grammar.gbnf())
            assert bool(found.take(text) and found.may_end) == (value in fit), (schema, value)


PATTERNS = [
    "^[a-z]{2,4}$",
    "b",
    "^a|b$",
    "^(?:a|b)+$",
    "^a.c$",
    "^\\d{2}-\\w+$",
    "[^a-c]",
    "^(|a)b$",
    "^$",
    "a{0}b",
    "\\.x",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rewritten_patterns_match_the_same(pattern: str) -> None:
    found = rewritten(pattern)
    assert found is not None
    for text in ("", "a", "b", "ab", "abc", "a.c", "12-x", "1-x", "abcde", "d", "x.x", "ÄÖ", "bb", "aabb"):
        matched = re.fullmatch(found.text, text)
        assert bool(matched) == bool(re.search(pattern, text)), text
        if matched:
            assert found.least <= len(text)
            assert found.most is None or len(text) <= found.most


def test_lengths_with_edges() -> None:
    for least, most in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (2, 5), (0, None), (1, None), (3, None)):
        found = sized(least, most, "<", "\n")
        assert found is not None
        for text in ("", "a", "\n", "ab", "a\n", "a\nb", "abcd", "abcde", "abcdef", "a<b"):
            fits = least <= len(text) and (most is None or len(text) <= most)
            fits = fits and "<" not in text and text.strip("\n") == text
            assert bool(re.fullmatch(found.text, text)) == fits, (least, most, text)


def test_schemas_that_share_no_value() -> None:
    cat = {"type": "object", "properties": {"kind": {"const": "cat"}}, "required": ["kind"]}
    dog = {"type": "object", "properties": {"kind": {"const": "dog"}}, "required": ["kind"]}
    root = {"$defs": {"Cat": cat, "Dog": dog}}
    assert are_apart([{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}, {"type": "string"}], root)
    assert not are_apart([cat, {**dog, "required": []}], root)
    assert not are_apart([{"enum": ["a", "b"]}, {"enum": ["b"]}], root)
    assert not are_apart([{"const": 1}, {"const": 1.0}], root)
    assert not are_apart([{"type": "integer"}, {"type": "number"}], root)


def _nested(depth: int, keyword: str) -> Any:
    made: Any = {"type": "string"}
    for _ in range(depth):
        made = {keyword: [made]} if keyword != "items" else {"type": "array", "items": made}
    return made


HOSTILE: dict[str, Any] = {
    "items 10,000 deep": _nested(10_000, "items"),
    "anyOf 10,000 deep": _nested(10_000, "anyOf"),
    "100,000 properties": {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(100_000)}},
    "a cycle": {"$ref": "#/properties/v"},
    "a pattern of counts": {"type": "string", "pattern": "^" + "(" * 15 + "a" + "{99})" * 15 + "$"},
    "a pattern of stars": {"type": "string", "pattern": "^" + "(" * 15 + "a" + "*)*" * 15 + "$"},
    "a long pattern": {"type": "string", "pattern": "(a|" * 50_000},
    "a long length": {"type": "string", "minLength": 10**9},
    "many items": {"type": "array", "items": {"type": "string"}, "minItems": 10**9},
    "many unions": {"oneOf": [{"type": "object", "properties": {"a": {"const": at}}} for at in range(5_000)]},
    "members that are all of it": {
        "type": "object",
        "properties": {f"p{at}": {"$ref": "#/properties/v"} for at in range(60)},
        "required": [f"p{at}" for at in range(60)],
    },
    "optional members": {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(400)}},
    "arrays of arrays": {
        "type": "array",
        "maxItems": 64,
        "items": {
            "type": "array",
            "maxItems": 64,
            "items": {"type": "array", "maxItems": 64, "items": {"type": "string"}},
        },
    },
    "unions of unions": {"anyOf": [{"anyOf": [{"$ref": "#/properties/v"}] * 50}] * 50},
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("format", ["hermes", "dsml", "gemma4", "minimax_m3", "pythonic"])
def test_hostile_schemas_end_soon(what: str, format: str) -> None:
    schema = HOSTILE[what]
    for exact in (True, False):
        for language in ("structural_tag", "lark", "gbnf"):
            began = time.process_time()
            try:
                text = getattr(hs.grammar(format, tools(schema), choice="required", exact=exact), language)()
            except GrammarError:
                assert exact or "$ref" in str(schema)[:200] or format == "minimax_m3"
            else:
                assert len(text) < 5_000_000
            assert time.process_time() - began < 5, language  # where it grows with a power, it takes minutes


def test_what_is_written_does_not_grow_with_the_power_of_the_depth() -> None:
    schema: Any = {"type": "string"}
    for level in range(15):
        inner = {"type": "array", "items": schema}
        schema = {"type": "object", "properties": {f"a{level}": inner, f"b{level}": {"type": "string"}}}
    for format in ("hermes", "kimi_k2", "llama3"):
        grammar = hs.grammar(format, [{"name": "f", "strict": True, "parameters": schema}], exact=False)
        assert grammar.notes == ()
        for text in (grammar.structural_tag(), grammar.lark(), grammar.gbnf()):
            assert len(text) < 300_000


def test_a_hostile_answer_is_refused() -> None:
    with pytest.raises(GrammarError, match="the schema of the answer is deeper than 64 levels"):
        hs.grammar("hermes", ["f"], answer=_nested(10_000, "items"))
