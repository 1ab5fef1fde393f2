"""Taking time: one core, the processor's own clock, parsers in turn, medians."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from statistics import median

Round = Callable[[], float]

# Time in which this thread has the processor: other processes do not lengthen it. Too coarse on some platforms.
FINE = time.get_clock_info("thread_time").resolution < 1e-6
now = time.thread_time_ns if FINE else time.perf_counter_ns


def pin() -> int | None:
    """Keep this process, and the ones it starts, on one core; its number, or None where the platform cannot."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


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
