"""The events of a stream, and their union `Event`."""

from typing import TypeAlias, Union

from ._events import (
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

Event: TypeAlias = Union[
    MessageStart, MessageEnd, ReasoningDelta, ContentDelta, ToolCallStart, ToolCallDelta, ToolCallEnd, StreamEnd
]
