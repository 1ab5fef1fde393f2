"""Log probabilities in Responses: those of an answer's tokens, in its deltas and in its item."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from .._native.wire.frame import Frame
from ..events import Event
from .kept import Forgotten, Kept
from .payload import Payload
from .stream import EventStream
from .tokens import as_sent, taken_until

__all__ = ["LogprobStream"]


class LogprobStream(EventStream):
    """A stream whose text has the logprobs that `feed` is given. Those of all other tokens are not sent."""

    _logprobs: deque[tuple[int, Payload]] | None = None  # by position; None: nobody has given any
    _text_logprobs: list[Payload]  # of the text that is open
    _next = 0  # the position of the next token: the parser's own does not count the tokens that it holds back

    @cached_property
    def _output(self) -> Kept:
        """The items that are done."""
        return [] if self._keeps_text else Forgotten()

    def _feed_with(self, ids: Any, logprobs: Sequence[Payload] | None) -> bytes:
        """Reads the ids one by one, so that a delta's tokens do not depend on how many come at once."""
        taken = self._listed(ids)
        if logprobs is not None and len(logprobs) != len(taken):
            raise ValueError(f"{len(logprobs)} logprobs for {len(taken)} tokens: pass one for each")
        if self._logprobs is None:
            self._logprobs, self._text_logprobs, self._watched = deque(), [], True
            self._leave_script()
            self._no_frames()
        position = max(self.parser.position, self._next)
        self._next = position + len(taken)
        self._logprobs.extend(enumerate(map(as_sent, logprobs or ()), position))
        return b"".join(map(self._read, taken))

    def _on_event(self, event: Event) -> bytes | Frame:
        return super()._on_event(event) if self._logprobs is None else self._bytes(self._described(event))

    def _described(self, event: Event) -> Iterable[Payload]:
        payloads = super()._described(event)
        if self._logprobs is None:
            return payloads
        taken_until(self._logprobs, event.start)
        here = taken_until(self._logprobs, event.stop)
        payloads = list(payloads)
        for payload in payloads:
            self._attach(payload, here)
        return payloads

    def _attach(self, payload: Payload, here: list[Payload]) -> None:
        """Add to a payload what belongs to it. here: of the tokens of its event."""
        match payload["type"]:
            case "response.output_text.delta":
                self._text_logprobs += here
                payload["logprobs"] = list(map(_without_bytes, here))
            case "response.output_text.done":
                payload["logprobs"] = list(map(_without_bytes, self._text_logprobs))
            case "response.content_part.done" if payload["part"]["type"] == "output_text":
                payload["part"]["logprobs"] = self._text_logprobs
            case "response.output_item.done" if payload["item"]["type"] == "message":
                kept = self._output[-1:] if isinstance(self._output, list) else ()
                for item in (payload["item"], *kept):
                    for part in item["content"]:
                        part["logprobs"] = self._text_logprobs
                self._text_logprobs = []


def _without_bytes(logprob: Payload) -> Payload:
    """As the events of text have it, in which a token has no bytes."""
    others = [{"token": one["token"], "logprob": one["logprob"]} for one in logprob.get("top_logprobs") or ()]
    return {"token": logprob["token"], "logprob": logprob["logprob"], "top_logprobs": others}
