"""Written calls with brackets, quotes and commas that are missing, doubled or another, at random: a call that is
complete has lost nothing."""

from __future__ import annotations

import json
import random
import re

import pytest
from broken_calls import OPTIONS, check_every_cut, parts_of, row_of
from fuzz import targets
from random_calls import Written, broken, written_calls
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs

ROWS = [name for name in TAG_FORMATS if row_of(name).body != "json"]


# Where lines are calls, `[g'1, 2), g(3)]` may be a call that ends at its second bracket, and another.
KNOWN = {"olmo3": 1}


def tools_of(dice: random.Random, written: Written) -> list[object] | None:
    """Unknown, named, or declared with all keys."""
    declared = [{"name": name, "parameters": {"properties": {key: {} for key in written.keys}}} for name in "fh"]
    return dice.choice((None, ["f", "h"], declared))


def losses(written: Written, text: str, done: hs.Completion) -> list[str]:
    """What was written in a call that was read, and is in no call, though all are complete."""
    if not all(call.complete for call in done.tool_calls):
        return []
    said = "".join(call.arguments for call in done.tool_calls)
    if not {call.name for call in done.tool_calls} <= written.names.keys():
        return []  # a part of one looks like another
    found = [atom for call in done.tool_calls for atom in written.names.get(call.name, ())]
    return [atom for atom in found if atom in text and not re.search(rf"{atom}(?![0-9])", said)]


@pytest.mark.parametrize("name", ROWS)
def test_whole_calls_are_complete(name):
    dice = random.Random(name)
    for _ in range(200):
        written = written_calls(dice, name)
        done = hs.parse(written.text(), name, tools=tools_of(dice, written))
        assert [(call.name, call.complete) for call in done.tool_calls] == [(one, True) for one in written.names]
        assert losses(written, written.text(), done) == []


@pytest.mark.parametrize("name", ROWS)
def test_a_complete_call_has_lost_nothing(name):
    dice, lost = random.Random(name), []
    for _ in range(3000):
        written = written_calls(dice, name)
        text = written.before + broken(dice, written.calls, 1) + dice.choice((written.after, written.after, ""))
        tools = tools_of(dice, written)
        if dice.randrange(2):
            done = hs.parse(text, name, tools=tools)
        else:
            some = tokens(name, dice.choice(("added", "plain")))
            done = hs.parse(some.encode(text.encode()), name, vocab=some.vocab, tools=tools)
        for call in done.tool_calls:
            assert not call.complete or isinstance(json.loads(call.arguments), dict), (text, call)
        lost += [text] * bool(losses(written, text, done))
    assert len(lost) == KNOWN.get(name, 0), lost


def test_broken_calls_are_read_as_specified():
    dice = random.Random(26)
    for _ in range(300):
        name = dice.choice(ROWS)
        written = written_calls(dice, name)
        text = written.before + broken(dice, written.calls, dice.randrange(1, 4)) + dice.choice((written.after, ""))
        text += dice.choice(("", "\nSo it is, k101=3.", " It's k101: 1"))
        case = {"row": name, "how": dice.choice(("text", "control", "plain", "split")), "stream": parts_of(name, text)}
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)


@pytest.mark.parametrize("name", ROWS)
def test_broken_calls_at_every_cut(name):
    dice = random.Random(name)
    for _ in range(20):
        written = written_calls(dice, name)
        text = written.before + broken(dice, written.calls, dice.randrange(1, 3)) + dice.choice((written.after, ""))
        check_every_cut(name, text, tools_of(dice, written))
