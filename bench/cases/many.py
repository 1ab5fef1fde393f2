"""Many streams: columns of 16,384 beside columns of 1,024, and a data set beside openai-harmony."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import partial

import harmonystream as hs
from bench import streams
from bench.cases import rows
from bench.clock import Round, compared, medians, timed
from bench.report import Row, figure
from bench.rivals.sides import Side

FEW, MANY = 1024, 16_384  # streams
TOKENS = 16 * MANY  # fed in a round, or a little more
OVER, OVER_RIVAL = 1.5, 300.0
THEIRS = 20  # rows that openai-harmony reads in a round


def columns(n: int) -> Round:
    """Nanoseconds for each stream of a step of n streams. Each stream has other text."""
    batch, opening = hs.batch.Batch(capacity=n), streams.harmony_ids(streams.FINAL)
    slots, steps = batch.open_many(n), max(2, TOKENS // n)
    batch.feed(slots, array("i", opening * n), array("q", range(0, n * len(opening) + 1, len(opening))))
    prose = streams.prose(n + steps).body
    pieces = [array("i", prose[at : at + n]) for at in range(steps)]

    def work() -> None:
        for ids in pieces:
            batch.feed(slots, ids)

    return timed(work, steps * n)


def data_set(n: int) -> Round:
    """Nanoseconds for each of n rows, which become Arrow's columns."""
    return timed(partial(hs.columns.parse_many, rows.columns(rows.row(), n), threads=1), n)


def measured(rounds: int, rival: Side, scale: float = 1.0) -> Iterator[Row]:
    """A test takes a smaller `scale`."""
    many = int(MANY * scale)
    few, more, ratio = compared(columns(FEW), columns(many), OVER, rounds, rounds)
    name = f"columns of {many:,} streams, per stream, over those of {FEW:,}"
    yield figure(name, ratio, "×", at_most=OVER, note=f"{few:.1f} and {more:.1f} ns")
    ids = list(rows.row())
    ours, theirs = medians(
        {"ours": data_set(2000), "theirs": lambda: rival.call("into_arrow", ids, THEIRS)}, rounds
    ).values()
    name = f"parse_many into Arrow, rows of {len(ids)} tokens, one thread: openai-harmony's time over ours"
    note = f"{theirs / 1e3:,.0f} and {ours / 1e3:.2f} µs"
    yield figure(name, theirs / ours, "×", at_least=OVER_RIVAL, note=note)
