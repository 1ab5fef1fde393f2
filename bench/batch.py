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
from bench.rows import Figure
from bench.sse import EMITTERS
from harmonystream._batch import Batch

STREAMS = 1024
STEPS = 32
PIECE = 16  # tokens for each stream in a step, where the threads are compared
SCALE = 1.8


def filled(emitters: bool) -> tuple[Batch, array[int]]:
    """A batch whose streams are all in the answer."""
    batch = Batch(capacity=STREAMS)
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
    yield threads()


# --- threads: in a process of its own, which may use all cores -------------------------------------------------------


def reading() -> Callable[[], None]:
    batch, slots = filled(False)
    ids = array("i", streams.prose(STREAMS * PIECE).ids)
    offsets = array("q", range(0, STREAMS * PIECE + 1, PIECE))

    def work() -> None:
        for _ in range(STEPS):
            batch.feed(slots, ids, offsets)

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


def speedups(rounds: int = 7) -> tuple[float, float]:
    """(of two batches, of hashing)"""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    batches, hashes = [reading(), reading()], [hashing(), hashing()]
    samples = [(speedup(batches), speedup(hashes)) for _ in range(rounds)]
    return median(one for one, _ in samples), median(other for _, other in samples)


def threads() -> Figure:
    done = subprocess.run([sys.executable, "-m", "bench.batch"], check=True, capture_output=True, text=True)
    batches, hashes = json.loads(done.stdout)
    return verdict(batches, hashes)


def verdict(batches: float, hashes: float) -> Figure:
    """Without two free cores the floor means nothing."""
    name = "two threads on two batches, over one"
    if hashes < SCALE:
        return Figure(name, batches, "×", note=f"two cores are not free: sha256 gets {hashes:.2f}×")
    return Figure(name, batches, "×", at_least=SCALE, note=f"sha256 gets {hashes:.2f}×")


if __name__ == "__main__":
    print(json.dumps(speedups()))
