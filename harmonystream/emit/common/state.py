"""The JSON in an emitter's state. It comes from outside, so each field is checked when it is read."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from ..._native.wire.json_filter import Arguments
from .payload import Payload, clean, to_json

__all__ = [
    *("Callbacks", "State", "are_counts", "filter_of", "is_count", "json_object", "options_json"),
    *("placed", "read_options", "refused", "time_of", "writing_of"),
]

Callbacks: TypeAlias = "Mapping[str, Callable[..., Any] | None]"

_DEEPEST = 128
_TYPES: dict[str, tuple[type, ...]] = {  # options that the constructors take unchanged
    **{"include_usage": (bool,), "parallel_tool_calls": (bool,), "thinking": (bool,), "container_id": (str,)},
    **{"keep_text": (bool,), "token_ids": (bool,)},
    **{"text_key": (str,), "preamble_field": (str, type(None)), "extra": (dict,), "taken": (list,), "hooks": (list,)},
    **{"request": (dict,), "usage": (dict,), "signature": (str,)},
}


def refused(what: str) -> ValueError:
    return ValueError(f"not a usable emitter state: {what}")


def json_object(data: bytes) -> Payload:
    try:
        state = _decode(data.decode())
    except (ValueError, RecursionError):
        raise refused("it is not JSON") from None
    if not isinstance(state, dict) or not _is_shallow(state):
        raise refused("it is not an object, or nested too deep")
    return state


def _is_shallow(value: Any) -> bool:
    """Is the value so flat that a recursive walk cannot overflow the stack?"""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if isinstance(one, (dict, list)):
            if depth == _DEEPEST:
                return False
            waiting += [(inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one)]
    return True


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_decode = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite).decode


class State:
    """The fields of a state. Each is read once and checked. Raises ValueError for a field that is not valid."""

    def __init__(self, fields: Payload) -> None:
        self._left = dict(fields)

    def take(self, name: str, check: Callable[[Any], bool], default: Any = None) -> Any:
        value = self._left.pop(name, default)
        if not check(value):
            raise refused(f"{name} is out of range")
        return value

    def text(self, name: str, default: str | None = "") -> str:
        value: str = self.take(name, lambda value: isinstance(value, str), default)
        return clean(value)

    def maybe_text(self, name: str) -> str | None:
        value: str | None = self.take(name, lambda value: value is None or isinstance(value, str))
        return None if value is None else clean(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        return bool(self.take(name, lambda value: isinstance(value, bool), default))

    def count(self, name: str) -> int:
        value: int = self.take(name, is_count, 0)
        return value

    def maybe_count(self, name: str) -> int | None:
        value: int | None = self.take(name, lambda value: value is None or is_count(value))
        return value

    def texts(self, name: str) -> list[str]:
        value: list[str] = self.take(name, _are_texts, [])
        return [clean(one) for one in value]

    def fields(self, name: str) -> Payload:
        value: Payload = self.take(name, lambda value: isinstance(value, dict), {})
        return value

    def several(self, name: str) -> list[Payload]:
        """A list of objects."""
        value: list[Payload] = self.take(name, _are_objects, [])
        return value

    def end(self) -> None:
        if self._left:
            raise refused(f"it has unknown fields: {', '.join(self._left)}")


def is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


# --- the constructor's options ---


def options_json(constructor: Callable[..., None], given: Payload, callbacks: Callbacks) -> bytes:
    """The options as JSON, without defaults. Callbacks appear only by name."""
    usual = _usual(constructor)
    made = {name: value for name, value in given.items() if value != usual[name]}
    hooks = _passed(callbacks)
    return to_json({**made, "hooks": hooks} if hooks else made).encode()


def read_options(data: bytes, callbacks: Callbacks) -> Payload:
    """Read what options_json() wrote, for the constructor. Raises ValueError if `callbacks` has other names."""
    given = json_object(data)
    had = given.pop("hooks", [])
    if any(name in _TYPES and type(value) not in _TYPES[name] for name, value in given.items()):
        raise refused("an option is out of range")
    if _passed(callbacks) != had:
        raise ValueError(f"this emitter state was made with the callbacks {had}: pass them again, and no others")
    return given


def _passed(callbacks: Callbacks) -> list[str]:
    return sorted(name for name, callback in callbacks.items() if callback is not None)


@cache
def _usual(constructor: Callable[..., None]) -> Payload:
    usual = {name: one.default for name, one in inspect.signature(constructor).parameters.items()}
    return {**usual, "taken": [], "extra": {}, "request": {}, "usage": {}}


def time_of(data: bytes, types: tuple[type, ...]) -> int | float:
    """The time at which a response was created. Raises ValueError unless it is a number of one of these types."""
    try:
        time: int | float = _decode(data.decode())
    except (ValueError, RecursionError):
        raise refused("its time is out of range") from None
    if type(time) not in types:
        raise refused("its time is out of range")
    return time


# --- where a response is ---


def writing_of(state: State) -> Payload:
    """Read what SseWriter._writing() gave, and check the type of each field."""
    made: Payload = {
        "open": state.take("open", lambda value: value in ("", "reasoning", "content", "arguments"), ""),
        **{name: state.flag(name) for name in ("has_text", "cut", "blank")},
        **{name: state.count(name) for name in ("variant", "channel", "fields_now", "fields_before")},
        **{name: state.count(name) for name in ("begun", "calls")},
        **{name: state.text(name) for name in ("text", "name", "call_id", "item_id")},
    }
    fields = state.text("fields")
    if fields and not fields.startswith(","):
        raise refused("fields is out of range")
    members = to_json(json_object(b"{" + fields[1:].encode() + b"}"))[1:-1]
    return {**made, "fields": f",{members}" if members else ""}


def filter_of(state: State, text_key: str) -> Arguments | None:
    """The filter of the open call's arguments, after it has read this text or passed it on.

    A string in the text must be complete, except for its end.
    """
    given = state.take("filter", _is_filter)
    if given is None:
        return None
    in_text, text = given
    made = Arguments.of(text_key, in_text, text)
    try:
        whole = json.loads(made.sent + '"}') if in_text else {}
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise refused("its arguments are not the beginning of an object")
    return made


def _is_filter(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == 2 and isinstance(value[0], bool) and isinstance(value[1], str)
    )


# --- lists ---


def placed(state: State, name: str, check: Callable[[Any], bool]) -> list[tuple[int, Any]]:
    """Waiting entries, as pairs of position and value."""

    def are_placed(value: Any) -> bool:
        if not isinstance(value, list) or not all(isinstance(one, list) and len(one) == 2 for one in value):
            return False
        places = [place for place, _ in value]
        return are_counts(places) and places == sorted(places) and all(check(one) for _, one in value)

    return [(place, one) for place, one in state.take(name, are_placed)]


def are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_count, value))
