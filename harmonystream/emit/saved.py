"""An emitter's state as bytes: the envelope, its signature, and the reading of what comes from outside."""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from .payload import Payload, clean, to_json

__all__ = ["Saved", "State", "packed", "refused", "unpacked"]

_VERSION = 1
_HEAD = Struct("<3sBcBqII")  # what it is, version, API, flags, running number, sizes of the parser's state and the rest
_DICTS, _SIGNED = 1, 2  # flags
_DIGEST = 32
_DEEPEST = 128


class Saved(NamedTuple):
    """What an emitter was: a parser's state, the number of its next payload, and the rest as JSON."""

    api: str
    dicts: bool
    number: int
    parser: bytes
    state: Payload


def refused(what: str) -> ValueError:
    return ValueError(f"not a usable emitter state: {what}")


def packed(saved: Saved, key: bytes | None) -> bytes:
    """As bytes, signed if there is a key."""
    signs = _checked_key(key)
    state = to_json(saved.state).encode()
    flags = (_DICTS if saved.dicts else 0) | (_SIGNED if signs else 0)
    head = _HEAD.pack(b"HSE", _VERSION, saved.api.encode(), flags, saved.number, len(saved.parser), len(state))
    data = head + saved.parser + state
    return data + hmac.digest(signs, data, "sha256") if signs else data


def unpacked(data: Any, key: bytes | None) -> Saved:
    """Raises TypeError for what is not bytes, ValueError for what packed() did not write with this key."""
    signs = _checked_key(key)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes() takes bytes, not {type(data).__name__}")
    data = bytes(data)
    if len(data) < _HEAD.size or not data.startswith(b"HSE"):
        raise ValueError("not an emitter state: it does not begin like one, or is truncated")
    _, version, api, flags, number, n_parser, n_state = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"this emitter state has version {version}; this release reads version {_VERSION}")
    if signs and not (
        flags & _SIGNED and hmac.compare_digest(hmac.digest(signs, data[:-_DIGEST], "sha256"), data[-_DIGEST:])
    ):
        raise ValueError("this emitter state was not signed with this key, or has been altered since")
    if flags & _SIGNED and not signs:
        raise ValueError("this emitter state is signed: pass the key")
    state_at = _HEAD.size + n_parser
    if len(data) != state_at + n_state + (_DIGEST if flags & _SIGNED else 0) or flags > 3:
        raise refused("its length does not fit its content")
    state = _json_object(data[state_at : state_at + n_state])
    return Saved(api.decode("latin-1"), bool(flags & _DICTS), number, data[_HEAD.size : state_at], state)


def _checked_key(key: Any) -> bytes | None:
    if key is not None and (not isinstance(key, bytes) or not key):
        raise TypeError(
            f"key is bytes that only your servers know, not {'empty' if key == b'' else type(key).__name__}"
        )
    return key


def _json_object(data: bytes) -> Payload:
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
        value: int = self.take(name, _is_count, 0)
        return value

    def maybe_count(self, name: str) -> int | None:
        value: int | None = self.take(name, lambda value: value is None or _is_count(value))
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


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)
