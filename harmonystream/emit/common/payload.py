"""What is sent: dicts that are JSON."""

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
    """Compact, and UTF-8 as it is. A lone surrogate becomes U+FFFD: it cannot be sent.

    Raises ValueError for NaN and the infinities, which JSON does not have.
    """
    return clean(_encode(payload))


def checked(name: str, value: Any) -> str:
    """A part of a response's identity. What cannot be sent of it becomes U+FFFD. Raises TypeError unless it is text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    value = value[:]  # of a subclass, the text alone
    return value if value.isascii() else clean(value)


def sendable(fields: Mapping[str, Any]) -> Payload:
    """A copy that is JSON as it will be sent. Raises TypeError or ValueError if it cannot be JSON."""
    check_mapping("extra", fields)
    made: Payload = json.loads(to_json(dict(fields)))
    return made
