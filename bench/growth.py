"""Does a token cost more because many came before it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

import harmonystream as hs
from bench import streams
from bench.clock import now
from bench.rows import Figure
from bench.streams import Work

BLOCKS = 64


def last_over_first(work: Work) -> Callable[[], float]:
    """A round: the 64th block of a stream, over the first. Each block holds the same tokens."""

    def block(parser: hs.Parser) -> int:
        feed = parser.feed
        started = now()
        for tid in work.ids:
            feed(tid)
        return now() - started

    def run() -> float:
        young, old = hs.Parser(), hs.Parser()
        young.feed(work.opening)
        old.feed(work.opening)
        for _ in range(BLOCKS - 1):
            block(old)
        return block(old) / block(young)

    return run


def measured(n: int, rounds: int) -> Iterator[Figure]:
    """n: the length of a block, in tokens."""
    for name, work in (("analysis", streams.prose(n)), ("arguments", streams.code_in_arguments(n))):
        run = last_over_first(work)
        run()
        value = median(run() for _ in range(rounds))
        yield Figure(f"a token of {name} after {BLOCKS - 1}k, over one of the first 1k", value, "×", at_most=1.1)
