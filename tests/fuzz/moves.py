"""Emitters' states as bytes: a moved response says what one says that stays. A changed state is refused with
ValueError, or makes a stream that works.
"""

from __future__ import annotations

import json
from typing import Any

import harmonystream as hs
from fuzz import blobs, emitters, tokens

Case = dict[str, Any]
HEAD = 5  # bytes that say what it is, its version and its API
VARIANTS = 2  # of emitters.OPTIONS that have no callbacks


def decode(options: bytes, payload: bytes) -> Case:
    size = options[6] % 32
    tail = payload[max(len(payload) - size, 0) :]
    patches = [tail[i : i + blobs.PATCH] for i in range(0, len(tail) - blobs.PATCH + 1, blobs.PATCH)]
    ids = tokens.read_ids(payload[: len(payload) - len(tail)])
    return {
        **{"ids": ids, "api": emitters.APIS[options[7] % 3], "variant": options[7] // 3 % VARIANTS},
        **{"cut": options[4] * len(ids) // 256, "dicts": bool(options[5] & 1)},
        "patches": [(patch[1] | patch[2] << 8, patch[3]) for patch in patches],
    }


def check(ids: list[int], api: str, variant: int, cut: int, dicts: bool, patches: list[tuple[int, int]]) -> None:
    stays = emitters.emitter_of(api, hs.Parser("harmony", tokens.vocab()), variant)
    kind = type(stays)
    if dicts:
        stays.events()
        stays.events(ids[:cut])
    else:
        stays.start()
        stays.feed(ids[:cut])
    data = stays.to_bytes()
    moves = kind.from_bytes(data, tokens.vocab())
    assert rest(moves, ids[cut:], dicts) == rest(stays, ids[cut:], dicts)
    changed = bytearray(data)
    for place, value in patches:
        changed[HEAD + place % (len(data) - HEAD)] = value
    try:
        stream = kind.from_bytes(bytes(changed), tokens.vocab())
    except ValueError:
        return
    dicts = changed[5] & 1 == 1
    try:
        rest(stream, ids[cut:], dicts)
    except (ValueError, hs.errors.ParseError):  # of a parser that has ended, has failed, or reads text
        parser = stream.parser
        assert parser.strict or parser.finished or stream.in_text
    json.dumps(stream.response())


def rest(stream: Any, ids: list[int], dicts: bool) -> Any:
    """What it says of these ids and at its end, and the whole response."""
    said = (stream.events(ids), stream.events(finish=True)) if dicts else (stream.feed(ids), stream.finish())
    return said, stream.response()
