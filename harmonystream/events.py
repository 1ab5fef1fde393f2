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
]

Event: TypeAlias = (
    MessageStart | MessageEnd | ReasoningDelta | ContentDelta | ToolCallStart | ToolCallDelta | ToolCallEnd | StreamEnd
)
