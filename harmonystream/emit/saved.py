"""The JSON in an emitter's state, which comes from outside: each field is checked as it is taken."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from .payload import Payload, clean

__all__ = ["State", "is_count", "json_object", "mover", "refused"]

_DEEPEST = 128


def refused(what: str) -> ValueError:
    return ValueError(f"not a usable emitter state: {what}")


def json_object(data: bytes) -> Payload:
    try:
        state = json.loads(data.decode(), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise refused("it is not JSON") from None
    if not isinstance(state, dict) or not _is_shallow(state):
        raise refused("it is not an object, or nested too deep")
    return state


def _is_shallow(value: Any) -> bool:
    """Is nothing nested so deep that somebody who walks through it could fail?"""
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


class State:
    """The fields of a state, each taken once and checked. Raises ValueError for what is not as it should be."""

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


@cache
def mover() -> Any:
    """The module that knows all three APIs. An import statement takes longer than to move a stream."""
    from . import saved_states

    return saved_states
