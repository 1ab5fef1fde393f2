"""Time and growth of one stream: all its blocks by one parser, beside short streams of the same blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import harmonystream as hs
from bench import tag_streams as streams
from bench.clock import Round, medians, now
from bench.rows import Figure
from bench.tag_cases import cases
from bench.tag_streams import BLOCKS, Stream

GROWTH, OVER_HARMONY, LITTLE_PIECE = 1.1, 1.3, 120
FEW, SOME, MORE = 3, 21, 21  # rounds of a worst case, and of a common one; and more where a floor seems to be missed


def overhead() -> int:
    """Nanoseconds between two looks at the clock: short streams need many."""
    return min(-now() + now() for _ in range(1000))


CLOCK = overhead()


def read(parser: hs.Parser, stream: Stream, per: int) -> int:
    """Nanoseconds for all blocks, by `per` to a stream."""
    feed: Callable[[Any], object] = parser.feed_text if stream.text else parser.feed
    total = 0
    for at in range(0, BLOCKS, per):
        parser.reset()
        feed(stream.before)
        blocks = stream.of(at, per)
        started = now()
        for block in blocks:
            for piece in block:
                feed(piece)
        for piece in stream.after:
            feed(piece)
        total += now() - started - CLOCK
    return total


def per_token(stream: Stream, long: bool) -> Round:
    """A round's nanoseconds per token, or piece of text, of the long stream or of the short ones."""
    per = BLOCKS if long else stream.per
    parser, tokens = stream.parser(), stream.tokens(BLOCKS // per)
    return lambda: read(parser, stream, per) / tokens


@dataclass(frozen=True)
class Growth:
    """Nanoseconds per token, or piece, of a short and of the long stream, and the median of the rounds' ratios.

    `way`: how it was fed.
    """

    format: str
    name: str
    way: str
    short: float
    long: float
    ratio: float

    @property
    def met(self) -> bool:
        return self.ratio <= GROWTH

    def figure(self) -> Figure:
        return Figure(f"`{self.format}`, {self.way}: {self.name}", self.ratio, "×", at_most=GROWTH)


def compared(one: Round, other: Round, floor: float, rounds: int, more: int) -> tuple[float, float, float]:
    """Medians of both, taken in turn, and of the rounds' ratios of the other to the one.

    If that exceeds the floor, `more` rounds decide, with those that were.
    """
    one()
    samples: list[tuple[float, float]] = []
    for planned in (rounds, more):
        if not samples or median(b / a for a, b in samples) > floor:
            samples += [(one(), other()) for _ in range(planned)]
    ones, others = zip(*samples)
    return median(ones), median(others), median(b / a for a, b in samples)


def growth(stream: Stream, name: str, way: str, rounds: int, more: int = 0) -> Growth:
    short, long = per_token(stream, long=False), per_token(stream, long=True)
    return Growth(stream.format, name, way, *compared(short, long, GROWTH, rounds, more))


@dataclass(frozen=True)
class Common:
    """A format's common cases: nanoseconds per token of content, and over Harmony's; a call, by way of feeding."""

    format: str
    content: float
    over_harmony: float
    one: Growth
    many: Growth

    def figures(self) -> Iterator[Figure]:
        yield Figure(f"`{self.format}`: content, over Harmony's", self.over_harmony, "×", at_most=OVER_HARMONY)
        yield self.one.figure()
        yield self.many.figure()


def common(names: Sequence[str], n: int, rounds: int) -> Iterator[Common]:
    """n, here and below: the length of a block, in tokens."""
    harmony = per_token(streams.harmony_content(n), long=True)
    few = min(rounds, SOME)
    for name in names:
        content = per_token(streams.content(name, n), long=True)
        _, took, ratio = compared(harmony, content, OVER_HARMONY, few, rounds)
        stream = streams.body_of(streams.call(name, n))
        what = "one long string" if streams.Writer(name).row.call else "reasoning"
        one = growth(stream, what, "feed(id)", few, rounds)
        many = growth(streams.in_chunks(stream), what, "feed(64 ids)", few, rounds)
        yield Common(name, took, ratio, one, many)


def worst(format: str, n: int, rounds: int) -> Iterator[Growth]:
    """Each worst case of a format, in the smallest tokens and as text."""
    few = min(rounds, FEW)
    for case in cases(format):
        ways = {"text": True} if case.only_text else {"ids": False, "text": True}
        for way, text in ways.items():
            yield growth(case.stream(format, text, n), case.name, way, few, min(rounds, MORE))


def text_mode(n: int, rounds: int) -> Iterator[Figure]:
    for name in ("hermes", "qwen3_coder"):
        turns: Mapping[str, Round] = {
            "content": per_token(streams.text_stream(name, False, n), long=True),
            "code, arguments": per_token(streams.text_stream(name, True, n), long=True),
        }
        for what, took in medians(turns, rounds).items():
            yield Figure(f"feed_text(4 characters), `{name}`: {what}", took, "ns", at_most=LITTLE_PIECE)
