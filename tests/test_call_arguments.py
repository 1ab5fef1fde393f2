"""What a model wrote as arguments, as a dict."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.call_arguments import MAX_DIGITS, read_arguments

CALL = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"

finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(exclude_categories=["Cs"]))


def objects(inner):
    return st.dictionaries(text, inner, max_size=4)


scalars = st.none() | st.booleans() | st.integers() | finite | text
values = st.recursive(scalars, lambda inner: st.lists(inner) | objects(inner), max_leaves=8)


def parsed(arguments: str) -> dict:
    (call,) = hs.parse(CALL.format(arguments)).tool_calls
    assert call.arguments == arguments
    return call.parsed_arguments


@settings(max_examples=60)
@given(objects(values), st.booleans(), st.sampled_from(["", " ", "\n{", "} tail", "\n```", '{"b": 2}']))
def test_text_after_the_object_is_cut(arguments, ascii_only, tail):
    written = json.dumps(arguments, ensure_ascii=ascii_only)
    assert read_arguments(f"\n {written}{tail}") == arguments
    assert read_arguments(json.dumps(written) + tail) == arguments  # escaped twice, and parsed once more


PIECES = st.sampled_from(
    ['{"a":', "{", "}", "[", "]", '"', "\\", "\\ud800", "1", "e9", "NaN", ",", ":", " ", "null", "é", "\ud800"]
)


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_text_gives_an_object_or_a_value_error(written):
    try:
        arguments = read_arguments(written)
    except ValueError as error:
        assert str(error)
    else:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()


def test_arguments_that_are_not_json_are_kept_raw():
    assert parsed('{"a": nope}') == {"raw": '{"a": nope}'}
    assert parsed("print(1)") == {"raw": "print(1)"}
    assert parsed("[1]") == {"raw": "[1]"}
    assert parsed('{"city": "北京", "n": {"b": 1}}') == {"city": "北京", "n": {"b": 1}}
    (cut,) = hs.parse(CALL.format('{"a": {"b"').removesuffix("<|call|>")).tool_calls
    assert (cut.complete, cut.parsed_arguments) == (False, {"raw": '{"a": {"b"'})


@pytest.mark.parametrize("written", ["", " \n", '""', '" "'])
def test_no_text_is_no_arguments(written):
    assert read_arguments(written) == {}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("[1]", "must be a JSON object, not an array"),
        ("null", "must be a JSON object, not null"),
        ("true", "must be a JSON object, not a boolean"),
        ("3", "must be a JSON object, not a number"),
        ('"[1.5]"', "must be a JSON object, not an array"),
        ('"\\"{}\\""', "must be a JSON object, not a string"),
        ('{"a": nope}', "are not JSON: Expecting value at character 6"),
        ('{"a": NaN}', "are not JSON: NaN is not a JSON number"),
        ('{"a": -Infinity}', "are not JSON: -Infinity is not a JSON number"),
        ('{"a": 1e999}', "is too large"),
        ('{"a": %s}' % ("1" * (MAX_DIGITS + 1)), "more than 1000 digits"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("word", "are not JSON"),
    ],
)
def test_what_is_no_object_is_named(written, message):
    with pytest.raises(ValueError, match=message):
        read_arguments(written)


def test_strings_can_be_encoded_and_may_hold_control_characters():
    assert read_arguments('{"a": "\\ud800 \\ud83d\\ude00"}') == {"a": "\ufffd \U0001f600"}
    assert read_arguments('{"\ud800": 1}') == {"\ufffd": 1}
    assert read_arguments('{"a": "x\ny\tz"}') == {"a": "x\ny\tz"}
