"""An object as Python prints it, {'name': 'f', 'arguments': {…}}, is a call (docs/tags.md, 5)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from broken_calls import changed, check_every_cut
from test_name_aliases import TOOLS, WRAPPED, around, check_as_specified, keys, random_stream, read

import harmonystream as hs

TEXTS = (
    "one",
    "it's",
    'a "b"',
    "'\"",
    "",
    "é😀",
    "a\nb\t\\",
    "}, {",
    "</tool_call>",
    "True",
    "\x7f\xa0",
    "long " * 300,
)


def value(dice: random.Random, depth: int = 0) -> Any:
    kind = dice.randrange(9 if depth < 3 else 6)
    if kind == 6:
        return [value(dice, depth + 1) for _ in range(dice.randrange(3))]
    if kind == 7:
        return tuple(value(dice, depth + 1) for _ in range(dice.randrange(3)))
    if kind == 8:
        return members(dice, depth + 1)
    return dice.choice(
        [dice.choice(TEXTS), dice.choice(TEXTS), None, True, False, dice.randint(-99, 10**20), 1.5, 1e-9]
    )


def members(dice: random.Random, depth: int = 0) -> dict[str, Any]:
    return {dice.choice(["x", "city", "it's", "é"]): value(dice, depth) for _ in range(dice.randrange(4))}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_python_prints_is_read_as_json_would_be(name):
    dice = random.Random(name)
    before, after = around(name)
    named, key = keys(name)
    for _ in range(40):
        arguments = members(dice)
        call = {named: "f", key: arguments} if named != "f" else {"f": arguments}
        text = f"{before}{call!r}{after}"
        ((tool, found, complete),) = read(text, name, ["f"])
        assert (tool, json.loads(found), complete) == ("f", json.loads(json.dumps(arguments)), True), text
        assert [code for code, _ in hs.parse(text, name, tools=["f"]).deviations] == ["call-syntax"], text


def test_they_are_read_as_specified():
    dice = random.Random(47)
    for _ in range(1500):
        check_as_specified(dice, printed)


def printed(dice: random.Random, name: str) -> str:
    """A stream with objects as Python prints them, mostly as it should be."""
    before, after = around(name)
    named, key = keys(name)
    call = {named: dice.choice("fg"), key: members(dice), **dice.choice([{}, {"id": "a'b"}, {"n": None}])}
    items = list(call.items())
    dice.shuffle(items)
    text = random_stream(dice, name).replace('"', "'") if dice.randrange(3) == 0 else repr(dict(items))
    if dice.randrange(2) and text:
        text = changed(dice, text + "'", dice.randrange(3))
    return f"{before}{text}{after}{dice.choice(['', ' Hi.', before])}"


def test_every_cut_gives_the_same_and_so_does_a_parser_that_moves():
    dice = random.Random(53)
    for name in WRAPPED * 2:
        check_every_cut(name, printed(dice, name), TOOLS[dice.choice(list(TOOLS))])
