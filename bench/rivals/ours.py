"""harmonystream at work, the same way: one id per call."""

from __future__ import annotations

from functools import cache
from typing import Any

import harmonystream as hs
from bench.clock import now
from bench.rivals.families import ADDED, ADDED_IDS, FIRST_ADDED, TOOL
from bench.rivals.frames_ours import Framer as FramerOf
from bench.rivals.said import Said

NAME, VERSION = "harmonystream", hs.__version__
TOKENS = 200_000  # a round reads about so many, to come nearer to the length of a rival's


@cache
def vocab() -> hs.Vocab:
    o200k = hs.vocab.o200k_harmony()
    tokens = {tid: o200k.token_bytes(tid) for tid in range(FIRST_ADDED)}
    tokens |= {ADDED_IDS[marker]: marker.encode() for marker, special in ADDED.items() if not special}
    return hs.vocab.from_bytes(tokens, {marker: ADDED_IDS[marker] for marker, special in ADDED.items() if special})


def Framer(stream: dict[str, Any], ranks: str) -> FramerOf:  # noqa: N802 - a side's other reader
    return FramerOf(stream, None if stream["format"] == "harmony" else vocab())


class Reader:
    """Reads one stream, again and again."""

    def __init__(self, stream: dict[str, Any], ranks: str) -> None:
        self._ids = stream["ids"]
        self._body = stream["body"]
        start = "reasoning" if stream["expected"]["reasoning"] else "content"
        self._make = lambda: hs.Parser(stream["format"], vocab(), tools=[TOOL], start=start)
        if stream["format"] == "harmony":
            self._make = hs.Parser

    def read(self) -> float:
        """Nanoseconds per token."""
        ids, parser = self._ids, self._make()
        feed = parser.feed
        times = max(1, TOKENS // len(ids))
        started = now()
        for _ in range(times):
            for tid in ids:
                feed(tid)
            parser.finish()
            parser.reset()
        return (now() - started) / (times * len(ids))

    def check(self) -> tuple[Said, float]:
        """The same, noting what is said."""
        parser, said = self._make(), Said()
        events = [event for tid in self._ids for event in parser.feed(tid)]
        for event in [*events, *parser.finish()]:
            if isinstance(event, hs.ReasoningDelta):
                said.text(event.text, None)
            elif isinstance(event, hs.ContentDelta):
                said.text(None, event.text)
            elif isinstance(event, hs.ToolCallStart):
                said.call(event.index, event.name, None)
            elif isinstance(event, hs.ToolCallDelta):
                said.call(event.index, None, event.arguments)
        return said, self.read()

    def growth(self, blocks: int) -> float:
        """The last block of the body, over the first. The body is the same block, so many times."""
        begin, end = self._body
        block = self._ids[begin : begin + (end - begin) // blocks]
        young, old = self._make(), self._make()
        young.feed(self._ids[:begin])
        old.feed(self._ids[:begin])
        for _ in range(blocks - 1):
            _time(old, block)
        return _time(old, block) / _time(young, block)


def _time(parser: hs.Parser, ids: list[int]) -> int:
    feed = parser.feed
    started = now()
    for tid in ids:
        feed(tid)
    return now() - started
