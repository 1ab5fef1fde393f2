"""The events of a stream, and their union `Event`."""

from typing import Any, TypeAlias

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
    "asdict",
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


def asdict(event: Event) -> dict[str, Any]:
    """An event as a dict of its `type` and its fields. JSON can hold it, as in `json.dumps(event, default=asdict)`.

    Raises TypeError for anything but an event, as JSON encoders expect of their `default`.
    """
    if not isinstance(event, _EVENTS):
        raise TypeError(f"asdict() takes an event, not {type(event).__name__}")
    made = {"type": type(event).__name__, **{name: getattr(event, name) for name in event.__match_args__}}
    if "path" in made:
        made["path"] = [*made["path"]]  # the path of a watched string; JSON has no tuples
    return made


_EVENTS: tuple[type[Any], ...] = Event.__args__


def __dir__() -> list[str]:
    return sorted(__all__)
