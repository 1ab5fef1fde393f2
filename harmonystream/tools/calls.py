"""One call, converted from the forms of the parser, the APIs and their clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Call", "call_of"]


class Call(NamedTuple):
    """A call that can be run. `arguments` is text from the model, or a value that a client has already parsed."""

    id: str | None
    name: str
    arguments: str | Mapping[str, Any]
    complete: bool


def call_of(item: object) -> Call:
    """Converts `item` to a call: a `harmonystream.ToolCall`, or a call in the form of one of the three APIs or its
    client.

    Raises TypeError for anything else.
    """
    inner = _field(item, "function")
    described = item if inner is None else inner
    name = _field(described, "name")
    arguments = _field(described, "arguments")
    if arguments is None:
        arguments = _field(described, "input")
    if arguments is None:
        arguments = ""
    if not isinstance(name, str) or not isinstance(arguments, (str, Mapping)):
        raise TypeError(f"a call has a name, and arguments as text or as an object; this {type(item).__name__} has not")
    call_id = _field(item, "call_id") or _field(item, "id")
    complete = _field(item, "complete") is not False and _field(item, "status") != "incomplete"
    return Call(call_id, name, arguments, complete)


def _field(item: object, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
