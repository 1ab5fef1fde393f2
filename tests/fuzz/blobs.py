"""Parser states as bytes: a blob either is refused with ValueError or makes a parser that works."""

from __future__ import annotations

import struct
from typing import Any

from streams import TEXT_FIELD

import harmonystream as hs
from fuzz import oracles, streaming, tokens

Case = dict[str, Any]
HEAD = 36  # magic, version, format, and the fingerprints of the vocabulary and the tools
LENGTHS = struct.Struct("<BIHII")  # after it: trim, max_hold, and the lengths of empty_args, the origin and the state
LONGEST_HELD = 16  # bytes that may begin a marker count when it is known whether they do
PATCH = 4  # bytes of a payload: what to do, where (two bytes), the value


def decode_patched(options: bytes, payload: bytes) -> Case:
    """A real state, changed here and there."""
    size = min(options[6] % 64, len(payload) // 2)
    patches = [payload[i : i + PATCH] for i in range(len(payload) - size, len(payload) - PATCH + 1, PATCH)]
    case = streaming.decode_options(options) | {"ids": tokens.read_ids(payload[: len(payload) - size])}
    case |= {"patches": [(patch[0], patch[1] | patch[2] << 8, patch[3]) for patch in patches]}
    case |= {"text_mode": bool(options[7] & 1), "fit": bool(options[7] & 2), "finished": options[7] & 0x1C == 0x1C}
    del case["turn"]
    return case


def decode_blob(options: bytes, payload: bytes) -> Case:
    size = options[6] % 32
    blob, then = payload[: len(payload) - size], payload[len(payload) - size :]
    tools = tokens.TOOLS[options[0] % len(tokens.TOOLS)]
    flags = {"text_mode": bool(options[7] & 1), "head": bool(options[7] & 2), "fit": bool(options[7] & 4)}
    return {"blob": blob, "then": tokens.read_ids(then), "tools": tools} | flags


def check_patched(
    ids: list[int],
    patches: list[tuple[int, int, int]],
    cuts: list[int],
    tools: list[str] | None,
    text_mode: bool,
    fit: bool,
    finished: bool,
    reason: str | None,
    **made: Any,
) -> None:
    """The state after the first piece, patched; then the rest."""
    parser = hs.Parser("harmony", tokens.vocab(), tools=tools, **made)
    first, *rest = streaming.cut(ids, cuts)
    try:
        if text_mode:
            parser.feed_text(tokens.spelled(first))
        else:
            parser.feed(first)
        if finished:
            parser.finish(reason)
    except hs.errors.ParseError:
        assert parser.strict
    blob = patched(parser.to_bytes(), patches)
    revive(fitted(blob) if fit else blob, [tid for piece in rest for tid in piece], tools, text_mode)


def patched(blob: bytes, patches: list[tuple[int, int, int]]) -> bytes:
    """Each patch sets, inserts or deletes a byte after the fingerprints."""
    data = bytearray(blob)
    for action, place, value in patches:
        at = HEAD + place % (len(data) - HEAD)
        if action % 8 == 6:
            data.insert(at, value)
        elif action % 8 == 7 and len(data) > HEAD + LENGTHS.size:
            del data[at]
        else:
            data[at] = value
    return bytes(data)


def fitted(blob: bytes) -> bytes:
    """The same with a length of the state that fits, so that it is looked at."""
    if len(blob) < HEAD + LENGTHS.size:
        return blob
    trim, hold, args, origin, _ = LENGTHS.unpack_from(blob, HEAD)
    state = len(blob) - HEAD - LENGTHS.size - args - origin
    if state < 0:
        return blob
    return blob[:HEAD] + LENGTHS.pack(trim, hold, args, origin, state) + blob[HEAD + LENGTHS.size :]


def check_blob(blob: bytes, then: list[int], tools: list[str] | None, text_mode: bool, head: bool, fit: bool) -> None:
    """Any bytes. `head`: with the fingerprints that get it past the first checks; `fit`: and a length that fits."""
    if head:
        blob = hs.Parser("harmony", tokens.vocab(), tools=tools).to_bytes()[:HEAD] + blob[HEAD:]
    revive(fitted(blob) if fit else blob, then, tools, text_mode)


def revive(blob: bytes, then: list[int], tools: list[str] | None, text_mode: bool) -> None:
    vocab = tokens.vocab()
    try:
        parser = hs.Parser.from_bytes(blob, vocab, tools=tools)
    except ValueError:
        return
    assert parser.to_bytes() == blob
    assert hs.Parser.from_bytes(blob, vocab, tools=tools).to_bytes() == blob
    looks = (parser.region, parser.role, parser.channel, parser.recipient, parser.content_type, parser.deviations)
    assert repr(looks) and repr(parser)
    before = parser.position
    twin = parser.fork()
    piece: Any = tokens.spelled(then) if text_mode else then
    said = carry_on(parser, [piece], text_mode)
    half = len(piece) // 2
    assert carry_on(twin, [piece[:half], piece[half:]], text_mode) == said
    if said is not None:
        assert sum(getattr(said[1], region) for region in oracles.REGIONS) == parser.position
        assert len(piece) <= parser.position - before <= len(piece) + LONGEST_HELD
    parser.reset()
    carry_on(parser, [piece], text_mode)


def carry_on(parser: hs.Parser, pieces: list[Any], text_mode: bool) -> tuple[list[str], hs.Usage] | None:
    """What the rest says, and the counts after it; None if the parser refuses to go on: it is finished, has failed, or
    has read the other kind. A state can be made up whose ranges or counts are wrong; nothing else may be."""
    feed = parser.feed_text if text_mode else parser.feed
    events: list[hs.Event] = []
    try:
        for piece in pieces:
            events += feed(piece)
        events += parser.finish()
    except ValueError:
        return None
    log = oracles.as_tuples(events)
    return [oracles.texts(log, kind) for kind in TEXT_FIELD], parser.usage
