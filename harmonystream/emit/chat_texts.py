"""The texts and calls of one choice of Chat Completions: what is kept of them, and which field a text goes to."""

from __future__ import annotations

from functools import cached_property

from ..events import ContentDelta, Event, ReasoningDelta
from .kept import Forgotten, Kept
from .payload import Payload
from .stream import EventStream

__all__ = ["ChoiceStream"]


class ChoiceStream(EventStream):
    """A stream of one message in fields. It keeps the message for `response()`, unless keep_text is False."""

    _fields: tuple[str, ...] = ("reasoning",)
    _preamble_field: str | None = "content"
    _channel: str | None = None  # of the open message
    _has_text = False  # has it?
    _open: int | None = None  # the call whose arguments are shown

    @cached_property
    def _calls(self) -> Kept:
        return [] if self._keeps_text else Forgotten()

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """By field. Of a stream that keeps no text, a field that has had some has one empty text."""
        return {"content": []}

    def _fields_of(self, kind: str) -> tuple[str, ...]:
        """Where the text of the open message goes."""
        if kind == "reasoning":
            return self._fields
        field = self._preamble_field if self._channel == "commentary" else "content"
        return () if field is None else (field,)

    def _note_text(self, event: Event) -> None:
        """The open message has text, if the event is one."""
        if isinstance(event, (ReasoningDelta, ContentDelta)):
            self._has_text = True
            if not self._keeps_text:
                self._texts.update({field: [""] for field in self._fields_of(_kind(event))})

    def _parting_fields(self, event: Event) -> list[str]:
        """Of the first text of a message: its fields that have an earlier message's text."""
        if self._has_text or not isinstance(event, (ReasoningDelta, ContentDelta)):
            return []
        return [field for field in self._fields_of(_kind(event)) if self._texts.get(field)]

    def _keep_parted(self, fields: list[str], blank: str) -> None:
        """Two messages' texts have been parted in these fields."""
        for field in fields if self._keeps_text else ():
            self._texts[field].append(blank)

    def _keep_arguments(self) -> None:
        if self._open is not None and isinstance(self._calls, list):
            self._calls[self._open]["function"]["arguments"] += self._take("arguments")

    def _keep_texts(self) -> None:
        """Move the text of the open message to where it belongs."""
        for kind in ("reasoning", "content"):
            text = self._take(kind)
            for field in self._fields_of(kind) if text else ():
                self._texts.setdefault(field, []).append(text)

    def _shown_call(self, call: Payload) -> int:
        """Its number among those that are shown. It is open now."""
        self._open = len(self._calls)
        self._calls.append(call)
        return self._open


def _kind(event: Event) -> str:
    return "reasoning" if isinstance(event, ReasoningDelta) else "content"
