"""Repairs for values that do not fit. A string is read as JSON if another type is expected. All validators use this."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

__all__ = ["MAX_MENDED", "Misfit", "described", "mended"]

MAX_ERRORS = 10
"""How many misfits an answer names to the model."""

MAX_MENDED = 32
"""How many strings of one call are tried as JSON. Each try validates all arguments, so more would take long."""

_LITERALS = {"True": "true", "False": "false", "None": "null"}


class Misfit(NamedTuple):
    """A place where a value does not fit. path: the keys and indices on the way to it. A validator may add words of its
    own.

    about_type: the value has a wrong type, or fits none of several alternatives.
    """

    path: tuple[str | int, ...]
    message: str
    about_type: bool = False


Misfits: TypeAlias = "Callable[[Any], Sequence[Misfit]]"
"""A function that returns what does not fit in a value: all of it, or more than `MAX_MENDED`."""


def mended(value: Any, misfits: Misfits) -> Any:
    """The value, or a repaired copy. Raises ValueError, which names what does not fit."""
    found = misfits(value)
    if not found:
        return value
    value = copy.deepcopy(value)
    tried: set[tuple[str | int, ...]] = set()
    while found:
        places = (_reached(value, misfit.path) for misfit in found)
        place = next((place for place in places if place not in tried), None)
        if place is None or len(found) > MAX_MENDED or len(tried) == MAX_MENDED:
            raise ValueError(described(found))
        tried.add(place)
        _mend(value, place, misfits)
        found = misfits(value)
    return value


def described(misfits: Sequence[Misfit]) -> str:
    """The first misfits, described for a model."""
    lines = [f"{'.'.join(map(str, one.path)) or 'arguments'}: {one.message}" for one in misfits[:MAX_ERRORS]]
    if (more := len(misfits) - MAX_ERRORS) > 0:
        lines.append("and more" if len(misfits) == MAX_MENDED + 1 else f"and {more} more")  # it may be cut off
    return "; ".join(lines)


def _reached(value: Any, path: Sequence[str | int]) -> tuple[str | int, ...]:
    """The part of a path that exists in the value. Missing keys, and a validator's own words, are left out."""
    made: list[str | int] = []
    for step in path:
        if isinstance(value, dict) and str(step) in value:  # a path may have a key "0" as a number
            made.append(str(step))
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            made.append(step)
            value = value[step]
        else:
            break
    return tuple(made)


def _mend(value: Any, place: tuple[str | int, ...], misfits: Misfits) -> None:
    """Replace a string by the value of its JSON, if the value's type is allowed there."""
    if not place:
        return
    parent: Any = value
    for step in place[:-1]:
        parent = parent[step]
    text = parent[place[-1]]
    if not isinstance(text, str):
        return
    try:
        parent[place[-1]] = json.loads(_LITERALS.get(text, text), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return
    if any(after.about_type and _reached(value, after.path) == place for after in misfits(value)):
        parent[place[-1]] = text


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
