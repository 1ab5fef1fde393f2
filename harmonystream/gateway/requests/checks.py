"""The allowed values of a request's options."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any, NamedTuple

__all__ = ["ANY", "BOOLEAN", "LIST", "OBJECT", "STOPS", "TEXT", "TEXTS", "Check", "integer", "number", "one_of"]

MOST_STOPS = 64
LONGEST_STOP = 1024
_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: JSON can have it, and no text that a model writes does."""


class Check(NamedTuple):
    """A test of a value, and a phrase for errors that describes the allowed values."""

    words: str
    holds: Callable[[Any], bool]


def integer(low: int, high: int = (1 << 31) - 1) -> Check:
    return Check(f"an integer from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


def number(low: float, high: float) -> Check:
    def holds(value: Any) -> bool:
        return (type(value) is int or (type(value) is float and isfinite(value))) and low <= value <= high

    return Check(f"a number from {low:g} to {high:g}", holds)


def one_of(*words: str) -> Check:
    return Check("one of " + ", ".join(words), lambda value: isinstance(value, str) and value in words)


def _are_stops(value: Any) -> bool:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MOST_STOPS:
        return False
    return all(isinstance(stop, str) and 0 < len(stop) <= LONGEST_STOP and _HALF.search(stop) is None for stop in stops)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


ANY = Check("any value", lambda _: True)
BOOLEAN = Check("true or false", lambda value: isinstance(value, bool))
TEXT = Check("a string", _is_text)
LIST = Check("a list", lambda value: isinstance(value, list))
OBJECT = Check("an object", lambda value: isinstance(value, dict))
TEXTS = Check(
    "an object whose values are strings", lambda value: isinstance(value, dict) and all(map(_is_text, value.values()))
)
STOPS = Check(
    f"a string, or a list of at most {MOST_STOPS} strings, each of 1 to {LONGEST_STOP} characters", _are_stops
)
