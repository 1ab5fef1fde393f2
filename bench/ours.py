"""harmonystream at work, the same way: a Python loop that gets the events and drops them."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import harmonystream as hs
from bench.clock import now
from bench.streams import Work

REPEAT = 16  # a round of ours reads its stream so often, to last about as long as a rival's


def one_at_a_time(work: Work) -> Callable[[], float]:
    return whole(work) if work.whole else body(work, list(work.ids))


def in_chunks(work: Work, size: int) -> Callable[[], float]:
    return body(work, [work.ids[at : at + size] for at in range(0, len(work.ids), size)])


def body(work: Work, pieces: list[int] | list[list[int]]) -> Callable[[], float]:
    def run() -> float:
        parser = hs.Parser()
        parser.feed(work.opening)
        feed = parser.feed
        started = now()
        for _ in range(REPEAT):
            for piece in pieces:
                feed(piece)
        return (now() - started) / (REPEAT * len(work.ids))

    return run


def read_texts(work: Work) -> Callable[[], float]:
    """As a server would: look at each event."""

    def run() -> float:
        parser = hs.Parser()
        parser.feed(work.opening)
        feed = parser.feed
        started = now()
        for _ in range(REPEAT):
            for tid in work.ids:
                for event in feed(tid):
                    event.text  # noqa: B018
        return (now() - started) / (REPEAT * len(work.ids))

    return run


def whole(work: Work) -> Callable[[], float]:
    def run() -> float:
        started = now()
        for _ in range(REPEAT):
            parser = hs.Parser()
            feed = parser.feed
            for tid in work.ids:
                feed(tid)
            parser.finish()
        return (now() - started) / (REPEAT * len(work.ids))

    return run


def labels(work: Work) -> Callable[[], float]:
    ids = array("i", [*work.opening, *work.ids * REPEAT])

    def run() -> float:
        started = now()
        hs.label(ids)
        return (now() - started) / len(ids)

    return run


def new_parsers(n: int) -> float:
    """Nanoseconds for each of n parsers."""
    started = now()
    for _ in range(n):
        hs.Parser()
    return (now() - started) / n
