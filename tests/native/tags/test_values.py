"""The text of a value -> JSON, against the json module."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_texts import DOCUMENTS, PIECES, SCRAPS, SPACES, is_json, quoted, strict
from native_values import fits, may_be_literal, transcode
from reference_tags_values import may_be_json

from harmonystream._schema import TYPES


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("null", "string", '"null"'),
        ("5", "string", '"5"'),
        ("  if x:\n\ty\n", "string", '"  if x:\\n\\ty\\n"'),
        (" NULL\n", "string null", "null"),
        ("Null", "integer", "null"),
        ("None", "boolean", "null"),
        ("None", "null", "null"),
        ("None", "string null", '"None"'),
        ("null", "string integer", '"null"'),
        ("1.50", "number", "1.50"),
        *(
            (short, "number", full)
            for short, full in (("1.", "1.0"), (".5", "0.5"), ("+5", "5"), ("-.5e+1", "-0.5e+1"))
        ),
        ("+5.", "integer null", "5.0"),
        (" -0\n", "integer", "-0"),
        ("5.0", "integer", "5.0"),
        ("1e5", "integer number", "1e5"),
        ("1E+05", "number", "1E+05"),
        ("9" * 500, "integer", "9" * 500),
        ("True", "boolean", "true"),
        ("fALSE", "string boolean", "false"),
        ("1", "boolean", "true"),
        ("0", "boolean null", "false"),
        ("1", "boolean string", '"1"'),
        ("1", "boolean integer", "1"),
        ('{"b":1, "a" : [1e400]}', "object", '{"b":1, "a" : [1e400]}'),
        ("{'a': True}", "object", '{"a": true}'),
        ("['a',\"b\",None,False,-1.5e3 ]", "array", '["a", "b", null, false, -1.5e3]'),
        ("(1,(),[ ],{ },(2,3,),)", "array", "[1, [], [], {}, [2, 3]]"),
        ("{'a': 1, 'a': (2,),\f}", "object", '{"a": 1, "a": [2]}'),
        ("{1}", "object string", '"{1}"'),
    ],
)
def test_values_that_fit(text, types, expected):
    assert transcode(text, types.split()) == expected
    assert fits(text, types.split())


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("", "integer"),
        (" ", "array null"),
        ("02134", "integer"),
        ("5.5", "integer"),
        ("1e5", "integer"),
        ("0x10", "integer"),
        ("1_000", "integer"),
        ("123abc", "integer"),
        ("NaN", "number"),
        ("yes", "boolean"),
        ("2", "boolean"),
        ("1", "boolean object"),
        ("nulll", "null"),
        ("none", "null"),
        ("{}", "array"),
        ("[]", "object"),
        ("()", "object"),
        ("[NaN]", "array"),
        ('["a\nb"]', "array"),
        ("['a\nb']", "array"),
        ("[1 2]", "array"),
        ("[1,,2]", "array"),
        ("[,]", "array"),
        ("(,)", "array"),
        ("(1)", "array"),
        ("(1,]", "array"),
        ("[1", "array"),
        ("[1]]", "array"),
        ("[1] x", "array"),
        ("{1: 2}", "object"),
        ("{'a'}", "object"),
        ("{'a': 1, 2}", "object"),
        ("{'a' 1}", "object"),
        ("['a' 'b']", "array"),
        ("[b'a']", "array"),
        ("['a]", "array"),
        ("['a\\", "array"),
        (r"['\x4']", "array"),
        (r"['\u12g4']", "array"),
        (r"['\U00110000']", "array"),
        (r"['\N{DASH}']", "array"),
        ("[true, 'a']", "array"),
        ("[Truee]", "array"),
        ("[1j]", "array"),
        ("['\0']", "array"),
        ("[" * 1000, "array"),
    ],
)
def test_what_fits_no_type_is_a_string(text, types):
    assert transcode(text, types.split()) == quoted(text)
    assert not fits(text, types.split())


@pytest.mark.parametrize(
    ("text", "as_json"),
    [
        ("5", "5"),
        (" {} ", "{}"),
        ("null", "null"),
        ("None", '"None"'),
        ("['a']", "\"['a']\""),
        ("a b", '"a b"'),
        (" ", '" "'),
        ("", '""'),
        ("true" + " " * 60, "true"),
        ("true" + " " * 61, '"true' + " " * 61 + '"'),
        (" " * 64 + "[1]", "[1]"),
        (" " * 65 + "[1]", '"' + " " * 65 + '[1]"'),
    ],
)
def test_untyped_values(text, as_json):
    assert transcode(text) == transcode(text, untyped="string") == quoted(text)
    assert transcode(text, untyped="json") == as_json
    assert fits(text)


# --- any text -----------------------------------------------------------------------------------------------------


@st.composite
def damaged(draw):
    """JSON with a few characters put in, left out or replaced."""
    text = json.dumps(draw(DOCUMENTS), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(["", *PIECES])) + text[at + draw(st.integers(0, 2)) :]
    return text


@given(damaged() | SCRAPS)
def test_json_and_other_text_are_distinguished(text):
    stripped = text.strip(" \t\n\v\f\r")
    said = is_json(stripped) and may_be_json(text)
    assert transcode(text, untyped="json") == (stripped if said else quoted(text))


@given(damaged() | SCRAPS | st.text(), st.sets(st.sampled_from(list(TYPES))), st.sampled_from(["string", "json"]))
def test_the_result_is_always_json_of_the_declared_types(text, types, untyped):
    result = transcode(text, types, untyped=untyped)
    value = strict(result)
    names = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", dict: "object"}
    name = names.get(type(value), "array")
    if not types:
        assert untyped == "json" or value == text
    elif not fits(text, types):
        assert "string" not in types
        assert value == text
    elif name == "null":
        assert "null" in types or "string" not in types
    elif name == "integer":
        assert types & {"integer", "number"}
    elif name == "number":
        assert "number" in types or ("integer" in types and value == int(value))
    else:
        assert name in types
    if name == "string" and value != text:
        assert untyped == "json"


# --- how long to wait ---------------------------------------------------------------------------------------------

SCALAR_TYPES = ["null", "integer", "number", "boolean"]
REST = [word[i:] for word in ("null", "true", "false") for i in range(len(word) + 1)] + ["0", ".0", "0.0"]


def stays_a_string(text, types):
    return transcode(text, types) == quoted(text)


@given(
    st.lists(st.sampled_from([*"nulNULtrefalsTREFALS0159.eE+- \n\tx", "null", "TRUE", "1"]), max_size=8).map("".join),
    st.sets(st.sampled_from(SCALAR_TYPES), min_size=1).map(lambda types: ["string", *sorted(types)]),
)
def test_a_text_may_be_a_literal_exactly_if_some_rest_makes_it_one(text, types):
    expected = any(not stays_a_string(text + rest, types) for rest in REST)
    assert may_be_literal(text, types) == expected


@given(SPACES, st.sampled_from(["null", "-12.50e+3", "7.00", "False", "0"]), SPACES)
def test_all_beginnings_of_a_literal_may_become_one(before, literal, after):
    text, types = before + literal + after, ["string", *SCALAR_TYPES]
    assert not stays_a_string(text, types)
    assert all(may_be_literal(text[:i], types) for i in range(len(text) + 1))


def test_nobody_waits_for_a_long_literal():
    for types, text in ((["string", "integer"], "1" * 64), (["string", "null"], " " * 60 + "null")):
        assert may_be_literal(text, types)
        assert transcode(text, types) == text.strip()
        assert not may_be_literal(text + " ", types)
        assert transcode(text + " ", types) == quoted(text + " ")
    assert transcode("1" * 65, ["string", "integer", "object"]) == transcode("1" * 65, ["integer"]) == "1" * 65


@pytest.mark.parametrize("types", [[], ["string"], ["integer"], ["string", "null", "object"], ["string", "array"]])
def test_nobody_waits_for_literals_that_cannot_be(types):
    assert not any(may_be_literal(text, types) for text in ("", " ", "n", "null", "1", "{"))


# --- sizes --------------------------------------------------------------------------------------------------------


def test_nesting_has_no_limit():
    deep = "[" * 200_000 + "]" * 200_000
    assert transcode(deep, ["array"]) == transcode(deep, untyped="json") == deep
    assert transcode("(" * 200_000 + "1" + ",)" * 200_000, ["array"]) == "[" * 200_000 + "1" + "]" * 200_000
    objects = '{"a":' * 200_000 + "[]" + "}" * 200_000
    assert transcode(objects, ["object"]) == objects
    assert transcode(deep[1:], ["array"]) == f'"{deep[1:]}"'
    assert transcode(deep[:-1], ["array"]) == f'"{deep[:-1]}"'


@pytest.mark.parametrize("unit", ["a", "é", "\n", '\\"'])
def test_long_strings(unit):
    text = unit * 500_000
    assert transcode(text) == quoted(text)


@pytest.mark.parametrize(
    ("unit", "converted"), [("é", "é"), ("\\n", "\\n"), ("\\x41", "A"), ('"', '\\"'), ("\\d", "\\\\d")]
)
def test_long_strings_of_python(unit, converted):
    assert transcode(f"['{unit * 500_000}']", ["array"]) == f'["{converted * 500_000}"]'


@pytest.mark.parametrize("text", ["[1," * 300_000, "{'a':" * 300_000, "[" + "'a'," * 300_000, "1" * 1_000_000 + "x"])
def test_long_values_that_fit_nothing(text):
    assert transcode(text, ["object", "array", "integer"]) == quoted(text)
