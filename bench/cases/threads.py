"""Two threads, a batch for each: how much more they get done than one. It is measured in a process of its own.

Each worker is pinned to a core, and compared with itself alone on that core, since cores are not equally fast. Two
processes, which share nothing, do the same before and after: they show what the machine could give. A hypervisor may
run both cores on one, or other work beside them.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import harmonystream as hs
from bench import streams
from bench.cases import batch, rows
from bench.report import Row, figure
from bench.worker import Worker

SECONDS = 0.05  # for which a worker works at a time: starting it takes much less
GAP = 0.01  # between two times, for what has to be made ready
FEW = 8  # steps between two looks at the clock
SCALE = 1.8  # of the threads, where two cores are free
FREE = (1.9, 2.1)  # what two processes get there, and what is not an accident
ENOUGH, MOST = 11, 60  # turns with two free cores, and turns

ROWS, ROWS_EACH = "rows", 64

# The name, the emitters' API, and the tokens for each stream in a step.
CASES = tuple(
    (f"{name}, {n} token{'s' * (n > 1)}", api, n)
    for name, api in (("columns", ""), ("SSE bytes", "Chat"))
    for n in (1, 16)
)
CASES += ((f"parse_many, {ROWS_EACH} rows each", ROWS, 0),)
OWN = threading.local()  # what each worker has made for itself, in its own memory


class DataSet:
    """Rows for parse_many, in place of a batch."""

    def __init__(self) -> None:
        self.slots = rows.columns(rows.row(), ROWS_EACH)
        self.feed = partial(hs.columns.parse_many, threads=1)

    def forget(self) -> None:
        """Nothing is kept."""


def prepare(at: int, seconds: float) -> None:
    """Make a batch whose memory is there: in a server, new answers reuse that of those that ended."""
    _, api, n = CASES[at]
    OWN.seconds = seconds
    if api == ROWS:
        OWN.busy, OWN.given = DataSet(), ()
        return
    OWN.busy = batch.filled(api)
    ids = array("i", streams.prose(batch.STREAMS * n).body)
    OWN.given = (ids,) if n == 1 else (ids, array("q", range(0, len(ids) + 1, n)))
    rate(3 * seconds)


def work() -> None:
    busy, given = OWN.busy, OWN.given
    for _ in range(FEW):
        busy.feed(busy.slots, *given)


def rate(seconds: float) -> float:
    """How often it works in a second."""
    started, done = time.perf_counter(), 0
    while time.perf_counter() < started + seconds:
        work()
        done += 1
    return done / (time.perf_counter() - started)


def part(turn: int, cores: list[int], start: float) -> float:
    """The work of a worker beside the others, over its work alone: each alone in its turn, and then all at once."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores[turn]})  # this thread
    OWN.busy.forget()
    wait_until(start + turn * (OWN.seconds + GAP))
    alone = rate(OWN.seconds)
    wait_until(start + len(cores) * (OWN.seconds + GAP))
    return rate(OWN.seconds) / alone


def wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))


class Workers(ExitStack):
    """One thread or one process for each core, which has made its batch."""

    def __init__(self, kind: Callable[..., Executor], case: int, cores: list[int], seconds: float) -> None:
        super().__init__()
        self.cores = cores
        self.each = [self.enter_context(kind(1, initializer=prepare, initargs=(case, seconds))) for _ in cores]
        for worker in self.each:
            worker.submit(int).result()  # it is there

    def speedup(self) -> float:
        """How much more all of them get done at once than one."""
        start = time.perf_counter() + GAP
        parts = [worker.submit(part, turn, self.cores, start) for turn, worker in enumerate(self.each)]
        return sum(each.result() for each in parts)


def processes(workers: int, **more: Any) -> Executor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), **more)


class Found(NamedTuple):
    """Medians of what two threads and two processes got; in `free` of the `turns` two cores were free."""

    threads: float
    processes: float
    free: int
    turns: int


def compared(case: int, cores: list[int], enough: int, most: int, seconds: float = SECONDS) -> Found:
    samples: list[tuple[float, float]] = []
    free: list[tuple[float, float]] = []
    with (
        Workers(processes, case, cores, seconds) as apart,
        Workers(ThreadPoolExecutor, case, cores, seconds) as threads,
    ):
        before = apart.speedup()
        while len(free) < enough and len(samples) < most:
            together, after = threads.speedup(), apart.speedup()
            samples.append((together, median((before, after))))
            if all(FREE[0] <= given <= FREE[1] for given in (before, after)):
                free.append(samples[-1])
            before = after
    got, given = zip(*(free or samples))
    return Found(median(got), median(given), len(free), len(samples))


def speedup(case: int, enough: int, most: int, seconds: float) -> tuple[Found, int]:
    """Of one of the CASES, and the number of cores that this process sees."""
    cores = list(range(os.cpu_count() or 1))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)  # the process that started this one may be pinned
        cores = sorted(os.sched_getaffinity(0))
    return compared(case, (cores * 2)[:2], enough, most, seconds), len(cores)


def measured(scale: float = 1.0) -> Iterator[Row]:
    """A test takes a smaller `scale`."""
    enough, most = max(1, int(ENOUGH * scale)), max(1, int(MOST * scale))
    with Worker("cases.threads") as new:
        for at, (name, *_) in enumerate(CASES):
            found, cores = new.call("speedup", at, enough, most, SECONDS * scale)
            yield verdict(name, Found(*found), cores, enough)


def verdict(case: str, found: Found, cores: int, enough: int) -> Row:
    """Without two free cores the floor means nothing."""
    judged = found.free >= enough
    note = f"two processes get {found.processes:.2f}×; {cores} cores, two of them free in {found.free} of {found.turns}"
    return figure(
        f"two threads, over one: {case}",
        found.threads,
        "×",
        at_least=SCALE if judged else None,
        note=f"{'' if judged else 'not judged: '}{note} turns",
    )
