"""Whole calls of each row, and what a model makes of them that loses or doubles a mark."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from fuzz import rows
from random_tags import first
from reference_tags_text import aliases, holds_objects, may_lack
from streams import as_tuple, merge

import harmonystream as hs
from harmonystream.formats import Format, format_of

MARKS = "\"'{}[]()"
CHANGED = MARKS + "<>|=:,/"


def row_of(name: str) -> Format:
    row = format_of(name)
    assert isinstance(row, Format)
    return row


def json_calls(row: Format) -> Iterator[str]:
    """Arguments as JSON, in an object with the name, or after a header."""
    for body in ('{"x": "one"}', '{"x": {"a": [1, "b"]}}'):
        section = [first(one) for one in row.section] if row.section else ["", ""]
        tags = [first(row.call[0]), first(row.call[2])] if row.call else ["", ""]
        if row.wrapped:
            inner = tags if not row.section or holds_objects(row) else ["", ""]
            keys = {says: key for key, says in reversed(list(row.members.items()))}
            named = f'{{"{keys["name"]}": "f", "{keys["arguments"]}": {body}}}' if "name" in keys else ""
            said = f'{{"f": {body}}}' if row.members == {"*": "call"} else named
            if section[0] + inner[0]:
                yield section[0] + inner[0] + said + inner[1] + section[1]
        if row.call and not row.pair and not row.element:
            yield section[0] + tags[0] + "f" + first(row.call[1]) + body + tags[1] + section[1]


def written_calls(row: Format) -> Iterator[str]:
    """Strings in each kind of quotes."""
    section = [first(one) for one in row.section or ()]
    bodies = ["[f(x='one')]", '[f(x="one", y=[1, 2])]', "[f(x={'a': 'b'})]"] if row.body == "python" else []
    for quote in (first(row.quote), '"') if row.body == "object" else ():
        bodies += [f"call:f{{x:{quote}one{quote}}}", f"call:f{{x:{{a:{quote}b{quote}}},y:[1,2]}}"]
    for body in bodies:
        yield section[0] + body + next(one for one in (section[1], "<|python_end|>") if one)


def tagged_calls(row: Format) -> Iterator[str]:
    """A value between tags."""
    if row.call and (row.pair or row.element):
        pair, tag = row.pair, row.element
        section = [first(one) for one in row.section] if row.section else ["", ""]
        value = first(pair[0]) + "x" + first(pair[1]) + first(pair[2]) + "one" + first(pair[3]) if pair else ""
        if tag:
            value = first(tag[0]) + "x" + first(tag[1]) + "one" + first(tag[2]) + "x" + first(tag[1])
        yield section[0] + first(row.call[0]) + "f" + first(row.call[1]) + value + first(row.call[2]) + section[1]


def calls_of(name: str) -> list[str]:
    row = row_of(name)
    found = [*json_calls(row), *written_calls(row), *tagged_calls(row)]
    return [
        call for call in dict.fromkeys(found) if [one.complete for one in hs.parse(call, name).tool_calls] == [True]
    ]


def before_closers(name: str, call: str) -> int:
    """Where the markers begin that close the call."""
    row = row_of(name)
    closers = [aliases(one) for one in (row.call and row.call[2], row.section and row.section[1]) if one]
    stop = len(call)
    while found := next((one for some in closers for one in some if call[:stop].endswith(one)), None):
        stop -= len(found)
    return stop


def lacks_a_closer(name: str) -> bool:
    row = row_of(name)
    return may_lack(row.section[1] if row.section else row.call and row.call[2])


def slips(call: str) -> Iterator[str]:
    """A mark is missing or doubled, at each place."""
    for at, char in enumerate(call):
        if char in MARKS:
            yield call[:at] + call[at + 1 :]
            yield call[:at] + char + call[at:]


def changed(dice: random.Random, call: str, times: int) -> str:
    """A mark is missing, doubled or another, so many times."""
    for _ in range(times):
        at = dice.choice([at for at, char in enumerate(call) if char in CHANGED])
        how = dice.randrange(3)
        other = dice.choice(CHANGED + " \nx") if how == 2 else call[at] * 2 if how else ""
        call = call[:at] + other + call[at + 1 :]
    return call


OPTIONS = {"start": "auto", "empty_args": "{}", "trim": "seams", "max_hold": 1 << 20}


def parts_of(name: str, text: str) -> list[bytes]:
    """Its markers, and the bytes between them."""
    markers = sorted(map(re.escape, rows.built_in(name).markers), key=len, reverse=True)
    return re.findall(b"|".join([*markers, b"."]), text.encode(), re.DOTALL)


def check_every_cut(name: str, text: str, tools: list[Any] | None, step: int = 1) -> None:
    """Cut at every place, or at every `step`-th, and moved there as a blob, a parser reads the same as of the whole."""
    whole = hs.Parser(name, tools=tools)
    events = merge(map(as_tuple, [*whole.feed_text(text), *whole.finish("stop")]))
    for at in range(1, len(text), step):
        parser = hs.Parser(name, tools=tools)
        found = list(parser.feed_text(text[:at]))
        parser = hs.Parser.from_bytes(parser.to_bytes(), tools=tools)
        found += [*parser.feed_text(text[at:]), *parser.finish("stop")]
        assert merge(map(as_tuple, found)) == events, (name, text, at)
        assert (parser.deviations, parser.usage) == (whole.deviations, whole.usage), (name, text, at)
