"""What the emitters share: a parser on one side, one description of each payload, and bytes or dicts on the other."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any, ClassVar

from .._sse import Frame, SseWriter
from ..events import ContentDelta, Event, ReasoningDelta, ToolCallDelta

__all__ = ["EventStream", "Payload"]

Payload = dict[str, Any]

# They stand for the holes of a frame while it is made. Nobody can have them in an id or a name.
_TEXT, _NUMBER = os.urandom(16).hex(), os.urandom(16).hex()
_HOLES = re.compile(f'({_TEXT})|"{_NUMBER}"')
_SILENCE = Frame([b""], "")
_DELTAS: dict[type, str] = {ReasoningDelta: "reasoning", ContentDelta: "content", ToolCallDelta: "arguments"}


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_json(payload: Any) -> str:
    """Compact, and UTF-8 as it is. A lone surrogate becomes U+FFFD: it cannot be sent."""
    text = _encode(payload)
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class EventStream(SseWriter):
    """One response as an API streams it. Subclasses say what an event means as payloads, and how one is framed.

    `start`, `feed`, `feed_text` and `finish` return whole SSE frames as bytes; `events` their payloads as dicts.
    A response is either bytes or dicts throughout. A stream serves one thread at a time, as its parser does.
    """

    numbered: ClassVar[str | None] = None
    """The field that numbers the payloads, if the API has one."""

    # --- what an API defines ---

    def describe(self, event: Event) -> Iterable[Payload]:
        """The payloads that say this event, in order."""
        raise NotImplementedError

    def delta(self, kind: str, text: str) -> Payload | None:
        """The payload of a delta ("reasoning", "content" or "arguments") of what is open.

        Empty: it is hidden. None: it needs describe().
        """
        raise NotImplementedError

    def opening(self) -> Iterable[Payload]:
        """The payloads before the first token."""
        return ()

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        """The payloads behind the last event."""
        return ()

    def framed(self, payload: Payload) -> str:
        """One payload as an SSE frame."""
        return f"event: {payload['type']}\ndata: {to_json(payload)}\n\n"

    # --- bytes ---

    def start(self) -> bytes:
        """The frames before the first token."""
        return self._bytes(self.opening())

    def finish(self, reason: str | None = None, usage: Payload | None = None) -> bytes:
        """The last frames, the terminal ones included. reason: the engine's; usage: the API's, completed here."""
        return self._end(reason) + self._bytes(self.closing(usage))

    # --- dicts ---

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: str | None = None, usage: Payload | None = None
    ) -> list[Payload]:
        """The payloads of start() (no arguments), feed(tokens) or feed_text(tokens), or of finish(reason, usage)."""
        if finish:
            return self._payloads(self.parser.finish(reason)) + self._numbered(self.closing(usage))
        if tokens is None:
            return self._numbered(self.opening())
        if isinstance(tokens, (str, bytes)):
            return self._payloads(self.parser.feed_text(tokens))
        return self._payloads(self.parser.feed(tokens))

    # --- between the two ---

    def _numbered(self, payloads: Iterable[Payload]) -> list[Payload]:
        made = []
        for payload in payloads:
            if self.numbered is not None:
                payload[self.numbered] = self._number
            self._number += 1
            made.append(payload)
        return made

    def _payloads(self, events: Iterable[Event]) -> list[Payload]:
        return [payload for event in events for payload in self._numbered(self._described(event))]

    def _described(self, event: Event) -> Iterable[Payload]:
        kind = _DELTAS.get(type(event))
        if kind is None:
            return self.describe(event)
        text = _text_of(event)
        payload = self.delta(kind, text)
        if payload is None:
            return self.describe(event)
        if not payload:
            return ()
        shown = self._keep(kind, text)
        if shown == text:
            return (payload,)
        payload = self.delta(kind, shown)
        return (payload,) if shown and payload else ()

    def _bytes(self, payloads: Iterable[Payload]) -> bytes:
        return "".join(map(self.framed, self._numbered(payloads))).encode()

    def _on_event(self, event: Event) -> bytes:
        """What the writer has no frame for: a first delta, which gets one, or what may open or close something."""
        kind = _DELTAS.get(type(event))
        frame = None if kind is None else self._frame_of(kind)
        if kind is None or frame is None:
            self._reasoning_frame = self._content_frame = self._arguments_frame = None
            return self._bytes(self.describe(event))
        setattr(self, f"_{kind}_frame", frame)
        return self._framed(kind, _text_of(event))

    def _feed_with(self, ids: Any, logprobs: Any) -> bytes:
        raise TypeError(f"{type(self).__name__}.feed() takes no logprobs")

    def _frame_of(self, kind: str) -> Frame | None:
        payload = self.delta(kind, _TEXT)
        if not payload:
            return None if payload is None else _SILENCE
        if self.numbered is not None:
            payload[self.numbered] = _NUMBER
        return frame_of(self.framed(payload))


def _text_of(delta: Event) -> str:
    return delta.arguments if isinstance(delta, ToolCallDelta) else delta.text  # type: ignore[union-attr]


def frame_of(text: str) -> Frame:
    """A frame with its holes where the stand-ins are."""
    parts, holes, begin = [], "", 0
    for found in _HOLES.finditer(text):
        parts.append(text[begin : found.start()].encode())
        holes += "t" if found[1] else "n"
        begin = found.end()
    return Frame([*parts, text[begin:].encode()], holes)
