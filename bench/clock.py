"""Taking time where contenders take turns: one core, the processor's own clock, medians of rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any, NamedTuple

Round = Callable[[], float]
Feed = Callable[[Any], object]

# Time in which this thread has the processor: other processes do not lengthen it. Too coarse on some platforms.
FINE = time.get_clock_info("thread_time").resolution < 1e-6
now = time.thread_time_ns if FINE else time.perf_counter_ns
BLOCKS = 64

# Nanoseconds that a loop over `{}.get` took for each id on the machine for which the floors in units of time were set.
LOOKUP = 15.0


class Case(NamedTuple):
    """Work that both clocks can time: ours in turns with others, and pytest-benchmark's.

    `opened` makes a function that reads one piece; making it is not timed. `units` is the number of tokens, bytes or
    calls in the pieces. A round reads the pieces `repeat` times.
    """

    name: str
    opened: Callable[[], Feed]
    pieces: Sequence[Any]
    units: int
    repeat: int = 16

    def round(self) -> float:
        """Nanoseconds for each unit."""
        feed = self.opened()
        started = now()
        feed_all(feed, self.pieces, self.repeat)
        return (now() - started) / (self.repeat * self.units)


def timed(work: Callable[[], object], units: int = 1, clock: Callable[[], int] = now) -> Round:
    """Nanoseconds of the work for each of its units."""

    def run() -> float:
        started = clock()
        work()
        return (clock() - started) / units

    return run


def feed_all(feed: Feed, pieces: Sequence[Any], repeat: int) -> None:
    for _ in range(repeat):
        for piece in pieces:
            feed(piece)


def pin() -> int | None:
    """Keep this process, and the ones it starts, on one core; its number, or None where the platform cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


@cache
def slowness() -> float:
    """How many times as long this machine takes for a lookup in CPython as the one that the floors were set for.

    At least 1: a faster machine makes no floor stricter.
    """
    lookups = Case("", lambda: {}.get, list(range(2048)), 2048)
    return max(1.0, median(lookups.round() for _ in range(101)) / LOOKUP)


def medians(contenders: Mapping[str, Round], rounds: int, seconds: float = 4.0) -> dict[str, float]:
    """The median of each contender's rounds, taken in turn so that a busy machine slows all of them alike.

    The first round of each warms up and does not count. At least three rounds count, even when they take longer than
    `seconds`.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        run()
    deadline = time.monotonic() + seconds
    for done in range(rounds):
        if done >= 3 and time.monotonic() > deadline:
            break
        for name, run in contenders.items():
            samples[name].append(run())
    return {name: median(values) for name, values in samples.items()}


def compared(one: Round, other: Round, floor: float, rounds: int, more: int) -> tuple[float, float, float]:
    """Medians of both, taken in turn, and of the rounds' ratios of the other to the one.

    If that exceeds the floor, `more` rounds are added, and all of them decide.
    """
    one()
    samples: list[tuple[float, float]] = []
    for planned in (rounds, more):
        if not samples or median(b / a for a, b in samples) > floor:
            samples += [(one(), other()) for _ in range(planned)]
    ones, others = zip(*samples)
    return median(ones), median(others), median(b / a for a, b in samples)


def last_over_first(opened: Callable[[], Feed], block: Sequence[Any], rounds: int) -> float:
    """The time for the last of BLOCKS equal blocks of one stream, over the time for the first: the rounds' median."""

    def took(feed: Feed) -> int:
        started = now()
        feed_all(feed, block, 1)
        return now() - started

    def run() -> float:
        young, old = opened(), opened()
        feed_all(old, block, BLOCKS - 1)
        return took(old) / took(young)

    run()
    return median(run() for _ in range(rounds))
