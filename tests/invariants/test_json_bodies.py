"""A call that is complete has arguments that any reader of JSON takes as an object: bodies of JSON in every row, with
up to two changes at random, cut at random, as text and as ids."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tag_streams import TAG_FORMATS, tokens
from test_bodies_read import bodies, row_of

import harmonystream as hs

BODIES = 60  # of each form of a call in a row
PIECES = (
    *("'", '"', ",", ":", "{", "}", "[", "]", "\\", "\\q", "\\u12", "\\u00e9", "\n", " ", "0", "-", ".", "e", "1"),
    *("True", "None", "NaN", "null", "tru", "x", "é", "/", "// x\n", "\x01"),
)
READY = [(row, form) for row in TAG_FORMATS for form in bodies(row_of(row)) if form.kind in ("raw", "wrapped")]


def value(choose: random.Random, depth: int = 0) -> Any:
    kind = choose.randrange(7 if depth < 3 else 5)
    if kind < 3:
        return choose.choice(["", "x", 'a "b" \\ c', "é\n\t", "it's", "</b> {x}", "😀"])
    if kind < 5:
        return choose.choice([0, -1, 12.5, 1e99, True, False, None])
    if kind == 5:
        return [value(choose, depth + 1) for _ in range(choose.randrange(3))]
    return {f"k{at}": value(choose, depth + 1) for at in range(choose.randrange(3))}


def changed(choose: random.Random, text: str) -> str:
    for _ in range(choose.randrange(3)):
        at = choose.randrange(len(text) + 1)
        size = choose.randrange(3)
        text = text[:at] + choose.choice(("", choose.choice(PIECES))) + text[at + size :]
    return text


def refuse(word: str) -> None:
    raise ValueError(word)


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=refuse), dict)
    except ValueError:
        return False


def outcome(parser: hs.Parser, stream: Any, size: int | None, stop: str | None) -> Any:
    """The calls, the text and what was noted; pieces of up to `size`, and the state moved between two of them."""
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)] if size else [stream]
    calls: list[list[Any]] = []
    text = ""
    for at, piece in enumerate([*pieces, None]):
        if piece is None:
            events = parser.finish(stop)
        else:
            events = parser.feed_text(piece) if isinstance(piece, bytes) else parser.feed(piece)
        for event in events:
            if isinstance(event, hs.ToolCallStart):
                calls.append([event.name, "", None])
            elif isinstance(event, hs.ToolCallDelta):
                calls[-1][1] += event.arguments
            elif isinstance(event, hs.ToolCallEnd):
                calls[-1][2] = event.complete
            elif isinstance(event, (hs.ContentDelta, hs.ReasoningDelta)):
                text += event.text
        if size and piece is not None and at % 5 == 0:
            parser = hs.Parser.from_bytes(parser.to_bytes(), vocab=parser.vocab, tools=["f"])
    return calls, text, list(parser.deviations)


@pytest.mark.parametrize("row", sorted({row for row, _ in READY}))
def test_a_complete_call_is_an_object_of_json(row):
    choose = random.Random(row)
    some = tokens(row, "plain")
    for _, form in [one for one in READY if one[0] == row]:
        whole = "".join(form.pieces)
        for _ in range(BODIES):
            said = json.dumps({"a": value(choose), "b": value(choose)}, ensure_ascii=choose.random() < 0.5)
            if form.kind == "wrapped" and whole.startswith('{"a"'):
                body = changed(choose, said) + "}"
            elif form.kind == "wrapped":
                body = whole.replace(whole[whole.index('{"a"') :], changed(choose, said) + "}")
            else:
                body = changed(choose, said)
            text = form.before + body + form.after
            stop = choose.choice(("stop", "length", None))
            for stream, vocab in ((text.encode(), None), (some.encode(text.encode()), some.vocab)):
                found = [
                    outcome(hs.Parser(row, vocab, check_stops=False, tools=["f"]), stream, size, stop)
                    for size in (None, 1, choose.randrange(2, 9))
                ]
                assert [one for one in found if one != found[0]] == [], text
                for name, arguments, complete in found[0][0]:
                    assert name == "f"
                    assert not complete or is_object(arguments), text
