"""Reads the arguments that a model wrote for a call as a dict."""

from __future__ import annotations

import json
from math import isinf
from typing import Any, NoReturn

from .surrogates import without_surrogates

__all__ = ["UNREADABLE", "read_arguments"]

UNREADABLE = "{INVALID_JSON}"
"""The end of the arguments that hosts send of a call that the model closed and that could not be read. No client can
read such arguments as JSON, so none runs the call."""
MAX_DIGITS = 1000
"""The most digits of an integer. The time for converting digits grows with the square of their number."""


def read_arguments(text: str) -> dict[str, Any]:
    """The JSON object at the beginning of `text`. Text after the object is dropped. Empty text is an empty object.

    A JSON string that holds an object is parsed once more, because some models escape their arguments twice. Unescaped
    control characters in strings are accepted; lone surrogates become U+FFFD.

    Raises ValueError for text without an object, for a number that is not finite, and for the arguments of a call that
    could not be read (`UNREADABLE`). The message is for the model.
    """
    if text.endswith(UNREADABLE):
        raise ValueError("the call could not be read: write it again, with its arguments as one JSON object")
    value = _first_value(text)
    if isinstance(value, str):
        value = _first_value(value)
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, not {_KINDS[type(value)]}")
    return value


_KINDS = {str: "a string", int: "a number", float: "a number", bool: "a boolean", list: "an array", type(None): "null"}


def _first_value(text: str) -> Any:
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if start == len(text):
        return {}
    try:
        value, end = _DECODER.raw_decode(text, start)
        # A lone surrogate cannot be encoded. It can only come from an escape or from the text itself.
        if "\\ud" in text[start:end].lower() or not _is_encodable(text):
            value = json.loads(without_surrogates(json.dumps(value, ensure_ascii=False)))
    except json.JSONDecodeError as error:
        raise ValueError(f"the arguments are not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError("the arguments are nested too deeply") from None
    return value


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number in the arguments has more than {MAX_DIGITS} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise ValueError("a number in the arguments is too large")
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"the arguments are not JSON: {constant} is not a JSON number")


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer, parse_float=_finite, parse_constant=_refuse)
