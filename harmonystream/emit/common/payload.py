"""Payloads: dicts that are sent as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...checks import check_mapping
from ...surrogates import without_surrogates as clean

__all__ = ["Payload", "checked", "clean", "sendable", "to_json"]

Payload = dict[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def to_json(payload: Any) -> str:
    """Compact JSON, without escapes for non-ASCII characters. A lone surrogate cannot be sent and becomes U+FFFD.

    Raises ValueError for NaN and the infinities, which JSON does not have.
    """
    return clean(_encode(payload))


def checked(name: str, value: Any) -> str:
    """A part of a response's identity. Characters that cannot be sent become U+FFFD. Raises TypeError unless it is a
    str.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    value = value[:]  # a subclass of str could behave differently, so keep plain text
    return value if value.isascii() else clean(value)


def sendable(fields: Mapping[str, Any]) -> Payload:
    """A copy of the fields as JSON will send them. Raises TypeError or ValueError if they cannot be JSON."""
    check_mapping("extra", fields)
    made: Payload = json.loads(to_json(dict(fields)))
    return made
