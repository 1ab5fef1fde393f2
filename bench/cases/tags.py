"""The tag formats: content beside Harmony's, and whether a token's cost grows with the length of its stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import harmonystream as hs
from bench.cases import blocks
from bench.cases.blocks import Blocks, Writer
from bench.cases.worst import cases
from bench.clock import BLOCKS, Round, compared, feed_all, now
from bench.report import Row, shown, verdict

GROWTH, OVER_HARMONY = 1.1, 1.3
FEW, SOME, MORE = 3, 21, 21  # rounds of a worst case, of a common one, and more for what seems to miss a floor
COMMON_HEAD = (
    *("tag formats, per token", "content, feed(id)", "over Harmony", ""),
    *("a call's string of 1k, feed(id)", "64k over 1k", "", "a call's string of 1k, feed(64 ids)", "64k over 1k", ""),
)
WORST_HEAD = ("worst cases", "streams", "most growth", "", "in", "slowest", "in")
CASE_HEAD = ("worst case", "fed", "short", "long", "long over short", "")
CLOCK = min(-now() + now() for _ in range(1000))  # nanoseconds between two looks at the clock: short streams need many


def read(parser: hs.Parser, stream: Blocks, per: int) -> int:
    """Nanoseconds for all blocks, by `per` to a stream."""
    feed = parser.feed_text if stream.text else parser.feed
    total = 0
    for at in range(0, BLOCKS, per):
        parser.reset()
        feed(stream.before)
        parts = stream.of(at, per)
        started = now()
        for block in parts:
            feed_all(feed, block, 1)
        feed_all(feed, stream.after, 1)
        total += now() - started - CLOCK
    return total


def per_token(stream: Blocks, long: bool) -> Round:
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
    def floor(self) -> dict[str, bool]:
        return {f"`{self.format}`, {self.way}: {self.name}": self.ratio <= GROWTH}

    @property
    def cells(self) -> tuple[str, ...]:
        return f"{shown(self.short)} ns", f"{shown(self.ratio)}×", verdict(self.ratio <= GROWTH)


def growth(stream: Blocks, name: str, way: str, rounds: int, more: int = 0) -> Growth:
    short, long = per_token(stream, long=False), per_token(stream, long=True)
    return Growth(stream.format, name, way, *compared(short, long, GROWTH, rounds, more))


def over_harmony(format: str, n: int, rounds: int) -> tuple[float, float, float]:
    """Nanoseconds per token of content in Harmony and in the format, and the ratio. n: tokens in a block."""
    harmony, own = (per_token(blocks.content(name, n), long=True) for name in ("harmony", format))
    return compared(harmony, own, OVER_HARMONY, min(rounds, SOME), rounds)


def common(format: str, n: int, rounds: int) -> Row:
    """Content, and a call by either way of feeding. n, here and below: the length of a block, in tokens."""
    _, took, ratio = over_harmony(format, n, rounds)
    met = ratio <= OVER_HARMONY
    cells, floors = [f"`{format}`", f"{shown(took)} ns", f"{shown(ratio)}×", verdict(met)], {}
    floors[f"`{format}`: content, over Harmony's"] = met
    stream = blocks.body_of(blocks.call(format, n))
    what = "one long string" if Writer(format).row.call else "reasoning"
    for way, given in (("feed(id)", stream), ("feed(64 ids)", blocks.in_chunks(stream))):
        grown = growth(given, what, way, min(rounds, SOME), rounds)
        cells += grown.cells
        floors |= grown.floor
    return Row(tuple(cells), floors)


def worst(format: str, n: int, rounds: int) -> Iterator[Growth]:
    """Each worst case of a format, in the smallest tokens and as text."""
    for case in cases(format):
        ways = {"text": True} if case.only_text else {"ids": False, "text": True}
        for way, text in ways.items():
            yield growth(case.stream(format, text, n), case.name, way, min(rounds, FEW), min(rounds, MORE))


def worst_row(found: Sequence[Growth]) -> Row:
    """The largest growth and the slowest case of one format; the floors of all."""
    grown, slow = max(found, key=lambda case: case.ratio), max(found, key=lambda case: case.long)
    cells = (f"`{grown.format}`", str(len(found)), *grown.cells[1:], f"{grown.name} ({grown.way})")
    cells += (f"{shown(slow.long)} ns", f"{slow.name} ({slow.way})")
    return Row(cells, {name: met for case in found for name, met in case.floor.items()})


def case_row(case: Growth) -> Row:
    """One worst case; its floor is in its format's row."""
    short, ratio, met = case.cells
    return Row((f"`{case.format}`: {case.name}", case.way, short, f"{shown(case.long)} ns", ratio, met))


def tables(names: Sequence[str], n: int, rounds: int, verbose: bool) -> Iterator[tuple[Sequence[str], list[Row]]]:
    yield COMMON_HEAD, [common(name, n, rounds) for name in names]
    found = [list(worst(name, n, rounds)) for name in names]
    yield WORST_HEAD, list(map(worst_row, found))
    listed = [case_row(case) for cases in found for case in cases if verbose or case.ratio > GROWTH]
    if listed:
        yield CASE_HEAD, listed
