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
from statistics import median
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import medians, now
from bench.emitters import EMITTERS
from bench.rows import Figure

STREAMS = 1024
STEPS = 32
SECONDS = 0.05  # that a thread works, at least
PARALLEL = "columns, 16 tokens"  # the case whose step is mostly without the GIL, and long beside handing it over
SCALE, FREE = 1.8, 1.9  # of the batches, and of what shows that two cores are free


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
    """Steps of a batch of its own: so many that starting a thread is nothing beside them."""
    batch, slots = filled(emitters)
    feed: Callable[..., Any] = batch.feed_sse if emitters else batch.feed
    ids = array("i", streams.prose(STREAMS * piece).ids)
    offsets = array("q", range(0, STREAMS * piece + 1, piece))
    given = (slots, ids) if piece == 1 else (slots, ids, offsets)
    feed(*given)  # what it allocates once is there
    started = time.perf_counter()
    feed(*given)
    times = int(SECONDS / (time.perf_counter() - started)) + 1

    def work() -> None:
        for _ in range(times):
            feed(*given)

    return work


def hashing() -> Callable[[], None]:
    """What needs no GIL at all: shows whether two cores are free."""
    data = bytes(1 << 25)

    def work() -> None:
        hashlib.sha256(data)

    return work


def speedup(works: list[Callable[[], None]]) -> float:
    """How much more gets done in a while by a thread for each, than by one after the other."""
    started = time.perf_counter()
    for work in works:
        work()
    in_turn = time.perf_counter() - started
    workers = [threading.Thread(target=work) for work in works]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return in_turn / (time.perf_counter() - started)


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


def speedups(rounds: int = 5) -> dict[str, Any]:
    """The cores that it sees, how many others keep busy, and [case, two batches, the least of hashing beside them]."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    hashes = [hashing(), hashing()]
    busy, found = others(), []
    for name, emitters, piece in CASES:
        batches = [stepping(emitters, piece) for _ in range(2)]
        samples = [(speedup(batches), speedup(hashes)) for _ in range(rounds)]
        found.append([name, median(one for one, _ in samples), min(other for _, other in samples)])
    return {"cores": cores, "busy": busy, "found": found}


def threads() -> Iterator[Figure]:
    done = subprocess.run([sys.executable, "-m", "bench.batch"], check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)
    for name, batches, hashes in seen["found"]:
        yield verdict(name, batches, hashes, seen["cores"], seen["busy"])


def gil_enabled() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def verdict(case: str, batches: float, hashes: float, cores: int, busy: float | None) -> Figure:
    """Without two free cores the floor means nothing."""
    name = f"two threads on two batches, over one: {case}"
    note = f"{cores} cores" if busy is None else f"{cores} cores, of which others kept {busy:.1f} busy"
    note += f"; sha256 gets {hashes:.2f}×"
    if hashes < FREE:
        return Figure(name, batches, "×", note=f"two cores are not free: {note}")
    if case != PARALLEL and gil_enabled():
        return Figure(name, batches, "×", note=f"{note}; most of it needs the GIL")
    return Figure(name, batches, "×", at_least=SCALE, note=note)


if __name__ == "__main__":
    print(json.dumps(speedups()))
