"""A parser's output as deltas. The texts of several messages are separated in the same way as in the emitters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._native.stream.parser import Parser
from ..completion import CallDelta, Delta
from ..events import ContentDelta, Event, MessageStart, ReasoningDelta, ToolCallDelta, ToolCallEnd, ToolCallStart
from ..formats import Format, HeaderFormat
from .model import joined

__all__ = ["BLANK_LINE", "Deltas"]

BLANK_LINE = "\n\n"
"""Between the texts of two messages in one field, as in the chunks of ChatStream."""


class Deltas:
    """The results of a parser's feed_delta() and finish_delta(), with a blank line between two messages in one field.

    Only a format with headers has several messages in one output. seen: the state of an earlier object, to continue
    from.
    """

    def __init__(self, parser: Parser, format: Format | HeaderFormat, seen: int = 0) -> None:
        self.parser = parser
        self._parts = isinstance(format, HeaderFormat)
        self.seen = seen
        """Which fields have text: 1 reasoning, 2 content. 4: the open message has some."""

    def feed(self, output: Any) -> Delta:
        """The delta that token ids, or text, add."""
        if not self._parts:
            return self.parser.feed_delta(output)
        text = isinstance(output, (str, bytes))
        return self._parted(self.parser.feed_text(output) if text else self.parser.feed(output))

    def finish(self, reason: Any = None) -> Delta:
        """The delta of the text that was held back. reason: the engine's finish reason, if it gives one."""
        return self._parted(self.parser.finish(reason)) if self._parts else self.parser.finish_delta(reason)

    def whole(self, output: Any) -> Delta:
        """The delta of a whole output."""
        return joined(self.feed(output), self.finish())

    def _parted(self, events: Iterable[Event]) -> Delta:
        reasoning, content = "", ""
        calls: list[CallDelta] = []
        goes_on = False  # is the last call still open?
        for event in events:
            if isinstance(event, ReasoningDelta):
                reasoning += self._part(1) + event.text
            elif isinstance(event, ContentDelta):
                content += self._part(2) + event.text
            elif isinstance(event, ToolCallDelta):
                if goes_on:
                    calls[-1] = calls[-1]._replace(arguments=calls[-1].arguments + event.arguments)
                else:
                    calls.append(CallDelta(event.index, None, None, event.arguments))
                goes_on = True
            elif isinstance(event, ToolCallStart):
                calls.append(CallDelta(event.index, event.id, event.name, ""))
                goes_on = True
            elif isinstance(event, ToolCallEnd):
                goes_on = False
            elif isinstance(event, MessageStart):
                self.seen &= ~4
        return Delta(reasoning, content, tuple(calls))

    def _part(self, field: int) -> str:
        """The separator before a text of this field."""
        blank = BLANK_LINE if self.seen & (field | 4) == field else ""
        self.seen |= field | 4
        return blank
