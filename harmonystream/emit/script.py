"""Placeholders, of which the description of an API makes the frames of its script."""

from __future__ import annotations

import os
import re

from .._native.stream.parser import Parser

__all__ = ["CHANNELS", "HOLE", "Parts", "cut", "idle"]

Parts = tuple[list[bytes], str]

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
