"""Whatever a strict parser raises, and wherever: each call and message that has begun has ended, in order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from broken_calls import calls_of, changed
from fuzz import oracles
from streams import merge
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs

CALLS = {name: calls_of(name) for name in TAG_FORMATS}
CALLS["harmony"] = ['<|channel|>commentary to=functions.f<|message|>{"x": [1]}<|call|>']
STARTS = {hs.MessageStart: hs.MessageEnd, hs.ToolCallStart: hs.ToolCallEnd}


def outcome(parser: hs.Parser, pieces: Sequence[Any], reason: str | None) -> tuple[list[Any], str]:
    """The events, merged, and the error's text."""
    events: list[hs.Event] = []
    feed = parser.feed_text if isinstance(pieces[0], str) else parser.feed
    error = ""
    try:
        for piece in pieces:
            events += feed(piece)
        events += parser.finish(reason)
    except hs.errors.ParseError as raised:
        events += raised.events
        error = str(raised)
    opened = []
    for event in events:
        if type(event) in STARTS:
            opened.append(STARTS[type(event)])
        elif isinstance(event, (hs.ToolCallEnd, hs.MessageEnd)):
            assert type(event) is opened.pop()
    assert not opened
    assert error or isinstance(events[-1], hs.StreamEnd)
    return merge(oracles.as_tuples(events)), error


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_what_has_begun_has_ended(name, strict):
    dice = random.Random(name)
    errors = set()
    for number, call in product(range(6), CALLS[name] or ["<think>Hm</think>Hi"]):
        text = dice.choice(("Hi.\n", "")) + (changed(dice, call, number) if CALLS[name] else call)
        text = text[: dice.choice((len(text), dice.randrange(1, len(text))))] + dice.choice(("", "\nHi", call))
        reason = dice.choice((None, "stop", "length"))
        streams: list[tuple[Any, Any]] = [(text, None)]
        if name != "harmony":
            some = tokens(name, "added")
            streams.append((some.encode(text.encode()), some.vocab))
        for stream, vocab in streams:
            tools = dice.choice((None, ["f"]))
            pieces = [[stream], [stream[at : at + 1] for at in range(len(stream))]]
            pieces += [[stream[:at], stream[at:]] for at in range(1, len(stream))]
            parsers = [hs.Parser(name, vocab, strict=strict, tools=tools, check_stops=False) for _ in pieces]
            found = [outcome(parser, cut, reason) for parser, cut in zip(parsers, pieces, strict=True)]
            assert [one for one in found if one != found[0]] == []
            for parser in parsers:  # one that has raised can be moved, too
                state = parser.to_bytes()
                assert hs.Parser.from_bytes(state, vocab=vocab, format=name, tools=tools).to_bytes() == state
            errors.add(found[0][1])
    assert strict or errors == {""}
