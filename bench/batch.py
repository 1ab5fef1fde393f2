"""A batch step of 1,024 streams, to columns and to SSE bytes; on two threads (that part is `python -m bench.batch`)."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import medians, now
from bench.emitters import EMITTERS
from bench.rows import Figure

STREAMS = 1024
STEPS = 32
SECONDS = 0.05  # that a thread works: starting one is nothing beside them
FEW = 8  # steps between two looks at the clock
SCALE, FREE = 1.8, 1.9  # of the batches, and of what shows that two cores are free
ENOUGH = 3  # turns with two free cores


def filled(emitters: bool) -> tuple[hs.Batch, array[int]]:
    """A batch whose streams are all in the answer."""
    batch = hs.Batch(capacity=STREAMS)
    opening = streams.marked_ids(streams.FINAL)
    slots = array("i")
    for _ in range(STREAMS):
        emitter = EMITTERS["Chat"](hs.Parser())
        emitter.start()
        slots.append(batch.add(emitter) if emitters else batch.open())
    feed: Callable[..., Any] = batch.feed_sse if emitters else batch.feed
    feed(slots, opening * STREAMS, range(0, STREAMS * len(opening) + 1, len(opening)))
    return batch, slots


def steps(n: int) -> list[array[int]]:
    """One token for each stream; no two streams at the same place of the text."""
    ids = streams.prose(STREAMS + n).ids
    return [array("i", ids[at : at + STREAMS]) for at in range(n)]


def one_token(emitters: bool) -> Callable[[], float]:
    batch, slots = filled(emitters)
    feed: Callable[..., Any] = batch.feed_sse if emitters else batch.feed
    tokens = steps(STEPS)

    def run() -> float:
        started = now()
        for ids in tokens:
            feed(slots, ids)
        return (now() - started) / (STEPS * STREAMS)

    return run


def measured(rounds: int) -> Iterator[Figure]:
    took = medians({"columns": one_token(False), "sse": one_token(True)}, rounds)
    note = f"{STREAMS:,} streams, one token each"
    yield Figure("a batch step to columns, per stream", took["columns"], "ns", at_most=20, note=note)
    yield Figure("a batch step to SSE bytes, per stream", took["sse"], "ns", at_most=100, note=note)
    yield from threads()


# --- threads: in a process of its own, which may use all cores -------------------------------------------------------

Case = tuple[str, bool, int]  # its name, with emitters?, tokens for each stream in a step
CASES: tuple[Case, ...] = (
    ("columns, 1 token", False, 1),
    ("columns, 16 tokens", False, 16),
    ("SSE bytes, 1 token", True, 1),
    ("SSE bytes, 16 tokens", True, 16),
)


def stepping(emitters: bool, piece: int) -> Callable[[], None]:
    """A few steps of a batch of its own. Its memory is there: in a server, the answers that have ended leave theirs to new ones."""
    batch, slots = filled(emitters)
    feed: Callable[..., Any] = batch.feed_sse if emitters else batch.feed
    ids = array("i", streams.prose(STREAMS * piece).ids)
    offsets = array("q", range(0, STREAMS * piece + 1, piece))
    given = (slots, ids) if piece == 1 else (slots, ids, offsets)

    def work() -> None:
        for _ in range(FEW):
            feed(*given)

    rate(work, 3 * SECONDS)
    if emitters:
        for slot in slots:
            emitter = batch.close(slot)
            emitter._take("content")
            assert batch.add(emitter) == slot
    return work


def hashing() -> Callable[[], None]:
    """What needs no GIL at all: shows whether two cores are free."""
    data = bytes(1 << 20)
    return lambda: hashlib.sha256(data) and None


def pin(core: int) -> None:
    """This thread stays on one of the process's cores, where the platform can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def rate(work: Callable[[], None], seconds: float = SECONDS) -> float:
    """How often it is done in a second."""
    started, done = time.perf_counter(), 0
    while time.perf_counter() < started + seconds:
        work()
        done += 1
    return done / (time.perf_counter() - started)


def speedup(make: Callable[[], Callable[[], None]], cores: list[int]) -> float:
    """What threads get done at once, one on each core: the sum of what part each does of what it does alone on that core."""
    ready = threading.Barrier(len(cores))

    def run(turn: int) -> float:
        pin(cores[turn])
        for k in range(len(cores)):
            ready.wait()
            if k == turn:
                work = make()
                alone = rate(work)
        ready.wait()
        return rate(work) / alone

    with ThreadPoolExecutor(len(cores)) as pool:
        return sum(pool.map(run, range(len(cores))))


def ticks() -> tuple[int, int]:
    """Of all cores since the machine started: busy, and all. (0, 0) where the platform does not tell."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            spent = [int(word) for word in file.readline().split()[1:9]]
    except OSError:
        return 0, 0
    return sum(spent) - spent[3] - spent[4], sum(spent)  # idle, and waiting for a disk


def others() -> float | None:
    """How many cores other processes keep busy, just now."""
    before, all_before = ticks()
    time.sleep(0.5)
    after, all_after = ticks()
    passed = all_after - all_before
    return (after - before) / passed * (os.cpu_count() or 1) if passed else None


def speedups(rounds: int = 21) -> dict[str, Any]:
    """The cores that it sees, how many others keep busy, and [case, two batches over one, turns in which two cores were free]."""
    cores = list(range(os.cpu_count() or 1))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)  # what runs this may be pinned
        cores = sorted(os.sched_getaffinity(0))
    two = (cores * 2)[:2]
    busy, found = others(), []
    for name, emitters, piece in CASES:
        samples = [turn(emitters, piece, two) for _ in range(rounds)]
        free = [batches for batches, hashes in samples if hashes >= FREE]
        found.append([name, median(free or [batches for batches, _ in samples]), len(free)])
    return {"cores": len(cores), "busy": busy, "turns": rounds, "found": found}


def turn(emitters: bool, piece: int, cores: list[int]) -> tuple[float, float]:
    """Two batches, and the worse of the hashes before and after them."""
    before = speedup(hashing, cores)
    batches = speedup(lambda: stepping(emitters, piece), cores)
    return batches, min(before, speedup(hashing, cores))


def threads() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "bench.batch"], check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    for name, batches, free in seen["found"]:
        yield verdict(name, batches, free, seen["turns"], seen["cores"], seen["busy"])


def verdict(case: str, batches: float, free: int, turns: int, cores: int, busy: float | None) -> Figure:
    """Without two free cores the floor means nothing: a hypervisor may run both on one."""
    note = f"{cores} cores" if busy is None else f"{cores} cores, of which others kept {busy:.1f} busy"
    note += f"; two were free in {free} of {turns} turns"
    return Figure(
        f"two threads on two batches, over one: {case}",
        batches,
        "×",
        at_least=SCALE if free >= ENOUGH else None,
        note=note if free >= ENOUGH else f"not judged: {note}",
    )


if __name__ == "__main__":
    print(json.dumps(speedups()))
