"""Arguments that are a string, a number or an array, in each row of JSON calls, with ids in them that are not text."""

from __future__ import annotations

import json
import random

import pytest
from broken_calls import OPTIONS, parts_of, row_of
from fuzz import targets
from random_tags import first
from reference_tags_text import holds_objects
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs

WRAPPED = [name for name in TAG_FORMATS if row_of(name).wrapped and row_of(name).members != {"*": "call"}]
PIECES = ("a", "é", "\\n", "\\u00e9", "\\ud83d", "\\ude00", "\\u12", "\\u", "\\x", "\\\\", '\\"', "\n", "{", "[", ", ")
OTHERS = ("12", "-1.5e3", "true", "null", "nul", "[1, {}]", '["a", "b\\u12"]', '{"x": "\\u12"}', "")


def arguments(dice: random.Random) -> str:
    if dice.randrange(4) == 0:
        return dice.choice(OTHERS)
    said = "".join(dice.choices(PIECES, k=dice.randrange(6)))
    inner = json.dumps(json.dumps({"x": said}))[1:-1] if dice.randrange(2) else said
    return f'"{inner}{dice.choice(chr(34) * 5 + " ").strip()}'


def around(name: str) -> tuple[str, str]:
    row = row_of(name)
    section = [first(one) for one in row.section] if row.section else ["", ""]
    tags = [first(row.call[0]), first(row.call[2])] if row.call else ["", ""]
    tags = tags if not row.section or holds_objects(row) else ["", ""]
    keys = {says: key for key, says in reversed(list(row.members.items()))}
    return f'{section[0]}{tags[0]}{{"{keys["name"]}": "f", "{keys["arguments"]}": ', "}" + tags[1] + section[1]


def test_they_are_read_as_specified():
    dice = random.Random(105)
    for _ in range(1000):
        name = dice.choice(WRAPPED)
        before, after = around(name)
        parts = parts_of(name, before + arguments(dice) + after)
        for _ in range(dice.randrange(4)):
            places = [at for at, part in enumerate(parts) if dice.randrange(4) == 0 or part in (b'"', b"u", b"2")]
            parts.insert(dice.choice(places), dice.choice(("inert", "inert", "unknown", "empty")))
        if dice.randrange(2):
            parts = parts[: dice.randrange(len(parts) + 1)]
        case = {"row": name, "how": dice.choice(("control", "plain", "split", "text")), "stream": parts}
        case |= {"tools": dice.choice(("unknown", "one", "typed")), "reason": dice.choice((None, "stop", "length"))}
        targets.check("tagpage", case | OPTIONS)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_quote_decides_about_an_escape_without_its_digits(name):
    """It has the quote's place, though an id that is dropped comes before that."""
    some = tokens(name)
    before, after = around(name)
    ids = some.encode((before + '"a\\u12').encode())
    quote = len(ids) + 1
    ids += [some.names["<|pad|>"], *some.encode(('"' + after).encode())]
    parser = hs.Parser(name, some.vocab)
    deltas = [one for one in [*parser.feed(ids), *parser.finish("stop")] if isinstance(one, hs.ToolCallDelta)]
    assert "".join(one.arguments for one in deltas) == "a\ufffd"
    assert deltas[-1].stop == quote + 1
    stream = [*parts_of(name, before + '"a\\u12'), "inert", *parts_of(name, '"' + after)]
    case = {"row": name, "how": "control", "stream": stream, "tools": "unknown", "reason": "stop"}
    targets.check("tagpage", case | OPTIONS)
