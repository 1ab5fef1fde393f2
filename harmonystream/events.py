"""The events of a stream, and their union `Event`."""

from typing import TypeAlias

from ._native.stream.events import (
    ContentDelta,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ValueDelta,
    ValueEnd,
    ValueStart,
)

__all__ = [
    "ContentDelta",
    "Event",
    "MessageEnd",
    "MessageStart",
    "ReasoningDelta",
    "StreamEnd",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ValueDelta",
    "ValueEnd",
    "ValueStart",
]

Event: TypeAlias = (
    MessageStart
    | MessageEnd
    | ReasoningDelta
    | ContentDelta
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | ValueStart
    | ValueDelta
    | ValueEnd
    | StreamEnd
)
