"""The options of an emitter in its state: the constructor's arguments, which the constructor checks again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._native.wire.script import Script
from .chat import ChatStream
from .chat_options import reasoning_fields
from .items import Item, Reasoning, Summary
from .messages import MessagesStream
from .payload import Payload, to_json
from .responses import ResponsesStream
from .responses_options import ENCRYPTED
from .saved import json_object, refused
from .script import HOLE, idle

if TYPE_CHECKING:
    from .stream import EventStream

__all__ = ["Callbacks", "check_callbacks", "made", "options_of", "shape_of", "type_of"]

Callbacks: TypeAlias = "Mapping[str, Callable[..., Any] | None]"
_REASONING: dict[type[Item] | None, bool | str] = {None: False, Reasoning: "text", Summary: "summary"}
_TYPES: dict[str, tuple[type, ...]] = {  # what the constructors take as it is
    **{"include_usage": (bool,), "parallel_tool_calls": (bool,), "thinking": (bool,), "container_id": (str,)},
    **{"keep_text": (bool,), "token_ids": (bool,)},
    **{"text_key": (str,), "preamble_field": (str, type(None)), "extra": (dict,), "taken": (list,), "hooks": (list,)},
    **{"request": (dict,), "usage": (dict,), "signature": (str,)},
}


# --- out ---


def options_of(stream: EventStream) -> bytes:
    """As JSON, without what is as usual. Made once for each stream: a stream that was moved has them already."""
    found: bytes | None = stream.__dict__.get("_options")
    if found is None:
        given, callbacks = _GIVEN[type_of(stream)](stream)
        usual = _usual(type_of(stream).__init__)
        given = {name: value for name, value in given.items() if value != usual[name]}
        hooks = sorted(hooked(callbacks))
        found = to_json({**given, "hooks": hooks} if hooks else given).encode()
        stream._options = found
    return found


def type_of(stream: EventStream) -> type[EventStream]:
    """The API. Raises ValueError for an emitter of another one."""
    for kind in _GIVEN:
        if isinstance(stream, kind):
            return kind
    raise ValueError(f"a {type(stream).__name__} cannot be moved: its class is of no API here")


def hooked(callbacks: Callbacks) -> list[str]:
    return [name for name, callback in callbacks.items() if callback is not None]


@cache
def _usual(constructor: Callable[..., None]) -> Payload:
    usual = {name: one.default for name, one in inspect.signature(constructor).parameters.items()}
    return {**usual, "taken": [], "extra": {}, "request": {}, "usage": {}}


def _of_chat(stream: ChatStream) -> tuple[Payload, Callbacks]:
    names = ("reasoning", "reasoning_content", "both", None)
    given = {
        "model": stream.model,
        "reasoning_field": next(name for name in names if reasoning_fields(name) == stream._fields),
        "preamble_field": stream._preamble_field,
        "tool_choice": "none" if stream._calls_shown == 0 else {"type": "function"} if stream._named else "auto",
        "parallel_tool_calls": stream._calls_shown != 1,
        "include_usage": stream._include_usage,
        "token_ids": stream._show_ids,
        "keep_text": stream._keeps_text,
        "extra": stream._extra,
        "taken": sorted(stream._taken),
    }
    return given, {"call_id": stream._own_call_id}


def _of_responses(stream: ResponsesStream) -> tuple[Payload, Callbacks]:
    encrypt = stream._reasoning_fields.get("encrypt")
    plain = stream._reasoning is Reasoning and not any(stream._said)  # without a request, that is the default
    given = {
        "model": stream.model,
        "request": {**stream._said[0], **({"include": [ENCRYPTED]} if encrypt else {})},
        "reasoning": True if plain else _REASONING[stream._reasoning],
        "container_id": stream._container_id,
        "keep_text": stream._keeps_text,
        "extra": stream._said[1],
        "taken": sorted(stream._taken),
    }
    callbacks = {"item_id": stream._own_item_id, "call_id": stream._own_call_id, "item_type": stream._item_type}
    return given, {**callbacks, "encrypt": encrypt}


def _of_messages(stream: MessagesStream) -> tuple[Payload, Callbacks]:
    one: Payload = {"type": "auto", "disable_parallel_tool_use": True}
    given = {
        "model": stream.model,
        "usage": stream._given[1],
        "thinking": bool(stream._thinking),
        "signature": None if stream._signs else "",
        "tool_choice": {None: None, 0: "none"}.get(stream._calls_shown, one),
        "text_key": stream._text_key,
        "keep_text": stream._keeps_text,
        "extra": stream._given[0],
        "taken": sorted(stream._taken),
    }
    return given, {"call_id": stream._own_call_id, "signature": stream._signature}


_GIVEN: dict[type[EventStream], Callable[[Any], tuple[Payload, Callbacks]]] = {
    ChatStream: _of_chat,
    ResponsesStream: _of_responses,
    MessagesStream: _of_messages,
}


_IDENTITY: dict[type[EventStream], tuple[str, ...]] = {  # of the response alone
    ChatStream: ("id", "created"),
    ResponsesStream: ("id", "created_at"),
    MessagesStream: ("id",),
}


# --- in ---


def made(kind: type[EventStream], options: bytes, identity: Payload, callbacks: Callbacks) -> Any:
    """A new stream with these options. Raises ValueError for what the constructor does not take."""
    given = json_object(options)
    hooks = given.pop("hooks", [])
    if any(name in given and type(given[name]) not in types for name, types in _TYPES.items()):
        raise refused("an option is out of range")
    check_callbacks(callbacks, hooks)
    try:
        stream = cast(Any, kind)(idle(), **identity, **given, **callbacks)
    except (TypeError, ValueError, KeyError) as error:
        raise refused(f"its options are not this emitter's: {error}") from None
    stream._options = options
    return stream


def check_callbacks(callbacks: Callbacks, had: list[str]) -> None:
    if sorted(hooked(callbacks)) != had:
        raise ValueError(f"this emitter state was made with the callbacks {had}: pass them again, and no others")


@lru_cache(maxsize=256)
def shape_of(kind: Hashable, options: bytes) -> tuple[Payload, Script | None]:
    """Of options without callbacks: what the constructor makes of them beside the response's identity, and the script.

    Nobody changes it. kind: the class, of which the type checker does not know that it is hashable.
    """
    api = cast("type[EventStream]", kind)
    stream = made(api, options, {name: 0 if name != "id" else "" for name in _IDENTITY[api]}, {})
    if isinstance(stream, ResponsesStream) and any(stream._said):
        stream._head_parts = _head_parts(stream)
    fields = {name: value for name, value in stream.__dict__.items() if name not in _IDENTITY[api]}
    return fields, stream._script()


def _head_parts(stream: Any) -> tuple[str, str, str]:
    """The JSON of what a response begins with, around its id and its time. It may repeat a long request."""
    stream.id, stream.created_at = HOLE["a"], HOLE["c"]
    before, _, more = to_json(stream._head)[1:-1].partition(f'"{stream.id}"')
    between, _, after = more.partition(f'"{stream.created_at}"')
    del stream._head
    return before, between, after
