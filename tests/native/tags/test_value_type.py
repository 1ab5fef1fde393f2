"""The type of a value as a word between tags: it is read as a schema's type is."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream._schema import _SPOKEN, TYPES
from harmonystream.formats import format_of

SHAPES = ("int32", "list[str]", "dict<string, int>", "string[]", "foo[]", "varchar(20)", "str[2]", "LONG", "Float")
OTHERS = ("", "any", "foo", "int-32", "strings", "nonetyped", "x" * 17, "é", "inté", "[]", "<a", "5", "in", "ar")
VALUES = ("5", "1.50", "true", "null", '{"a": 1}', "[1]", "x", "", "abc")


def call(value: str, word: str | None = None) -> str:
    said = "" if word is None else f"<ifm|arg_type>{word}</ifm|arg_type>\n"
    key = f"<ifm|arg_key>k</ifm|arg_key>\n{said}<ifm|arg_value>{value}</ifm|arg_value>"
    return f"<ifm|tool_calls><ifm|tool_call>f{key}</ifm|tool_call></ifm|tool_calls>"


def arguments(output: str, schema: dict[str, object]) -> str:
    tools = [{"name": "f", "parameters": {"properties": {"k": schema}}}]
    (made,) = hs.parse(output, "k2_horizon", tools=tools).tool_calls
    return made.arguments


@pytest.mark.parametrize("word", [*TYPES, *_SPOKEN, *SHAPES, *OTHERS])
def test_a_word_means_what_it_means_in_a_schema(word):
    for value in VALUES:
        for spelt in (word, f" {word}\n", word.upper()):
            assert arguments(call(value, spelt), {}) == arguments(call(value), {"type": spelt.strip()})


@pytest.mark.parametrize("word", list(TYPES))
@pytest.mark.parametrize("declared", [["string"], ["integer"], ["integer", "string"], ["string", "object", "null"]])
def test_the_schema_comes_first(word, declared):
    for value in VALUES:
        chosen = [word] if word in declared else declared
        assert arguments(call(value, word), {"type": declared}) == arguments(call(value), {"type": chosen})


def test_half_a_type():
    """A key whose type is broken is none."""
    broken = call("5", "integer").replace("</ifm|arg_type>", "")
    assert arguments(broken, {}) == ""
    done = hs.parse(call("5").replace("</ifm|arg_key>", "</ifm|arg_key><ifm|arg_type>"), "k2_horizon")
    assert [deviation.code for deviation in done.deviations] == ["ignored-text"]
    assert (done.tool_calls[0].arguments, done.tool_calls[0].complete) == ("", False)


def test_a_row_that_cannot_have_types():
    with pytest.raises(
        hs.errors.FormatError, match="value_type needs pair, because only values between tags lack a type"
    ):
        hs.Parser(format_of("hermes")._replace(name="x", call=None, pair=None, value_type=("<type>", "</type>")))
    with pytest.raises(hs.errors.FormatError, match="value_type is None or a tuple of 2 markers"):
        hs.Parser(format_of("k2_horizon")._replace(value_type=("<type>",)))
