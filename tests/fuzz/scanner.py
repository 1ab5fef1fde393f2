"""The JSON scanner: no cut matters, and what `json` can read is balanced."""

from __future__ import annotations

import json
from typing import Any

import harmonystream as hs
from fuzz import streaming, tokens

Case = dict[str, Any]


def decode(options: bytes, payload: bytes) -> Case:
    data = payload if options[7] & 1 else tokens.ordinary(tokens.read_ids(payload))
    return {"data": data, "cuts": sorted(set(options[:6]))}


def check(data: bytes, cuts: list[int]) -> None:
    whole, pieces = hs.inside.JsonScanner(), hs.inside.JsonScanner()
    whole.feed(data)
    for piece in streaming.cut(data, cuts):
        pieces.feed(piece)
    assert looks(whole) == looks(pieces)
    assert whole.depth >= 0
    if whole.balanced and whole.end is not None:
        value = hs.inside.JsonScanner()
        value.feed(data[: whole.end])
        assert value.balanced and not data[whole.end :].strip(b" \n\t\r")
    if is_json(data):
        assert whole.balanced and whole.depth == 0


def looks(scanner: hs.inside.JsonScanner) -> tuple[Any, ...]:
    return scanner.balanced, scanner.complete, scanner.end, scanner.depth


def is_json(data: bytes) -> bool:
    """By the grammar: Python's reader takes NaN and Infinity as well."""
    try:
        json.loads(data.decode(), parse_constant=lambda name: float("not " + name))
    except (ValueError, RecursionError):
        return False
    return True
