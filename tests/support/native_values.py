"""tags/values.pyx, called from Python as the machine calls it."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable
from typing import Any

import native_calls

from harmonystream._native.tags import values
from harmonystream._schema import TYPES

STRUCTS: Any = native_calls.structs()
Buffer: Any = STRUCTS["Buffer"]
value_json = native_calls.function(values, "value_json")
literal_prefix = native_calls.function(values, "literal_prefix")
free = (ctypes.cdll.ucrtbase if sys.platform == "win32" else ctypes.CDLL(None)).free
free.argtypes, free.restype = [ctypes.c_void_p], None


def mask_of(types: Iterable[str]) -> int:
    return sum({TYPES[name] for name in types})


def converted(text: str, types: Iterable[str], untyped: str = "string") -> tuple[str, bool]:
    """The JSON of a value whose text this is, and whether the types allow it."""
    data = re.sub("[\ud800-\udfff]", "\ufffd", text).encode()
    out = Buffer()
    done = value_json(data, len(data), mask_of(types), untyped == "json", ctypes.addressof(out))
    try:
        assert done >= 0, "no memory"
        return ctypes.string_at(out.p, out.n).decode(), done == 1
    finally:
        free(out.p)


def transcode(text: str, types: Iterable[str] = (), *, untyped: str = "string") -> str:
    """The JSON of a value whose text this is. `types`: names of the JSON types that it may have; none: any."""
    return converted(text, types, untyped)[0]


def fits(text: str, types: Iterable[str] = ()) -> bool:
    """Does the text spell a value of one of these types? If not, transcode() makes a string of it all the same."""
    return converted(text, types)[1]


def may_be_literal(text: str, types: Iterable[str] = ()) -> bool:
    """Could this, or a longer text, be a null, number or boolean of types that allow strings too?"""
    data = text.encode()
    return bool(literal_prefix(data, len(data), mask_of(types)))
