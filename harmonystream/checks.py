"""Checks options where callers pass them. An option that cannot be right is refused by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isnan
from typing import Any

from ._native.core.vocab import Vocab

__all__ = [
    "check_flag",
    "check_function",
    "check_mapping",
    "check_names",
    "check_number",
    "check_text",
    "check_vocab",
    "shown",
]


def shown(value: object) -> str:
    """A value for an error: its repr if that is short, else its type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict, set)):
        try:
            text = repr(value)
        except Exception:  # an error of something inside the value
            text = ""
        if 0 < len(text) <= 80:
            return text
    return type(value).__name__


def check_flag(name: str, value: object, *, none: bool = False) -> None:
    """Raises TypeError for anything but True and False. A string such as "false" would count as true."""
    if not isinstance(value, bool) and not (none and value is None):
        raise TypeError(f"{name} is True{', False or None' if none else ' or False'}, not {shown(value)}")


def check_text(name: str, value: object, *, none: bool = True) -> None:
    """Raises TypeError unless it is a str. none: may it be None?"""
    if not isinstance(value, str) and not (none and value is None):
        raise TypeError(f"{name} is a str{' or None' if none else ''}, not {shown(value)}")


def check_mapping(name: str, value: object, *, none: bool = True) -> None:
    """Raises TypeError unless it is a mapping with string keys."""
    if none and value is None:
        return
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} is a mapping of names{' or None' if none else ''}, not {shown(value)}")


def check_names(name: str, value: object) -> None:
    """Raises TypeError unless it is a collection of strings. A single string would count as its characters."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(one, str) for one in value):
        raise TypeError(f"{name} is a list of names, not {shown(value)}")


def check_function(name: str, value: object) -> None:
    """Raises TypeError unless it is a function or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} is a function or None, not {shown(value)}")


def check_vocab(value: object, *, none: bool = True) -> None:
    """Raises TypeError unless it is a Vocab. none: may it be None?"""
    if not isinstance(value, Vocab) and not (none and value is None):
        raise TypeError(
            f"vocab is a Vocab, not {shown(value)}: hs.vocab.from_tokenizers(path) loads one from a tokenizer.json"
        )


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    whole: bool = False,
    none: bool = False,
) -> None:
    """Raises TypeError unless it is a number, and ValueError if it is out of range. none: may it be None?"""
    if none and value is None:
        return
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise TypeError(f"{name} is {kind}{' or None' if none else ''}, not {shown(value)}")
    if isnan(value) or (least is not None and value < least) or (above is not None and value <= above):
        range_ = "" if isnan(value) else f" of {least:g} or more" if least is not None else f" above {above:g}"
        raise ValueError(f"{name} is {kind}{range_}{', or None' if none else ''}, not {shown(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name} is {kind} of at most {most:g}{', or None' if none else ''}, not {shown(value)}")
