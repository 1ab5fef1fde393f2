"""Placeholders, of which the description of an API makes the frames of its script."""

from __future__ import annotations

import os
import re

from .._native.stream.parser import Parser

__all__ = ["CHANNELS", "HOLE", "Parts", "cut", "idle"]

Parts = tuple[list[bytes], str]

CHANNELS = (None, "analysis", "commentary", "final", "?")
"""By number; the last one is any other."""

_NUMBERS = "nikcopq"
HOLE = {letter: os.urandom(16).hex() for letter in "acghikmnopqrstw"}
"""By the hole's letter: what a payload has in its place. They are random, so no id or name contains them."""
_LETTER = {placeholder: letter for letter, placeholder in HOLE.items()}
_FOUND = re.compile(
    "|".join([*(f'"({HOLE[letter]})"' for letter in _NUMBERS), *(f"({placeholder})" for placeholder in HOLE.values())])
)


def idle() -> Parser:
    """For an emitter that only describes: it reads text, so no vocabulary is loaded."""
    return Parser("think")


def cut(text: str) -> Parts:
    """Cut at its placeholders: the parts, and the letters of the holes between them. A number has no quotes."""
    parts, holes, begin = [], "", 0
    for found in _FOUND.finditer(text):
        parts.append(text[begin : found.start()].encode())
        holes += _LETTER[next(filter(None, found.groups()))]
        begin = found.end()
    return [*parts, text[begin:].encode()], holes
