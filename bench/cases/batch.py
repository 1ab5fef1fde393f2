"""A batch step of 1,024 streams, to columns and to SSE bytes."""

from __future__ import annotations

from array import array
from functools import cache, partial
from typing import Any

import harmonystream as hs
from bench import streams
from bench.cases.emitters import EMITTERS
from bench.clock import Case, Feed

STREAMS = 1024
STEPS = 32


def filled(emitters: bool) -> tuple[hs.Batch, array[int]]:
    """A batch whose streams are all in the answer."""
    batch = hs.Batch(capacity=STREAMS)
    opening = streams.harmony_ids(streams.FINAL)
    slots = array("i")
    for _ in range(STREAMS):
        if not emitters:
            slots.append(batch.open())
            continue
        emitter = EMITTERS["Chat"](hs.Parser())
        emitter.start()
        slots.append(batch.add(emitter))
    feed_of(batch, emitters)(slots, opening * STREAMS, range(0, STREAMS * len(opening) + 1, len(opening)))
    return batch, slots


def feed_of(batch: hs.Batch, emitters: bool) -> Any:
    return batch.feed_sse if emitters else batch.feed


def steps(n: int) -> list[array[int]]:
    """One token for each stream; no two streams at the same place of the text."""
    ids = streams.prose(STREAMS + n).body
    return [array("i", ids[at : at + STREAMS]) for at in range(n)]


def step_case(name: str, emitters: bool, taken: bool = False) -> Case:
    """taken: each slot's frames are taken out of the block, as bytes. All rounds go on with the same batch."""

    @cache
    def opened() -> Feed:
        batch, slots = filled(emitters)
        feed: Feed = partial(feed_of(batch, emitters), slots)
        return (lambda ids: list(feed(ids))) if taken else feed  # type: ignore[call-overload]

    return Case(name, opened, steps(STEPS), STEPS * STREAMS, 1)


def cases() -> tuple[Case, Case, Case]:
    return (
        step_case("a batch step to columns, per stream", emitters=False),
        step_case("a batch step to SSE bytes, per stream", emitters=True),
        step_case("the same, each stream's bytes an object", emitters=True, taken=True),
    )
