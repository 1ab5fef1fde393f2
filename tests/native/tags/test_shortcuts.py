"""Each shortcut gives what the machine gives, in every row: one token, many tokens, a piece of str, a delta."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from random_tags import markers
from streams import as_tuple, merge
from tag_cases import TOOLS
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs
from harmonystream.call_arguments import UNREADABLE

BLANKS = (" ", "\n", "\n\n", "\t", " \n", "\n ", "  ", "\r\n")
TEXTS = ("a", "b c", " x", "é", "日本", "Hi.\n", '"', "\\", "`", "```", "```\n", "<", "{", "[", "}", "]", ",", "x\n\ny")
CALLS = (
    *('{"name": "f", "arguments": {"s": "x"}}', '[{"name": "f", "arguments": {}}]', '[f(s="a b")]', '{"name": "f"'),
    *('f{"s": "x"}', '{"s": "x\n", "i": ', "</f>", "f\n"),
)
STREAMS = 40  # of each row


def pieces(name: str) -> Iterator[tuple[str, list[str]]]:
    """Where the prompt leaves the model, and a stream in pieces: often white space first, where little is decided."""
    dice = random.Random(name)
    marked = [*markers(name), ""]
    for _ in range(STREAMS):
        made = [dice.choice(BLANKS)] * dice.randrange(3)
        while len(made) < 10:
            made.append(dice.choice(dice.choice((BLANKS, TEXTS, TEXTS, CALLS, marked, marked))))
        yield dice.choice(("auto", "reasoning", "answer")), made


def parsers(name: str, start: str, vocab: Any, tools: Any, n: int) -> list[hs.Parser]:
    return [hs.Parser(name, vocab, tools=tools, start=start, check_stops=False) for _ in range(n)]


def contents_of(events: Sequence[hs.Event]) -> list[Any]:
    return merge(map(as_tuple, events))


def joined(events: Sequence[hs.Event]) -> tuple[str, str, str]:
    """The texts of their deltas. No call is cut, because the stream goes on."""
    kinds = (hs.ReasoningDelta, hs.ContentDelta)
    texts = ["".join(event.text for event in events if isinstance(event, kind)) for kind in kinds]
    arguments = ""
    for event in events:
        if isinstance(event, hs.ToolCallDelta):
            arguments += event.arguments
        elif isinstance(event, hs.ToolCallEnd) and not event.complete:
            arguments += UNREADABLE
    return texts[0], texts[1], arguments


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["unknown", "declared"])
@pytest.mark.parametrize("name", TAG_FORMATS)
def test_a_piece_of_str_is_what_its_bytes_are_in_one_piece(name, tools):
    for start, stream in pieces(name):
        whole, bytewise, strings = parsers(name, start, None, tools, 3)
        expected = [*whole.feed_text("".join(stream).encode()), *whole.finish()]
        slow = [event for piece in stream for event in bytewise.feed_text(piece.encode())]
        fast = [event for piece in stream for event in strings.feed_text(piece)]
        assert contents_of(fast) == contents_of(slow), stream
        assert contents_of([*fast, *strings.finish()]) == contents_of(expected), stream
        assert (strings.usage, strings.deviations) == (whole.usage, whole.deviations), stream


@pytest.mark.parametrize("tools", [None, TOOLS], ids=["unknown", "declared"])
@pytest.mark.parametrize("name", TAG_FORMATS)
def test_one_token_and_many_are_what_each_is_in_a_list(name, tools):
    some = tokens(name)
    for start, stream in pieces(name):
        ids = [tid for piece in stream for tid in some.encode(piece.encode(), greedy=True)]
        listed, alone, many, deltas = parsers(name, start, some.vocab, tools, 4)
        slow = [event for tid in ids for event in listed.feed([tid])]
        fast = [event for tid in ids for event in alone.feed(tid)]
        assert contents_of(fast) == contents_of(slow), ids
        read = [deltas.feed_delta(tid) for tid in ids]
        texts = ["".join(one[at] for one in read) for at in (0, 1)]
        assert (*texts, "".join(call.arguments for one in read for call in one.calls)) == joined(slow), ids
        expected = contents_of([*slow, *listed.finish()])
        assert contents_of([*fast, *alone.finish()]) == expected, ids
        assert contents_of([*many.feed(ids), *many.finish()]) == expected, ids
        states = [(one.usage, one.deviations, one.region) for one in (listed, alone, many)]
        assert states[0] == states[1] == states[2], ids
