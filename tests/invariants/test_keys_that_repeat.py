"""A key that a call has twice: both are written, in order, and a reader of JSON takes the last (docs/formats.md)."""

from __future__ import annotations

import json
import random

import pytest
from broken_calls import OPTIONS, check_every_cut, parts_of, row_of
from fuzz import targets
from random_tags import first
from tag_streams import TAG_FORMATS
from test_name_aliases import WRAPPED, around
from test_name_aliases import keys as keys_of

import harmonystream as hs

TAGGED = [name for name in TAG_FORMATS if row_of(name).call and (row_of(name).pair or row_of(name).element)]
WRITTEN = [name for name in TAG_FORMATS if row_of(name).body != "json"]
KEYS = ("a", "a", "b")
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {key: {"type": "string"} for key in KEYS}}}
Pairs = list[tuple[str, str]]


def tagged(name: str, pairs: Pairs) -> str:
    row = row_of(name)
    assert row.call
    text = ""
    for key, value in pairs:
        if row.pair:
            text += first(row.pair[0]) + key + first(row.pair[1]) + first(row.pair[2]) + value + first(row.pair[3])
        elif row.element:
            tag, end, close = map(first, row.element)
            text += f"{tag}{key}{end}{value}{close}{key}{end}"
    before, after = (first(one) for one in row.section or ("", ""))
    return f"{before}{first(row.call[0])}f{first(row.call[1])}{text}{first(row.call[2])}{after}"


def wrapped(name: str, pairs: Pairs) -> str:
    (named, key), (before, after) = keys_of(name), around(name)
    members = ", ".join(f"{json.dumps(one)}: {json.dumps(value)}" for one, value in pairs)
    return f'{before}{{"{named}": "f", "{key}": {{{members}}}}}{after}'


def written(name: str, pairs: Pairs) -> str:
    row = row_of(name)
    before, after = (first(one) for one in row.section or ("", ""))
    if row.body == "python":
        return f"{before}[f({', '.join(f'{key}={value!r}' for key, value in pairs)})]{after}"
    quote = first(row.quote)
    return f"{before}call:f{{{','.join(f'{key}:{quote}{value}{quote}' for key, value in pairs)}}}{after}"


CASES = [(name, tagged) for name in TAGGED] + [(name, wrapped) for name in WRAPPED]
CASES += [(name, written) for name in WRITTEN]


def random_pairs(dice: random.Random) -> Pairs:
    values = ["one", "two", "three words", "4"]
    return [("a", "one"), *((dice.choice(KEYS), dice.choice(values)) for _ in range(dice.randrange(1, 5)))]


@pytest.mark.parametrize(("name", "render"), CASES)
def test_both_are_written_and_the_last_counts(name, render):
    dice = random.Random(43)
    for _ in range(5):
        pairs = random_pairs(dice)
        text = render(name, pairs)
        (call,) = hs.parse(text, name, tools=[TOOL]).tool_calls
        assert (json.loads(call.arguments, object_pairs_hook=list), call.complete) == (pairs, True), text
        assert call.parsed_arguments == dict(pairs)
        check_every_cut(name, text, [TOOL], step=3)


def test_they_are_read_as_specified():
    dice = random.Random(47)
    for _ in range(300):
        name, render = dice.choice(CASES)
        text = render(name, random_pairs(dice))
        case = {"row": name, "how": dice.choice(("text", "control", "plain")), "stream": parts_of(name, text)}
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)
