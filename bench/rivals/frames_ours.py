"""Token id -> SSE bytes with harmonystream: a ChatStream, one id per call."""

from __future__ import annotations

from typing import Any

import harmonystream as hs
from bench.clock import now
from bench.rivals.families import TOOL
from bench.rivals.said import Said, said_in
from harmonystream.emit.chat import ChatStream

TOKENS = 100_000  # a round reads about so many, to come nearer to the length of a rival's


class Framer:
    """Makes the response of one stream, again and again."""

    def __init__(self, stream: dict[str, Any], vocab: hs.Vocab | None) -> None:
        self._ids = stream["ids"]
        self._body, self._whole = stream["body"], stream["whole"]
        start = "auto" if stream["format"] == "harmony" else "content"
        self._make = lambda: hs.Parser(stream["format"], vocab, tools=[TOOL], start=start)

    def _stream(self) -> ChatStream:
        return ChatStream(self._make(), id="chatcmpl-1", model="model", created=1)

    def read(self) -> float:
        """Nanoseconds per token."""
        begin, end = self._body
        before, body, behind = self._ids[:begin], self._ids[begin:end], self._ids[end:]
        took, times = 0, max(1, TOKENS // len(self._ids))
        for _ in range(times):
            made = now()
            stream = self._stream()
            feed = stream.feed
            stream.start()
            for tid in before:
                feed(tid)
            started = now()
            for tid in body:
                feed(tid)
            ended = now()
            for tid in behind:
                feed(tid)
            stream.finish()
            took += now() - made if self._whole else ended - started
        return took / (times * len(self._ids if self._whole else body))

    def check(self) -> tuple[Said, float]:
        """The same, noting what is said."""
        stream = self._stream()
        return said_in([stream.start(), *map(stream.feed, self._ids), stream.finish()]), self.read()
