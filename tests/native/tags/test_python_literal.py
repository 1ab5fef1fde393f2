"""Python literals that are read where JSON belongs, against ast.literal_eval."""

from __future__ import annotations

import ast
import warnings

from hypothesis import given
from hypothesis import strategies as st
from json_texts import CONTAINERS, DOCUMENTS, SCRAPS, SPACES, is_json, strict
from native_values import fits, transcode


def whole(text):
    """Surrogate pairs as characters, and U+FFFD for halves."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def evaluated(literal):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that are none
        return ast.literal_eval(literal)


def as_json(value):
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {whole(key): as_json(item) for key, item in value.items()}
    return whole(value) if isinstance(value, str) else value


ESCAPED = ["\\n", "\\\\", "\\'", '\\"', "\\a", "\\v", "\\0", "\\7", "\\101", "\\377", "\\x41", "\\xe9", "\\u00e9"]
ESCAPED += ["\\u0000", "\\ud83d", "\\uDE00", "\\U0001F600", "\\U0000d83d", "\\U0000dE00", "\\\n", "a", "é", "😀", "\t"]
ESCAPED += ["\x01", "#", "(", ",", "\\\\n"]


@st.composite
def python_strings(draw):
    quote = draw(st.sampled_from("\"'"))
    other = "'" if quote == '"' else '"'
    return quote + "".join(draw(st.lists(st.sampled_from([*ESCAPED, other]), max_size=6))) + quote


def spread(draw, opener, parts, closer):
    """A container with whitespace where it may be, and perhaps a last comma."""
    spaces = st.sampled_from(["", "", " ", "\n", "\t ", "\f"])
    comma = "," if parts and (draw(st.booleans()) or (opener == "(" and len(parts) == 1)) else ""
    inside = ",".join(draw(spaces) + part + draw(spaces) for part in parts)
    return opener + inside + comma + draw(spaces) + closer


@st.composite
def containers(draw, inner):
    if draw(st.booleans()):
        opener, closer = draw(st.sampled_from(["[]", "()"]))
        return spread(draw, opener, draw(st.lists(inner, max_size=3)), closer)
    pairs = draw(st.lists(st.tuples(python_strings(), inner), max_size=3))
    return spread(draw, "{", [f"{key}: {value}" for key, value in pairs], "}")


SCALARS = st.sampled_from(["None", "True", "False", "0", "-1", "1.50", "1e3", "-2.5E-1"]) | python_strings()
LITERALS = containers(st.recursive(SCALARS, containers, max_leaves=8))


@given(LITERALS, SPACES, SPACES)
def test_python_literals_are_converted(literal, before, after):
    result = transcode(before + literal + after, CONTAINERS)
    assert fits(literal, CONTAINERS)
    assert as_json(strict(result)) == as_json(evaluated(literal))  # JSON with half a pair passes as it is
    result.encode()  # valid UTF-8


@given(DOCUMENTS.filter(lambda value: isinstance(value, (list, dict))))
def test_the_repr_of_a_value_is_the_value(value):
    assert strict(transcode(repr(value), CONTAINERS)) == value


@given(SCRAPS)
def test_what_is_converted_means_what_python_says(scraps):
    for text in (f"[{scraps}]", f"({scraps})", f"{{{scraps}}}"):
        result = transcode(text, CONTAINERS)
        if fits(text, CONTAINERS) and not is_json(text):
            assert strict(result) == as_json(evaluated(text))


def test_a_backslash_that_escapes_nothing_stays():
    assert transcode(r"['\d\/\w+\(']", ["array"]) == r'["\\d\\/\\w+\\("]'
    assert transcode("['a\\\r\nb\\\rc']", ["array"]) == '["abc"]'
