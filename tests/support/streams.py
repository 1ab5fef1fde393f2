"""Replays one stream through the native parser, cut in every way, and gives its merged log.

A stream is a list of token ids, or bytes for text mode. Logs are lists of tuples (class name, fields…, start, stop), as
reference.py gives them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from reference import EventTuple, Item

import harmonystream as hs

MARKERS = ("start", "channel", "constrain", "message", "end", "call", "return", "endoftext")
MARKER = re.compile(rb"<\|(%s)\|>" % "|".join(MARKERS).encode())
STARTS = {
    "reasoning": "<|start|>assistant<|channel|>analysis<|message|>",
    "answer": "<|start|>assistant<|channel|>final<|message|>",
}
LONGEST_TOKEN = 64  # bytes; longer tokens of the vocabulary are of no interest here
SHORT = 24  # units up to which a stream is cut at every pair of places


# -- streams in, items out ---------------------------------------------------------------------------------------------


@cache
def token_ids() -> dict[bytes, int]:
    vocab = hs.vocab.o200k_harmony()
    ordinary = (tid for tid in range(len(vocab)) if not vocab.is_control(tid))
    return {data: tid for tid in ordinary if len(data := vocab.token_bytes(tid)) <= LONGEST_TOKEN}


def encode_greedily(data: bytes) -> list[int]:
    """The longest token at each place: not what the tokenizer would choose, but tokens of every length."""
    ids, position, table = [], 0, token_ids()
    while position < len(data):
        size = next(n for n in range(min(LONGEST_TOKEN, len(data) - position), 0, -1) if data[position:][:n] in table)
        ids.append(table[data[position:][:size]])
        position += size
    return ids


def encode_bytewise(data: bytes) -> list[int]:
    """One token for each byte."""
    return [token_ids()[data[position : position + 1]] for position in range(len(data))]


def split_at_markers(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    """(position, bytes, is it a marker?) of each piece of a text in which markers are spelled."""
    position = 0
    for match in MARKER.finditer(data):
        if match.start() > position:
            yield position, data[position : match.start()], False
        yield match.start(), match[0], True
        position = match.end()
    if position < len(data):
        yield position, data[position:], False


def to_ids(data: bytes, encode: Any = encode_greedily) -> list[int]:
    """The tokens of a text in which markers are spelled."""
    control = hs.vocab.o200k_harmony().control
    ids: list[int] = []
    for _, piece, is_marker in split_at_markers(data):
        ids += [control[piece.decode()]] if is_marker else encode(piece)
    return ids


def items_of_text(data: bytes) -> list[Item]:
    items: list[Item] = []
    for position, piece, is_marker in split_at_markers(data):
        if is_marker:
            items.append(Item("marker", piece[2:-2], position, position + len(piece)))
        else:
            items += [Item("text", piece[i : i + 1], position + i, position + i + 1) for i in range(len(piece))]
    return items


def items_of_ids(ids: Sequence[int], vocab: hs.Vocab | None = None) -> list[Item]:
    vocab = vocab or hs.vocab.o200k_harmony()
    control = vocab.control
    markers = {control[f"<|{name}|>"]: name for name in MARKERS}
    items: list[Item] = []
    for position, tid in enumerate(ids):
        if tid in markers:
            kind, data = "marker", markers[tid].encode()
        elif vocab.is_control(tid):
            kind, data = "inert", b""
        else:
            try:
                kind, data = "text", vocab.token_bytes(tid)
            except KeyError:
                kind, data = "unknown", b""
            if kind == "text" and not data:
                kind = "inert"
        items.append(Item(kind, data, position, position + 1))
    return items


def prefix_items(start: str) -> list[Item] | None:
    """What the reference takes as `prefix` for the native parser's `start`."""
    if start in ("auto", "content", "<|start|>assistant"):
        return None
    return items_of_text(STARTS.get(start, start).encode())


# -- replay ------------------------------------------------------------------------------------------------------------


def as_tuple(event: hs.Event) -> EventTuple:
    return (type(event).__name__, *(getattr(event, name) for name in event.__match_args__))


TEXT_FIELD = {"ReasoningDelta": 1, "ContentDelta": 1, "ToolCallDelta": 2}


def merge(events: Iterable[EventTuple]) -> list[EventTuple]:
    """Join neighbouring deltas of one kind. A delta without text and a range that goes back are errors here already."""
    log: list[EventTuple] = []
    position = 0
    for event in events:
        kind, start, stop = event[0], event[-2], event[-1]
        assert isinstance(start, int) and isinstance(stop, int)
        assert position <= start <= stop, f"{event} goes back before {position}"
        position = stop
        text = TEXT_FIELD.get(str(kind))
        if text is None:
            log.append(event)
            continue
        assert event[text], f"{event} says nothing"
        last = log[-1] if log else ("",)
        if last[0] == kind and last[1:text] == event[1:text] and last[text + 1 : -2] == event[text + 1 : -2]:
            log[-1] = (*event[:text], f"{last[text]}{event[text]}", *event[text + 1 : -2], last[-2], stop)
        else:
            log.append(event)
    return log


def without_ranges(log: Iterable[EventTuple]) -> list[EventTuple]:
    return [event[:-2] for event in log]


def feed(parser: hs.Parser, piece: Sequence[int] | bytes | str) -> list[EventTuple]:
    events = parser.feed_text(piece) if isinstance(piece, (bytes, str)) else parser.feed(piece)
    return [as_tuple(event) for event in events]


def run(
    parser: hs.Parser, pieces: Iterable[Sequence[int] | bytes | str], reason: str | None = None
) -> list[EventTuple]:
    """The merged log of the rest of a stream."""
    events: list[EventTuple] = []
    for piece in pieces:
        events += feed(parser, piece)
    events += [as_tuple(event) for event in parser.finish(reason)]
    return merge(events)


def chunkings(stream: Any, seed: int = 0) -> Iterator[list[Any]]:
    """A stream cut in every way: whole, unit by unit, once at every place, twice at every two places if it is short,
    and at random."""
    size = len(stream)
    yield [stream]
    yield [stream[i : i + 1] for i in range(size)]
    for cut in range(1, size):
        yield [stream[:cut], stream[cut:]]
    if size <= SHORT:
        for first in range(1, size):
            for second in range(first + 1, size):
                yield [stream[:first], stream[first:second], stream[second:]]
    dice = random.Random(seed)
    for _ in range(8):
        yield random_chunks(stream, dice)


def random_chunks(stream: Any, dice: random.Random) -> list[Any]:
    cuts = sorted(dice.sample(range(size), min(size, dice.randrange(1, 8)))) if (size := len(stream)) else []
    return [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, size])]
