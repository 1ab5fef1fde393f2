"""A batch step of 1,024 streams, to columns and to SSE bytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import medians, now
from bench.emitters import EMITTERS
from bench.rows import Figure

STREAMS = 1024
STEPS = 32


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


def one_token(emitters: bool, taken: bool = False) -> Callable[[], float]:
    """taken: each slot's frames are taken out of the block, as bytes."""
    batch, slots = filled(emitters)
    feed: Callable[..., Any] = batch.feed_sse if emitters else batch.feed
    tokens = steps(STEPS)

    def run() -> float:
        started = now()
        for ids in tokens:
            made = feed(slots, ids)
            if taken:
                list(made)
        return (now() - started) / (STEPS * STREAMS)

    return run


def measured(rounds: int) -> Iterator[Figure]:
    cases = {"columns": one_token(False), "block": one_token(True), "bytes": one_token(True, taken=True)}
    took = medians(cases, rounds)
    note = f"{STREAMS:,} streams, one token each"
    yield Figure("a batch step to columns, per stream", took["columns"], "ns", at_most=20, note=note)
    block = f"{note}; in one block"
    yield Figure("a batch step to SSE bytes, per stream", took["block"], "ns", at_most=100, note=block)
    yield Figure("the same, each stream's bytes an object", took["bytes"], "ns", at_most=100, note=note)
