"""States of tag formats as bytes, altered: refused with ValueError, or a parser that works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import harmonystream as hs
from fuzz import blobs, oracles, rows, streaming, tags

Case = dict[str, Any]
TAGS_AT, TAGS_SIZE = 250, 180  # bytes


def decode(options: bytes, payload: bytes) -> Case:
    """The state of a stream that is cut once, and patches of four bytes each: see blobs.patched."""
    size = min(options[6] % 64, len(payload) // 2)
    payload, tail = payload[: len(payload) - size], payload[len(payload) - size :]
    case = tags.decode(options, payload)
    patches = [tail[i : i + blobs.PATCH] for i in range(0, len(tail) - blobs.PATCH + 1, blobs.PATCH)]
    case["patches"] = [(patch[0], place_of(patch), patch[3]) for patch in patches]
    case["fit"], case["finished"] = bool(options[7] & 1), options[7] & 0x1C == 0x1C
    del case["turn"], case["prompted"]
    return case


def place_of(patch: bytes) -> int:
    """Half of the patches go where most states have the tag machine's part."""
    place = patch[1] | patch[2] << 8
    return TAGS_AT + place % TAGS_SIZE if patch[0] & 16 else place


def check(
    row: str,
    how: str,
    stream: Sequence[Any],
    patches: list[tuple[int, int, int]],
    cuts: list[int],
    tools: str,
    fit: bool,
    finished: bool,
    reason: str | None,
    **made: Any,
) -> None:
    """The state after the first piece, patched; then the rest."""
    alphabet = rows.built_in(row)
    text_mode = how in ("text", "str")
    kept = {"vocab": alphabet.vocab(how), "tools": rows.TOOLS[tools]}
    parser = hs.Parser(row, **kept, **made, check_stops=False)
    first, *rest = streaming.cut(rows.units(alphabet, how, stream), cuts)
    try:
        (parser.feed_text if text_mode else parser.feed)(first)
        if finished:
            parser.finish(reason)
    except hs.errors.ParseError:
        assert parser.strict
    blob = blobs.patched(parser.to_bytes(), patches)
    then: Any = b"".join(rest) if text_mode else [tid for piece in rest for tid in piece]
    revive(blobs.fitted(blob) if fit else blob, then, text_mode, kept)


def revive(blob: bytes, then: Any, text_mode: bool, kept: Case) -> None:
    try:
        parser = hs.Parser.from_bytes(blob, **kept)
    except ValueError:
        return
    assert parser.to_bytes() == blob
    assert hs.Parser.from_bytes(blob, **kept).to_bytes() == blob
    looks = (parser.region, parser.role, parser.channel, parser.recipient, parser.content_type, parser.deviations)
    assert repr(looks) and repr(parser)
    twin, half = parser.fork(), len(then) // 2
    said = blobs.carry_on(parser, [then], text_mode)
    assert blobs.carry_on(twin, [then[:half], then[half:]], text_mode) == said
    if said is not None:
        assert sum(getattr(said[1], region) for region in oracles.REGIONS) == parser.position
    parser.reset()
    blobs.carry_on(parser, [then], text_mode)
