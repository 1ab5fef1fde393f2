"""Converts a tool's result to text of a limited size."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from pathlib import PurePath
from typing import Any
from uuid import UUID

from ..surrogates import without_surrogates

__all__ = ["Writer", "sized"]

MAX_DEPTH = 100
"""The most levels of nested arrays and objects. An object that contains itself exceeds it."""

_BY_STR = (Decimal, UUID, PurePath, timedelta)


def sized(text: str, limit: int) -> tuple[str, bool]:
    """The text, cut to `limit` characters with a line that reports the cut, and whether it was cut."""
    if len(text) <= limit:
        return text, False
    return f"{text[:limit]}\n[cut after {limit} characters]", True


class Writer:
    """Writes a value as JSON, and stops soon after `limit` characters, however large the value is.

    Non-ASCII characters are kept, and a number that is not finite becomes null. Raises TypeError or ValueError for a
    value that JSON cannot express.
    """

    def __init__(self, limit: int) -> None:
        self.pieces: list[str] = []
        self._left = limit + 1

    def write(self, value: object, depth: int = 0) -> None:
        if self._left <= 0:
            return
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep, or contains itself")
        literal = self._literal(value)
        if literal is not None:
            self._put(literal)
            return
        plain = _plain(value)
        if isinstance(plain, Mapping):
            self._object(plain, depth)
        elif isinstance(plain, (Sequence, Set)) and not isinstance(plain, (str, bytes)):
            self._array(plain, depth)
        else:
            self.write(plain, depth + 1)

    def _put(self, piece: str) -> None:
        self.pieces.append(piece)
        self._left -= len(piece)

    def _literal(self, value: object) -> str | None:
        if isinstance(value, Enum):
            return None
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, str):
            return encode_basestring(without_surrogates(value[: self._left]))
        if isinstance(value, int):
            return int.__repr__(value)
        if isinstance(value, float):
            return float.__repr__(value) if math.isfinite(value) else "null"
        return None

    def _object(self, value: Mapping[Any, Any], depth: int) -> None:
        self._put("{")
        for n, key in enumerate(value):
            if self._left <= 0:
                return
            name = key if isinstance(key, str) else self._literal(key)
            self._put(
                (", " if n else "") + encode_basestring(without_surrogates(str(key if name is None else name))) + ": "
            )
            self.write(value[key], depth + 1)
        self._put("}")

    def _array(self, value: Iterable[Any], depth: int) -> None:
        self._put("[")
        for n, item in enumerate(value):
            if self._left <= 0:
                return
            if n:
                self._put(", ")
            self.write(item, depth + 1)
        self._put("]")


def _plain(value: Any) -> object:
    """Converts a value of a richer type to one that JSON has."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, _BY_STR):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode()
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and callable(as_dict := getattr(value, "_asdict", None)):
        return as_dict()
    if isinstance(value, (Mapping, Sequence, Set)):
        return value
    if callable(to_list := getattr(value, "tolist", None)):  # numpy's arrays and numbers, and similar ones
        return to_list()
    raise TypeError(f"{type(value).__name__} has no JSON form")
