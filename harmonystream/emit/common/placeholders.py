"""Placeholders: an API's payloads have them where its templates get holes."""

from __future__ import annotations

import os
import re
from typing import Any

from ..._native.stream.parser import Parser
from ..._native.wire.template import HOLES
from .payload import to_json

__all__ = ["CHANNELS", "HIDDEN", "HOLE", "NOTHING", "Items", "Parts", "call_id_parts", "cut", "idle", "kept"]

Parts = tuple[list[bytes], list[str]]
Items = dict[tuple[str, str, int], Parts]

CHANNELS = (None, "analysis", "commentary", "final", "?")
"""Channels by number. The last one stands for any other channel."""

_STEM = os.urandom(16).hex()
HOLE = {name: f"{_STEM}{number:02}" for number, name in enumerate(HOLES)}
"""The placeholders by the names of their holes. They are random, so no id or name contains them."""
_JSON = "|".join(
    HOLE[name][-2:]
    for name in (
        *("number", "item index", "call index", "output", "created"),
        *("prompt tokens", "response tokens", "total tokens", "reasoning tokens"),
        *("usage", "logprobs", "all logprobs", "all bytes"),
    )
)
_FOUND = re.compile(rf',?"{_STEM}(\d\d)":0|"{_STEM}({_JSON})"|{_STEM}(\d\d)')


def idle() -> Parser:
    """A stand-in for an emitter that will get another parser. It reads text, so no vocabulary is loaded."""
    return Parser("think")


def cut(text: str) -> Parts:
    """Cut text at its placeholders, into parts and the names of the holes between them.

    Holes for numbers and other JSON have no quotes. A key with the value 0 stands for members, with the comma before.
    """
    parts, holes, begin = [], [], 0
    for found in _FOUND.finditer(text):
        parts.append(text[begin : found.start()].encode())
        holes.append(HOLES[int(found[found.lastindex or 0])])
        begin = found.end()
    return [*parts, text[begin:].encode()], holes


HIDDEN = NOTHING = cut("")


def kept(item: Any) -> Parts:
    """The template of an item as it is kept."""
    return cut("," + to_json(item))


def call_id_parts(prefix: str) -> Parts:
    """The template of a call's id, for calls whose id neither the model nor the caller gives."""
    return cut(f"{prefix}_{HOLE['id stem']}_{HOLE['call index']}")
