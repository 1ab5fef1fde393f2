"""What an emitter says, described event by event: slow, in Python, and without templates. The emitters must say the
same: see `described()` in tests/support/wire_frames.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import harmonystream as hs
from harmonystream.call_arguments import UNREADABLE
from harmonystream.completion import cut_call
from harmonystream.emit.common.payload import Payload, to_json
from harmonystream.emit.common.request import CallIds
from harmonystream.reasons import normal

__all__ = ["Reference"]


class Reference:
    """One response. stream: an emitter that is new, whose parser and options this one has."""

    numbered: str | None = None

    def __init__(self, stream: Any) -> None:
        self.stream, self.parser, self.id, self.model = stream, stream.parser, stream.id, stream.model
        self.shown = stream._calls_shown
        self.own_call_id, self.taken = stream._own_call_id, stream._taken
        self.keeps_text = stream._keeps_text
        self.call_ids = CallIds(self.own_call_id or f"{stream._call_prefix}_{stream._stem}_{{}}".format, self.taken)
        self.number = self.calls = 0
        self.has_text = self.inside = self.ended = False

    # --- an API's own ---

    def opening(self) -> Iterable[Payload]:
        raise NotImplementedError

    def describe(self, event: hs.Event) -> Iterable[Payload]:
        raise NotImplementedError

    def closing(self, usage: Any) -> Iterable[Payload]:
        raise NotImplementedError

    def framed(self, payload: Payload) -> str:
        return f"event: {payload['type']}\ndata: {to_json(payload)}\n\n"

    def response(self) -> Payload:
        raise NotImplementedError

    def failing(self, message: str) -> Iterable[Payload]:
        raise NotImplementedError

    def prepare_end(self, reason: str | None) -> None:
        """The parser's last events will come."""

    # --- the verbs ---

    def bytes_of(self, payloads: Iterable[Payload]) -> bytes:
        frames = []
        for payload in payloads:
            if self.numbered is not None:
                payload[self.numbered] = self.number
            self.number += 1
            frames.append(self.framed(payload))
        return "".join(frames).encode()

    def frames_of(self, events: Sequence[hs.Event]) -> bytes:
        cut = cut_call(events)
        return b"".join([self.bytes_of(self.describe(one)) for event in events for one in self.answerable(event, cut)])

    def answerable(self, event: hs.Event, cut: hs.Event | None) -> Iterable[hs.Event]:
        """An unreadable call ends like a complete one, with arguments that no client can read."""
        if not isinstance(event, hs.ToolCallEnd) or event.complete or event is cut or self.is_text():
            return [event]
        return [hs.ToolCallDelta(event.index, UNREADABLE), hs.ToolCallEnd(event.index, True, False)]

    def is_text(self) -> bool:
        """Is the open call passed on as free text?"""
        return False

    def start(self) -> bytes:
        return self.bytes_of(self.opening())

    def feed(self, ids: Any) -> bytes:
        return self.frames_of(self.parser.feed(ids))

    def feed_text(self, text: Any) -> bytes:
        return self.frames_of(self.parser.feed_text(text))

    def finish(self, reason: Any = None, usage: Any = None) -> bytes:
        usage = self.stream.checked_usage(usage)
        frames = self.ends(normal(reason))
        frames += self.bytes_of(self.closing(usage))
        self.ended = True
        return frames

    def flush(self, reason: Any = None) -> bytes:
        self.inside = self.ended = True
        return self.ends(normal(reason))

    def ends(self, reason: str | None) -> bytes:
        self.prepare_end(reason)
        return self.frames_of(self.parser.finish(reason))

    def error(self, message: str) -> bytes:
        self.ended = True
        return self.bytes_of(self.failing(message))

    # --- what they share ---

    def begun(self, text: str) -> str:
        """The first text of an item, without the newline that parts it from the message's text before a call."""
        return text.lstrip("\n") if self.has_text and self.stream._trims else text

    def hides_call(self) -> bool:
        return self.shown is not None and self.calls >= self.shown
