"""Calls with an object whose keys are bare (docs/tags.md, 5): what a template writes comes back."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from broken_calls import OPTIONS, parts_of
from fuzz import targets
from hypothesis import given
from hypothesis import strategies as st
from tag_cases import read
from tag_streams import tokens

import harmonystream as hs

QUOTES = {"gemma4": '<|"|>', "functiongemma": "<escape>"}
SECTIONS = {
    "gemma4": ("<|tool_call>call:", "<tool_call|>"),
    "functiongemma": ("<start_function_call>call:", "<end_function_call>"),
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['"', "\\", "'", "{k:1}", "[1,", ",", "a\nb", "<", "<|", '|"|>', "<escape", "call:f{", "\\u00e9", "null", "5"]
)
KEYS = st.text("abcXYZ_-.$/@ é日", min_size=1, max_size=8).map(str.strip).filter(bool)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def written(value: Any, quote: str) -> str:
    """As the models' chat templates write it."""
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{written(item, quote)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, quote) for item in value) + "]"
    return json.dumps(value)


@pytest.mark.parametrize("name", QUOTES)
@given(arguments=st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_a_template_writes_comes_back(name: str, arguments: dict[str, Any]):
    opener, closer = SECTIONS[name]
    stream = f"{opener}f{written(arguments, QUOTES[name])}{closer}"
    some = tokens(name)
    for done in (hs.parse(stream, name), hs.parse(some.encode(stream.encode()), name, vocab=some.vocab)):
        (call,) = done.tool_calls
        assert (call.name, call.complete) == ("f", True)
        assert json.loads(call.arguments) == arguments
        assert done.deviations == ()
        assert (done.reasoning, done.content) == ("", "")


def arguments(inside: str, codes: tuple[str, ...] = (), **options: Any) -> Any:
    """Of the only call, with what is between its brackets."""
    reasoning, content, calls, noted = read("gemma4", f"<|tool_call>call:f{{{inside}}}<tool_call|>", **options)
    assert (reasoning, content, noted) == ("", "", list(codes))
    ((name, text),) = calls
    assert name == "f"
    return json.loads(text)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        *(("k", "k"), ("a b ", "a b"), ("$a/b", "$a/b"), ("k" * 256, "k" * 256), ("'it is'", "it is"), ('"k"', "k")),
        *(('<|"|>k<|"|>', "k"), ('<|"|>a:"b\\<|"|> ', 'a:"b\\')),
    ],
)
def test_keys(key: str, name: str):
    assert arguments(f"{key}:1") == {name: 1}
    assert arguments(f"o:{{{key}:1}}") == {"o": {name: 1}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k" * 257 + ":1", "k" * 257 + ":1"),
        ("f(x):1", "f(x):1"),
        ("x", "x"),
        ('<|"|>a\n<|"|>', "a\n"),
        ("[1]", [1]),
    ],
)
def test_what_has_no_key_has_its_number(text: str, value: Any):
    """The key is made up, so the call is not complete."""
    literal = text[0] in "<["
    done = hs.parse(f"<|tool_call>call:f{{{text}}}<tool_call|>", "gemma4")
    (call,) = done.tool_calls
    assert (json.loads(call.arguments), call.complete) == ({"0": value}, False)
    assert [code for code, _ in done.deviations] == ["call-syntax"] * (2 - literal)


@pytest.mark.parametrize("text", ["nan", "New York", "1 + 2", "x.y", "f(1)", "-", "it's", ")"])
def test_what_is_no_literal_is_a_string_of_its_text(text: str):
    assert arguments(f"k:{text},l:[{text} ]", ("call-syntax",) * 2) == {"k": text, "l": [text]}


PARTS = (
    "`",
    "```",
    "'",
    '"',
    ",",
    ", ",
    ":",
    "a:",
    "b:",
    "{",
    "}",
    "[",
    "]",
    " ",
    "\\",
    "\n",
    "1",
    "true",
    "Paris",
    "$",
    "日",
)


@pytest.mark.parametrize("text", ["a", "b {\n x: y; }", "it's", 'a "b", c', "x, y", "", "{", "日"])
def test_backquotes_are_quotes(text: str):
    """Gemma 4 writes code between them."""
    assert arguments(f"k:`{text}`,n:[`{text}`,1]", ("call-syntax",) * 2) == {"k": text, "n": [text, 1]}


@pytest.mark.parametrize("name", QUOTES)
def test_a_key_that_is_made_up_is_no_argument(name: str):
    """A comma in a value that has no quotes: a part of the value has a number as its key."""
    before, after = SECTIONS[name]
    for inside, complete in (("city:Paris, France,days:3", False), ("city:Paris,days:3", True)):
        (call,) = hs.parse(f"{before}f{{{inside}}}{after}", name).tool_calls
        assert call.complete == complete


def test_what_is_between_brackets_is_read_as_specified():
    dice = random.Random(19)
    for _ in range(400):
        name = dice.choice(tuple(QUOTES))
        before, after = SECTIONS[name]
        parts = [dice.choice((*PARTS, "a:", "`", QUOTES[name])) for _ in range(dice.randrange(14))]
        text = before + "f{" + "".join(parts) + dice.choice(("}", "", "`}")) + dice.choice((after, after, "", "\nBye"))
        case = {"row": name, "how": dice.choice(("text", "control", "plain", "split")), "stream": parts_of(name, text)}
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)


def test_a_string_in_backquotes_moves_between_processes():
    text = "<|tool_call>call:f{a:`b`,c:`d e`}<tool_call|>"
    whole = hs.parse(text, "gemma4", tools=["f"])
    for at in range(1, len(text)):
        parser = hs.Parser("gemma4", tools=["f"])
        events = [*parser.feed_text(text[:at])]
        moved = hs.Parser.from_bytes(parser.to_bytes(), format="gemma4", tools=["f"])
        events += [*moved.feed_text(text[at:]), *moved.finish("stop")]
        said = "".join(one.arguments for one in events if isinstance(one, hs.ToolCallDelta))
        assert said == whole.tool_calls[0].arguments
