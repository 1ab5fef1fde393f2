"""Placeholders, of which the description of an API makes the frames of its script."""

from __future__ import annotations

import os
import re
from typing import Any

from ..._native.stream.parser import Parser

__all__ = ["CHANNELS", "HOLE", "NOTHING", "Frames", "Parts", "Reasons", "call_id_parts", "cut", "ends_of", "idle"]

Parts = tuple[list[bytes], str]
Frames = dict[tuple[str, str, int], Parts]
Reasons = dict[str | None, tuple[str, str]]  # a parser's -> the API's: without calls, and with calls

CHANNELS = (None, "analysis", "commentary", "final", "?")
"""By number; the last one is any other."""

_STEM = os.urandom(16).hex()
_LETTERS = "acdghiklmnopqrstuwxy"
_NUMBERS = "cnikopquxy"
HOLE = {letter: _STEM + letter for letter in _LETTERS}
"""By the hole's letter: what a payload has in its place. They are random, so no id or name contains them."""
_FOUND = re.compile(f'"{_STEM}([{_NUMBERS}])"|{_STEM}([{_LETTERS}])')


def idle() -> Parser:
    """For an emitter that only describes: it reads text, so no vocabulary is loaded."""
    return Parser("think")


def cut(text: str) -> Parts:
    """Cut at its placeholders: the parts, and the letters of the holes between them. A number has no quotes."""
    parts, holes, begin = [], "", 0
    for found in _FOUND.finditer(text):
        parts.append(text[begin : found.start()].encode())
        holes += found[found.lastindex or 0]
        begin = found.end()
    return [*parts, text[begin:].encode()], holes


NOTHING = cut("")


def call_id_parts(prefix: str) -> Parts:
    """The id of a call for which nobody decides it."""
    return cut(f"{prefix}_{HOLE['s']}_{HOLE['k']}")


def ends_of(closing: tuple[Parts, Parts] | None, reasons: Reasons) -> dict[str, Any]:
    """The arguments of a Script that end the response. closing: the last frames, with counts and with a usage."""
    if closing is None:
        return {}
    return {"closing": closing[0], "closing_usage": closing[1], "reasons": reasons}
