"""Regular expressions as the texts that they match."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.formats.patterns import LONGEST, Group, Layout, read_ahead, read_literal, read_pattern

SPACE, END, NAME = Layout.SPACE, Layout.END, Group("name")


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"</think>\s*", [("</think>", SPACE)]),
        (r"<\|im_end\|>", [("<|im_end|>",)]),
        (r"(?:<turn\|>|<eos>)\s*|$", [("<turn|>", SPACE), ("<eos>", SPACE), (END,)]),
        (r"<tool_call>\s*<function=(?P<name>[^\n>]+)>", [("<tool_call>", SPACE, "<function=", NAME, ">")]),
        (r"<tool_call>(?P<name>\S+?)\n?", [("<tool_call>", NAME, SPACE)]),
        (r"a>\n\s+b", [("a>", SPACE, "b")]),
        ("a>\nb", [("a>", SPACE, "b")]),
        ("thought\n", [("thought\n",)]),
        (r"colou?r", [("colour",), ("color",)]),
        (r"(?:a|b)?c", [("ac",), ("bc",), ("c",)]),
        (r"\{\}\/\.\t", [("{}/.", SPACE)]),
        ("", [()]),
    ],
)
def test_a_pattern_is_its_texts(pattern, texts):
    assert read_pattern(pattern, "x") == texts


@pytest.mark.parametrize("pattern", ["a.b", "[ab]", r"\w+", "a*", "a{2}", "(a)", "^a", r"a\b", "(?=a)", "(?!a)", r"\1"])
def test_what_matches_other_texts_is_refused(pattern):
    with pytest.raises(hs.errors.FormatError, match=r"^x: .* is not a fixed text, so no Format can have it$"):
        read_pattern(pattern, "x")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?:a", "a group without its end"),
        ("a)", "not a fixed text"),
        ("a\\", "not a fixed text"),
        ("(?P<n>a|b)", "a group of more than one kind of character"),
        ("(?P<n>.*", "a group of more than one kind of character"),
        ("(?:a|b)" * 5, "more than 16 texts"),
        ("|".join("abcdefghijklmnopq"), "more than 16 texts"),
        ("(?:" * 40, "nested too deeply"),
    ],
)
def test_what_is_refused_says_why(pattern, why):
    with pytest.raises(hs.errors.FormatError, match=re.escape(why)):
        read_pattern(pattern, "x")


def test_a_pattern_has_a_bound():
    assert read_pattern("a" * LONGEST, "x") == [("a" * LONGEST,)]
    with pytest.raises(hs.errors.FormatError, match=r"^x has 1,025 characters; at most 1,024 are read$"):
        read_pattern("a" * (LONGEST + 1), "x")
    with pytest.raises(hs.errors.FormatError, match=r"^x has 1,000,000 characters; at most 1,024 are read$"):
        read_literal(" " * 1_000_000, "x")
    assert read_ahead("(?=.*" + "a" * LONGEST + ")", "x") is None


def test_an_opener_that_waits():
    assert read_ahead(r"(?=[\s\S]*?</think>)", "x") == [("</think>",)]
    assert read_ahead("</think>", "x") is None


def test_layout_of_literals():
    assert read_literal("<a>\n", "x") == ("<a>", SPACE)
    assert read_literal("\n <a> b <c>\n\n<d>", "x") == (SPACE, "<a> b <c>", SPACE, "<d>")
    assert read_literal("<c>thought\n", "x") == ("<c>thought\n",)


PLAIN = st.text(alphabet="ab<>|.?*+()[]{}$^\\", min_size=1, max_size=4).map(lambda text: (re.escape(text), {text}))


def both(first, second):
    return first[0] + second[0], {a + b for a in first[1] for b in second[1]}


PATTERNS = st.recursive(
    PLAIN,
    lambda inner: (
        st.builds(both, inner, inner)
        | st.builds(lambda a, b: (f"(?:{a[0]}|{b[0]})", a[1] | b[1]), inner, inner)
        | inner.map(lambda a: (f"(?:{a[0]})?", a[1] | {""}))
    ),
    max_leaves=6,
)


@given(PATTERNS)
def test_what_is_read_is_what_python_s_engine_matches(made):
    pattern, texts = made
    try:
        read = read_pattern(pattern, "x")
    except hs.errors.FormatError as error:
        assert "more than 16 texts" in str(error)
        return
    assert {"".join(text) for text in read} == texts
    assert all(re.fullmatch(pattern, text) for text in texts)


@given(st.text(alphabet=r"ab<|\.?*+()[]{}$^:P=!sn ", max_size=24))
def test_any_text_is_read_or_refused(pattern):
    try:
        assert 1 <= len(read_pattern(pattern, "x")) <= 16
    except hs.errors.FormatError as error:
        assert str(error).startswith("x: ")
