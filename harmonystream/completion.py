"""A whole output as a completion with messages and calls, and the delta that a piece of an output adds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .deviations import Deviation
from .events import (
    ContentDelta,
    Event,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from .regions import Usage

__all__ = ["CallDelta", "Completion", "Delta", "Message", "ToolCall", "cut_call"]


class ToolCall(NamedTuple):
    """One call of a whole output.

    index: its number in the output, from 0. name: the tool's. arguments: its joined deltas, JSON text.
    id: the model's own, or None. kind: "function", "builtin" or "other", as in `ToolCallStart`.
    complete: it was neither cut nor unreadable. balanced: the arguments are one balanced JSON value. Run a call only if
    it is both.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which is not needed here
    name: str
    arguments: str
    id: str | None
    kind: str
    complete: bool
    balanced: bool

    @property
    def parsed_arguments(self) -> dict[str, Any]:
        """The JSON object of the arguments, without text after it. `{"raw": arguments}` if they do not begin with an
        object.
        """
        from .call_arguments import read_arguments  # json is loaded only when arguments are read

        try:
            return read_arguments(self.arguments)
        except ValueError:
            return {"raw": self.arguments}


class Message(NamedTuple):
    """One message. In Harmony it has reasoning, content or one call; in other formats it may have all of them.

    `start` and `stop` are the range of generated tokens (text mode: bytes) from its header to its terminator.
    """

    role: str
    channel: str | None
    recipient: str | None
    content_type: str | None
    reasoning: str
    content: str
    tool_calls: tuple[ToolCall, ...]
    start: int
    stop: int

    @property
    def text(self) -> str:
        """The content, or the reasoning if there is no content, or else the calls' arguments."""
        return self.content or self.reasoning or "".join(call.arguments for call in self.tool_calls)


class Completion(NamedTuple):
    """A whole output, as `parse` returns it. It equals what streaming would have given.

    messages: each with its own reasoning, content and calls. reasoning, content, tool_calls: those of all messages;
    texts are joined without separators.
    finish_reason: "stop", "tool_calls", "length" or the engine's own word, or None if nothing shows why it ended.
    usage: the tokens of each region (text mode: bytes). deviations: what was repaired, in the order of the output.
    """

    messages: tuple[Message, ...]
    reasoning: str
    content: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    usage: Usage
    deviations: tuple[Deviation, ...]


class CallDelta(NamedTuple):
    """What a piece of an output adds to one call. `name` and the model's own `id` come with its beginning."""

    index: int  # type: ignore[assignment]
    id: str | None
    name: str | None  # None if the call has begun before
    arguments: str


class Delta(NamedTuple):
    """What a piece of an output adds, as `Parser.feed_delta` returns it. Each call is named once, in order.

    The texts of several messages are joined without separators.
    """

    reasoning: str
    content: str
    calls: tuple[CallDelta, ...]


def cut_call(events: Sequence[object]) -> ToolCallEnd | None:
    """The end of the call that the end of its stream has cut. None if these events have none.

    The model closed every other call. If such a call is not complete, it could not be read.
    """
    over = next((event for event in events if isinstance(event, StreamEnd)), None)
    if over is None or over.reason == "tool_calls":
        return None
    ends = [event for event in events if isinstance(event, ToolCallEnd) and not event.complete]
    return ends[-1] if ends and ends[-1].start >= over.start else None


class Collector:
    """Collects events into a completion, in one pass, without keeping anything twice."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.reasoning: list[str] = []
        self.content: list[str] = []
        self.calls: list[ToolCall] = []
        self.finish_reason: str | None = None
        self._message = 0, 0, 0, 0  # where the open message's range, reasoning, content and calls begin
        self._call: ToolCallStart | None = None
        self._arguments: list[str] = []

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, ContentDelta):  # this happens once per token, and is twice as fast as a pattern
                self.content.append(event.text)
                continue
            match event:
                case ReasoningDelta(text=text):
                    self.reasoning.append(text)
                case ToolCallDelta(arguments=text):
                    self._arguments.append(text)
                case MessageStart(start=start):
                    self._message = start, len(self.reasoning), len(self.content), len(self.calls)
                case ToolCallStart():
                    self._call, self._arguments = event, []
                case ToolCallEnd():
                    self._close_call(event)
                case MessageEnd():
                    self._close_message(event)
                case StreamEnd(reason=reason):
                    self.finish_reason = reason

    def _close_call(self, end: ToolCallEnd) -> None:
        call = self._call
        assert call is not None  # a call ends only after it began
        text = "".join(self._arguments)
        self.calls.append(ToolCall(call.index, call.name, text, call.id, call.kind, end.complete, end.balanced))

    def _close_message(self, end: MessageEnd) -> None:
        start, reasoning, content, calls = self._message
        header = (end.role, end.channel, end.recipient, end.content_type)
        texts = ("".join(self.reasoning[reasoning:]), "".join(self.content[content:]))
        self.messages.append(Message(*header, *texts, tuple(self.calls[calls:]), start, end.stop))
