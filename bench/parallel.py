"""Two threads, a batch for each: how much more they get done than one. `python -m bench.parallel` prints it as JSON.

Each worker is pinned to a core, and compared with itself alone on that core, since cores are not equally fast. What the
machine could give is shown by two processes, which share nothing, before and after: a hypervisor may run both cores on
one, or somebody else's work beside them.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median
from typing import Any

from bench import streams
from bench.batch import STREAMS, filled
from bench.rows import Figure

SECONDS = 0.05  # that a worker works at a time: starting it is nothing beside them
GAP = 0.01  # between two times, for what has to be made ready
FEW = 8  # steps between two looks at the clock
SCALE = 1.8  # of the threads, where two cores are free
FREE = (1.9, 2.1)  # what two processes get there, and what is no accident
ENOUGH, MOST = 11, 60  # turns with two free cores, and turns

Case = tuple[str, bool, int]  # its name, with emitters?, tokens for each stream in a step
CASES: tuple[Case, ...] = (
    ("columns, 1 token", False, 1),
    ("columns, 16 tokens", False, 16),
    ("SSE bytes, 1 token", True, 1),
    ("SSE bytes, 16 tokens", True, 16),
)


class Steps:
    """Steps of a batch of its own. Their memory is there: in a server, new answers get that of those that ended."""

    def __init__(self, emitters: bool, piece: int) -> None:
        self.batch, self.slots = filled(emitters)
        self.emitters = emitters
        self.feed: Callable[..., Any] = self.batch.feed_sse if emitters else self.batch.feed
        ids = array("i", streams.prose(STREAMS * piece).ids)
        offsets = array("q", range(0, STREAMS * piece + 1, piece))
        self.given = (self.slots, ids) if piece == 1 else (self.slots, ids, offsets)
        rate(self, 3 * SECONDS)

    def __call__(self) -> None:
        for _ in range(FEW):
            self.feed(*self.given)

    def forget(self) -> None:
        """What the answers have said so far."""
        for slot in self.slots if self.emitters else ():
            emitter = self.batch.close(slot)
            emitter._take("content")
            assert self.batch.add(emitter) == slot


def rate(work: Callable[[], None], seconds: float) -> float:
    """How often it is done in a second."""
    started, done = time.perf_counter(), 0
    while time.perf_counter() < started + seconds:
        work()
        done += 1
    return done / (time.perf_counter() - started)


def part(work: Steps, turn: int, cores: list[int], start: float) -> float:
    """What it gets done beside the others, of what it gets done alone: each alone in its turn, and then all at once."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores[turn]})  # this thread
    work.forget()
    wait_until(start + turn * (SECONDS + GAP))
    alone = rate(work, SECONDS)
    wait_until(start + len(cores) * (SECONDS + GAP))
    return rate(work, SECONDS) / alone


def wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))


class Own(threading.local):
    """What each worker has made for itself, in its own memory."""

    work: Steps


OWN = Own()


def prepare(emitters: bool, piece: int) -> None:
    OWN.work = Steps(emitters, piece)


def own_part(turn: int, cores: list[int], start: float) -> float:
    return part(OWN.work, turn, cores, start)


class Workers(ExitStack):
    """One thread or one process for each core, which has made its batch."""

    def __init__(self, kind: Callable[..., Executor], case: Case, cores: list[int]) -> None:
        super().__init__()
        self.cores = cores
        self.each = [self.enter_context(kind(1, initializer=prepare, initargs=case[1:])) for _ in cores]
        for worker in self.each:
            worker.submit(int).result()  # it is there

    def speedup(self) -> float:
        """How much more all of them get done at once than one."""
        start = time.perf_counter() + GAP
        parts = [worker.submit(own_part, turn, self.cores, start) for turn, worker in enumerate(self.each)]
        return sum(each.result() for each in parts)


def processes(workers: int, **more: Any) -> Executor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), **more)


def speedups(enough: int = ENOUGH, most: int = MOST) -> dict[str, Any]:
    """The cores that it sees, and [case, threads, processes, turns in which two cores were free, turns]."""
    cores = list(range(os.cpu_count() or 1))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)  # what runs this may be pinned
        cores = sorted(os.sched_getaffinity(0))
    found = [compared(case, (cores * 2)[:2], enough, most) for case in CASES]
    return {"cores": len(cores), "enough": enough, "found": found}


def compared(case: Case, cores: list[int], enough: int, most: int) -> tuple[str, float, float, int, int]:
    samples: list[tuple[float, float]] = []
    free: list[tuple[float, float]] = []
    with Workers(processes, case, cores) as apart, Workers(ThreadPoolExecutor, case, cores) as threads:
        before = apart.speedup()
        while len(free) < enough and len(samples) < most:
            together, after = threads.speedup(), apart.speedup()
            samples.append((together, median((before, after))))
            if all(FREE[0] <= given <= FREE[1] for given in (before, after)):
                free.append(samples[-1])
            before = after
    got, given = zip(*(free or samples))
    return case[0], median(got), median(given), len(free), len(samples)


def measured() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "bench.parallel"], check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    for found in seen["found"]:
        yield verdict(*found, seen["cores"], seen["enough"])


def verdict(case: str, got: float, given: float, free: int, turns: int, cores: int, enough: int) -> Figure:
    """Without two free cores the floor means nothing."""
    judged = free >= enough
    note = f"two processes get {given:.2f}×; {cores} cores, two of them free in {free} of {turns} turns"
    return Figure(
        f"two threads on two batches, over one: {case}",
        got,
        "×",
        at_least=SCALE if judged else None,
        note=note if judged else f"not judged: {note}",
    )


if __name__ == "__main__":
    print(json.dumps(speedups()))
