"""A declared name with more around it is found, in every row; what has no declared name in it stays as it is."""

from __future__ import annotations

import json
import random
import re

import pytest
from reference_names import find_name, unquoted
from test_family_calls import FORMS

import harmonystream as hs

TOOLS = ("f", "tool", "tools_list", "get_weather", "function_f")
NAMES = (*TOOLS, "g", "list", "weather")
BEFORE = (
    "",
    "",
    "functions.",
    "function.",
    "tools.",
    "tool:",
    "functions_",
    "tool-",
    "functions/",
    "Functions.",
    "mcp.",
)
AFTER = ("", "", "_", ".", ":")
OF_RECIPIENTS = ("(", "()", ")", "((")
HEADER = "<|channel|>commentary to={} <|constrain|>json<|message|>{{}}<|call|>"
IDS = "<|tool_call_begin|>{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
OBJECT = '<tool_call>\n{{"name": {}, "arguments": {{}}}}\n</tool_call>'
SEED = 20261127


def names(dice: random.Random, count: int, recipients: bool = False) -> list[str]:
    """recipients: also quotes and parentheses, which tag formats do not take for a part of a name."""
    made = set()
    while len(made) < count:
        name = dice.choice(NAMES)
        name = name if dice.random() < 0.8 else f"{name}:{dice.choice(NAMES)}"
        name = dice.choice(BEFORE) + name + dice.choice(AFTER)
        if recipients and dice.random() < 0.5:
            name += dice.choice(OF_RECIPIENTS)
        quote = dice.choice(("", "", '"', "'", "`")) if recipients else ""
        made.add(f"{quote}{name}{quote}")
    return sorted(made)


def called(row: str, text: str, size: int) -> list[tuple[str, bool]]:
    """The names of the calls, and whether a name was misspelt."""
    parser = hs.Parser(row, tools=TOOLS)
    events = [event for at in range(0, len(text), size) for event in parser.feed_text(text[at : at + size])]
    events += parser.finish("stop")
    mended = any(code == "misspelt-name" for code, _ in parser.deviations)
    return [(event.name, mended) for event in events if isinstance(event, hs.ToolCallStart)]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_names_of_objects(size: int):
    for name in names(random.Random(SEED), 400):
        found = "" if name in TOOLS else find_name(name, TOOLS)
        assert called("hermes", OBJECT.format(json.dumps(name)), size) == [(found or name, bool(found))], name


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_recipients(size: int):
    for name in names(random.Random(SEED), 400, recipients=True):
        usual = name.removeprefix("functions.")
        found = "" if usual in TOOLS else find_name(unquoted(name), TOOLS)
        assert called("harmony", HEADER.format(name), size) == [(found or usual, bool(found))], name


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_ids(size: int):
    dice = random.Random(SEED)
    for name in names(dice, 400):
        id = name + dice.choice(["", ":0", "_2", "7", ":call"])
        usual = re.sub(r":[0-9]+\Z", "", id.removeprefix("functions."))
        found = "" if usual in TOOLS else find_name(id, TOOLS, numbered=True)
        calls = called("kimi_k2", IDS.format(id), size)
        assert calls == ([(found, True)] if found else [(usual or id, False)]), id


@pytest.mark.parametrize("row", [row for row in FORMS if row != "kimi_k2"])
def test_every_row_finds_the_name(row: str):
    """Also where only a declared name makes a call of what may be prose."""
    for written in ("function.f", "tools:get_weather", "tool-tools_list"):
        text = FORMS[row].render([(written, {"s": "x"})], "")
        name = re.split("[.:-]", written)[1]
        for size in (1, 1000):
            assert called(row, text, size) == [(name, True)], text
