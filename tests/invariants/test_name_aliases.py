"""An object whose call has its name under another key, or is in an object of its own (docs/tags.md, 5)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest
from broken_calls import OPTIONS, check_every_cut, parts_of, row_of
from fuzz import targets
from random_tags import first
from reference_tags_text import holds_objects
from tag_streams import TAG_FORMATS

import harmonystream as hs
from harmonystream.formats.spec import NAME_ALIASES

WRAPPED = [name for name in TAG_FORMATS if row_of(name).wrapped]
ARGUMENTS = '{"x": 1, "name": "g", "function": {"name": "g", "arguments": {}}}'
TOOLS = {
    "unknown": None,
    "one": ["f"],
    "typed": [{"name": "f", "parameters": {"properties": {"x": {}, "function": {}, "tool": {}}}}],
}


def around(name: str) -> tuple[str, str]:
    """What comes before and after an object with a call."""
    row = row_of(name)
    before, after = (first(one) for one in row.section or ("", ""))
    if row.call and (not row.section or holds_objects(row)):
        before, after = before + first(row.call[0]), first(row.call[2]) + after
    return before, after


def aliases(name: str) -> list[str]:
    return [alias for alias in NAME_ALIASES if row_of(name).members[alias] == "alias"]


def keys(name: str) -> tuple[str, str]:
    """Those of the name and the arguments."""
    says = {what: key for key, what in reversed(row_of(name).members.items())}
    return says["name"], says["arguments"]


def objects(name: str, alias: str) -> list[str]:
    """Each has a call of f."""
    named, key = keys(name)
    return [
        f'{{"{alias}": "f", "{key}": {ARGUMENTS}}}',
        f'{{"type": "function", "{alias}": {{"{named}": "f", "{key}": {ARGUMENTS}}}}}',
        f'{{"type": "function", "{alias}": {{"{key}": {json.dumps(ARGUMENTS)}, "{named}": "f"}}}}',
        f'{{"type": "function", "{alias}": {{"{named}": "f"}}, "{key}": {ARGUMENTS}}}',
        f'{{"type": "function", "{alias}": {{"{alias}": "f", "{key}": {ARGUMENTS}}}}}',
    ]


def read(text: str, name: str, tools: list[str] | None = None) -> list[tuple[str, str, bool]]:
    return [(one.name, one.arguments, one.complete) for one in hs.parse(text, name, tools=tools).tool_calls]


@pytest.mark.parametrize("name", WRAPPED)
def test_a_name_under_another_key(name):
    before, after = around(name)
    assert len(aliases(name)) >= 3
    for alias in aliases(name):
        for text in objects(name, alias):
            assert read(before + text + after, name, ["f", alias]) == [("f", ARGUMENTS, True)], text


@pytest.mark.parametrize("name", [name for name in WRAPPED if around(name)[0]])
def test_if_the_tools_are_unknown_the_opener_and_the_arguments_after_it_make_a_call(name):
    before, after = around(name)
    for alias in aliases(name):
        for text in objects(name, alias):
            assert read(before + text + after, name) == [("f", ARGUMENTS, True)], text


@pytest.mark.parametrize("name", WRAPPED)
def test_another_key_names_no_call_by_a_wrong_value(name):
    """An alias counts if its value is a declared tool, or if the tools are unknown and no name comes before the
    arguments. Otherwise it may be an argument."""
    before, after = around(name)
    named, key = keys(name)
    for alias in aliases(name):
        other = f'{{"{alias}": "server", "{named}": "f", "{key}": {{"x": 1}}}}'
        assert read(before + other + after, name, ["f"]) == ([("f", '{"x": 1}', False)] if before else []), other
        text = f'{before}{{"{alias}": "server", "{key}": {{"x": 1}}}}{after}'
        assert read(text, name, ["f"]) == []
        text = f'{before}{{"{named}": "f", "{alias}": "server"}}{after}'
        assert read(text, name, ["f", "server"]) == [("f", f'{{"{alias}": "server"}}', True)], text
        text = f'{before}{{"{named}": "f", "{alias}": {{"{named}": "server"}}}}{after}'
        assert read(text, name, ["f", "server"]) == [("f", f'{{"{alias}": {{"{named}": "server"}}}}', True)], text


def random_object(dice: random.Random, name: str) -> str:
    named, key = keys(name)
    others = ['"id": "c1"', '"type": "function"', '"x": 1', '"y": {"a": 1}', '"tool"', "12", ""]

    def members(inner: bool) -> list[str]:
        value = dice.choice((ARGUMENTS, json.dumps(ARGUMENTS), "{}", "null", "[1", "5"))
        made = [f'"{key}": {value}'] * dice.randrange(2)
        made += [f'"{dice.choice((named, *aliases(name)))}": "{dice.choice(("f", "f", "g", "functions.f", "a b"))}"']
        made += dice.sample(others, dice.randrange(3))
        if inner:
            made += [f'"{dice.choice(aliases(name))}": {{{", ".join(members(False))}' + "}" * (dice.randrange(4) > 0)]
        return dice.sample(made, len(made))

    text = "{" + ", ".join(members(dice.randrange(3) > 0)) + dice.choice(("}", "}", "}", "", "}}"))
    return text if dice.randrange(4) else text.replace(dice.choice(text), "", 1)


def random_stream(dice: random.Random, name: str) -> str:
    before, after = around(name)
    one = "".join(random_object(dice, name) + dice.choice(("", ", ", "\n")) for _ in range(dice.choice((1, 1, 2))))
    before = dice.choice((before, before, "", f"Hi.\n{before}")) + dice.choice(("", "", "["))
    return before + one + dice.choice((after, after, "]", "")) + dice.choice(("", "\nBye."))


def check_as_specified(dice: random.Random, stream: Callable[[random.Random, str], str]) -> None:
    """Does the parser read a stream of a random row as the specification's interpreter does?"""
    name = dice.choice(WRAPPED)
    case = {"row": name, "how": dice.choice(("text", "control", "plain", "split"))}
    case |= {"stream": parts_of(name, stream(dice, name)), "tools": dice.choice(list(TOOLS))}
    case |= OPTIONS | {"reason": dice.choice((None, "stop", "length")), "max_hold": dice.choice((1024, 1 << 20))}
    targets.check("tagpage", case)


def test_they_are_read_as_specified():
    dice = random.Random(29)
    for _ in range(1500):
        check_as_specified(dice, random_stream)


def test_every_cut_gives_the_same_and_so_does_a_parser_that_moves():
    dice = random.Random(31)
    for name in WRAPPED * 3:
        text, tools = random_stream(dice, name), TOOLS[dice.choice(list(TOOLS))]
        check_every_cut(name, text, tools)


@pytest.mark.parametrize("name", [name for name in WRAPPED if around(name)[0]])
@pytest.mark.parametrize("how", ["text", "plain"])
def test_an_opener_far_before_the_byte_that_fails_is_text(name, how):
    before, after = around(name)
    for text in (
        f'{{"id": "c1", "{"y" * 1100}": 1}}',
        f'[{{"x": "{"y" * 1100}"}}',
        f'{{"tool": 5, "{"y" * 1100}": 1, ]',
    ):
        case = {"row": name, "how": how, "stream": parts_of(name, f"{before}{text}\n{after}\nBye."), "tools": "unknown"}
        targets.check("tagpage", case | OPTIONS | {"reason": None})
