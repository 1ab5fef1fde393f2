"""An object whose call has a name without one of its quotes, or with others (docs/tags.md, 5)."""

from __future__ import annotations

import random

import pytest
from broken_calls import OPTIONS, check_every_cut, parts_of
from fuzz import targets
from test_name_aliases import TOOLS, WRAPPED, around, keys, random_stream, read

import harmonystream as hs

FORMS = ('"{}, ', '"{} ,\n', "{}, ", "{}\n, ", '{}", ', "'{}', ", "'{}\" ,", "`{}`, ")
ARGUMENTS = '{"x": 1, "name": "g"}'


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("form", FORMS)
def test_a_declared_name_is_read(name, form):
    before, after = around(name)
    named, key = keys(name)
    for tool in ("f", "get_weather"):
        start = f'{{"{named}": ' if name != "apertus" or form[0] == '"' else f'{{"id": "1", "{named}": '
        text = f'{before}{start}{form.format(tool)}"{key}": {ARGUMENTS}}}{after}'
        assert read(text, name, ["f", "get_weather"]) == [(tool, ARGUMENTS, True)], text
        assert [code for code, _ in hs.parse(text, name, tools=[tool]).deviations] == ["missing-opener"]
        assert read(text, name, ["g"]) == [] or name == "apertus", text


def test_they_are_read_as_specified():
    dice = random.Random(37)
    for _ in range(1500):
        name = dice.choice(WRAPPED)
        stream = without_quotes(dice, random_stream(dice, name))
        case = {"row": name, "how": dice.choice(("text", "control", "plain", "split"))}
        case |= {"stream": parts_of(name, stream), "tools": dice.choice(list(TOOLS))}
        targets.check("tagpage", case | OPTIONS | {"reason": dice.choice((None, "stop", "length"))})


def without_quotes(dice: random.Random, text: str) -> str:
    for quoted in ('"f"', '"g"'):
        while dice.randrange(2) and quoted in text:
            text = text.replace(quoted, dice.choice(FORMS).format(quoted[1]).rstrip(" \n,"), 1)
    return text


def test_every_cut_gives_the_same_and_so_does_a_parser_that_moves():
    dice = random.Random(41)
    for name in WRAPPED * 3:
        text, tools = without_quotes(dice, random_stream(dice, name)), TOOLS[dice.choice(list(TOOLS))]
        check_every_cut(name, text, tools)
