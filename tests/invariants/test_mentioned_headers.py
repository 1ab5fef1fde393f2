"""A header that a sentence mentions opens a call. A call that comes after it is read anyway (docs/tags.md, 5)."""

from __future__ import annotations

import random

import pytest
from broken_calls import OPTIONS, calls_of, changed, check_every_cut, parts_of, row_of
from fuzz import targets
from fuzz.rows import TOOLS
from random_tags import first
from reference_tags_text import may_lack
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs

RAW = [name for name in TAG_FORMATS if (row := row_of(name)).call and not row.pair and not row.element]
CLOSED = [name for name in RAW if not may_lack(row_of(name).call[2])]  # type: ignore[index]


def header_of(name: str) -> str:
    row = row_of(name)
    assert row.call is not None
    return first(row.call[0]) + ("functions.f:0" if row.name_as == "id" else "f") + first(row.call[1])


@pytest.mark.parametrize("between", [" in text.", " in text.\n", "``", '"x": 1}', "}", "5"])
@pytest.mark.parametrize("name", CLOSED)
def test_the_call_after_it_is_read(name: str, between: str) -> None:
    row = row_of(name)
    assert row.call is not None
    before, after = (first(one) for one in row.section or ("", ""))
    for begun in ("", before):
        text = f'Use {begun}{header_of(name)}{between}{before}{header_of(name)}{{"x": 1}}{first(row.call[2])}{after}'
        some = tokens(name, "added")
        for stream, vocab in ((text, None), (some.encode(text.encode()), some.vocab)):
            found = hs.parse(stream, name, vocab=vocab, tools=["f"], finish_reason="stop")
            calls = [(call.arguments, call.complete) for call in found.tool_calls]
            assert calls[1:] == [('{"x": 1}', True)] and not calls[0][1], (text, found)
        check_every_cut(name, text, ["f"], step=3)


def test_bodies_are_read_as_specified() -> None:
    dice = random.Random(61)
    for _ in range(1500):
        name = dice.choice(CLOSED)
        row, calls = row_of(name), calls_of(name)
        marks = [one for part in (row.section or (), row.call or ()) for one in map(first, part) if one]
        words = [
            *marks,
            header_of(name),
            " in text. ",
            '{"x": 1}',
            "[1",
            "5",
            "\n",
            "```",
            "`",
            '"a',
            '{"x": "',
            "}",
            "é",
        ]
        if dice.random() < 0.5:
            text = "".join(dice.choice(words) for _ in range(dice.randrange(1, 10)))
        else:
            text = changed(dice, dice.choice(calls), dice.randrange(6)) + dice.choice(words) + dice.choice(calls)
        text = dice.choice(("Use ", "")) + dice.choice((header_of(name), "")) + text
        case = {"row": name, "how": dice.choice(("text", "control", "plain", "split")), "stream": parts_of(name, text)}
        case |= OPTIONS | {"tools": dice.choice(list(TOOLS)), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case)
