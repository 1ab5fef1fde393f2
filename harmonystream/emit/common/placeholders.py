"""Placeholders: an API's payloads have them where its templates get holes."""

from __future__ import annotations

import os
import re
from typing import Any

from ..._native.stream.parser import Parser
from .payload import to_json

__all__ = ["CHANNELS", "HIDDEN", "HOLE", "NOTHING", "Items", "Parts", "call_id_parts", "cut", "idle", "kept"]

Parts = tuple[list[bytes], str]
Items = dict[tuple[str, str, int], Parts]

CHANNELS = (None, "analysis", "commentary", "final", "?")
"""Channels by number. The last one stands for any other channel."""

_STEM = os.urandom(16).hex()
_LETTERS = "Aabcdefghijklmnopqrstuvwxyz"
_JSON = "Acikovnpquxyz"
HOLE = {letter: _STEM + letter for letter in _LETTERS}
"""The placeholders by the letters of their holes. They are random, so no id or name contains them."""
_FOUND = re.compile(f',?"{_STEM}([{_LETTERS}])":0|"{_STEM}([{_JSON}])"|{_STEM}([{_LETTERS}])')


def idle() -> Parser:
    """A stand-in for an emitter that will get another parser. It reads text, so no vocabulary is loaded."""
    return Parser("think")


def cut(text: str) -> Parts:
    """Cut text at its placeholders, into parts and the letters of the holes between them.

    Holes for numbers and other JSON have no quotes. A key with the value 0 stands for members, with the comma before.
    """
    parts, holes, begin = [], "", 0
    for found in _FOUND.finditer(text):
        parts.append(text[begin : found.start()].encode())
        holes += found[found.lastindex or 0]
        begin = found.end()
    return [*parts, text[begin:].encode()], holes


HIDDEN = NOTHING = cut("")


def kept(item: Any) -> Parts:
    """The template of an item as it is kept."""
    return cut("," + to_json(item))


def call_id_parts(prefix: str) -> Parts:
    """The template of a call's id, for calls whose id neither the model nor the caller gives."""
    return cut(f"{prefix}_{HOLE['s']}_{HOLE['k']}")
