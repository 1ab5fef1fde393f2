"""A batch step of 1,024 streams that are all in the answer, to columns and to SSE bytes."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

import harmonystream as hs
from bench import streams
from bench.cases.emitters import EMITTERS
from bench.clock import Case, Feed, now

STREAMS = 1024
STEPS = 32


def begun(batch: hs.batch.Batch, api: str, format: str = "harmony", vocab: Any = None) -> int:
    """The slot of a response that begins."""
    made = EMITTERS[api](hs.Parser(format, vocab))
    made.start()
    return batch.add(made)


class Busy:
    """Streams that generate `ids`. api: of their emitters; "" for columns. places: the position of each stream in the
    ids; by default one after the other.
    """

    def __init__(
        self,
        api: str,
        opening: list[int],
        ids: Sequence[int],
        format: str = "harmony",
        vocab: Any = None,
        places: Sequence[int] | None = None,
    ) -> None:
        self.api, self.batch = api, hs.batch.Batch(format, vocab, capacity=STREAMS)
        self.feed: Any = self.batch.feed_sse if api else self.batch.feed
        self.steps = [array("i", [ids[place + at] for place in places or range(STREAMS)]) for at in range(STEPS)]

        def begin() -> array[int]:
            slots = [begun(self.batch, api, format, vocab) if api else self.batch.open() for _ in range(STREAMS)]
            self.feed(slots, opening * STREAMS, range(0, STREAMS * len(opening) + 1, len(opening)))
            return array("i", slots)

        self._begin = begin
        self.slots = begin()

    def forget(self) -> None:
        """Begin the answers again, so that their texts do not grow from round to round."""
        if self.api:
            for slot in self.slots:
                self.batch.close(slot)
            self.slots = self._begin()

    def round(self) -> float:
        """Nanoseconds for a step."""
        self.forget()
        started = now()
        for ids in self.steps:
            self.feed(self.slots, ids)
        return (now() - started) / STEPS


def filled(api: str) -> Busy:
    return Busy(api, streams.harmony_ids(streams.FINAL), streams.prose(STREAMS + STEPS).body)


def step_case(name: str, api: str, taken: bool = False) -> Case:
    """taken: each slot's frames are taken out of the block, as bytes. All rounds go on with the same batch."""

    @cache
    def opened() -> Feed:
        busy = filled(api)
        return lambda ids: list(busy.feed(busy.slots, ids)) if taken else busy.feed(busy.slots, ids)

    ids = streams.prose(STREAMS + STEPS).body
    return Case(name, opened, [array("i", ids[at : at + STREAMS]) for at in range(STEPS)], STEPS * STREAMS, 1)


def cases() -> tuple[Case, Case, Case]:
    return (
        step_case("a batch step to columns, per stream", ""),
        step_case("a batch step to SSE bytes, per stream", "Chat"),
        step_case("the same, each stream's bytes an object", "Chat", taken=True),
    )
