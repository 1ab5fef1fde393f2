"""harmonystream at work, the same way as its rivals: one id per call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import harmonystream as hs
from bench.clock import now
from bench.families import TOOL
from bench.rivals.output import Output, output_of, served
from bench.streams import vocab
from harmonystream.emit.chat import ChatStream

TOKENS = 200_000  # a round reads about so many, to come nearer to the length of a rival's


class Reader:
    """Reads one stream, again and again."""

    def __init__(self, stream: dict[str, Any]) -> None:
        self._opening, self._body, self._closing = stream["opening"], stream["body"], stream["closing"]
        self._ids = [*self._opening, *self._body, *self._closing]
        self._whole = stream["whole"]
        start = "reasoning" if stream["expected"]["reasoning"] else "content"
        tags = (stream["format"], None if stream["format"] == "harmony" else vocab())
        self._make = hs.Parser if tags[1] is None else lambda: hs.Parser(*tags, tools=[TOOL], start=start)

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

    def check(self) -> tuple[Output, float]:
        """The same, and the output."""
        parser = self._make()
        events = [event for tid in self._ids for event in parser.feed(tid)]
        return noted([*events, *parser.finish()]), self.read()


def noted(events: Iterable[hs.Event]) -> Output:
    """What events say, together."""
    output = Output()
    for event in events:
        if isinstance(event, hs.ReasoningDelta):
            output.text(event.text, None)
        elif isinstance(event, hs.ContentDelta):
            output.text(None, event.text)
        elif isinstance(event, hs.ToolCallStart):
            output.call(event.index, event.name, None)
        elif isinstance(event, hs.ToolCallDelta):
            output.call(event.index, None, event.arguments)
    return output


class Framer(Reader):
    """Token id -> SSE bytes: makes the response of one stream, again and again."""

    def _stream(self) -> ChatStream:
        return ChatStream(self._make(), id="chatcmpl-1", model="model", created=1)

    def read(self) -> float:
        """Nanoseconds per token, of the body or with `whole` of all."""
        took, times = 0, max(1, TOKENS // 2 // len(self._ids))
        for _ in range(times):
            made = now()
            stream = self._stream()
            feed = stream.feed
            stream.start()
            for tid in self._opening:
                feed(tid)
            started = now()
            for tid in self._body:
                feed(tid)
            ended = now()
            for tid in self._closing:
                feed(tid)
            stream.finish()
            took += now() - made if self._whole else ended - started
        return took / (times * len(self._ids if self._whole else self._body))

    def check(self) -> tuple[Output, float]:
        stream = self._stream()
        return output_of([stream.start(), *map(stream.feed, self._ids), stream.finish()]), self.read()


about, load, again = served(
    "harmonystream", hs.__version__, lambda stream: (Framer if stream["framed"] else Reader)(stream)
)
