"""The script of each API, made of what its emitter says of placeholders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._native.wire.script import Script
from .payload import Payload, to_json
from .script import CHANNELS, HOLE, Parts, cut

if TYPE_CHECKING:
    from .chat import ChatStream
    from .items import Item
    from .messages import MessagesStream
    from .responses import ResponsesStream

__all__ = ["chat_script", "messages_script", "responses_script"]

Frames = dict[tuple[str, str, int], Parts]
Reasons = dict[str | None, tuple[str, str]]  # a parser's -> the API's: without calls, and with calls
_NOTHING = cut("")


def _call_id(prefix: str) -> Parts:
    return cut(f"{prefix}_{HOLE['s']}_{HOLE['k']}")


def _ends_of(closing: tuple[Parts, Parts] | None, reasons: Reasons) -> dict[str, Any]:
    if closing is None:
        return {}
    return {"closing": closing[0], "closing_usage": closing[1], "reasons": reasons}


def chat_script(told: ChatStream, call: Payload, closing: tuple[Parts, Parts] | None, reasons: Reasons) -> Script:
    """call: one whose parts are placeholders. closing: the last frames, with counts and with a usage; None: there are
    other choices.
    """
    frames: Frames = {}
    bits: dict[tuple[str, int], int] = {}
    for number, channel in enumerate(CHANNELS):
        told._channel = channel
        for kind in ("reasoning", "content"):
            frames["delta", kind, number] = told._parts_of(kind) or _NOTHING
            fields = told._fields_of(kind)
            if fields:
                frames["part", kind, number] = told._parts(told._parting(fields))
                bits[kind, number] = 1 if kind == "reasoning" else 2 if fields == ("content",) else 4
    told._open = HOLE["k"]  # type: ignore[assignment]
    frames["delta", "arguments", 0] = told._parts_of("arguments") or _NOTHING
    frames["begin", "arguments", 0] = told._parts(told._call_chunk(HOLE["k"], call))
    finish = told._parts(told._chunk({}, HOLE["r"]))
    opening = told._parts(*told.opening())
    more = _ends_of(closing, reasons)
    return Script(
        frames, opening, _NOTHING, finish, fields=bits, shown=told._calls_shown, call_id=_call_id("call"), **more
    )


def messages_script(
    told: MessagesStream, blocks: Mapping[str, Payload], closing: tuple[Parts, Parts], reasons: Reasons
) -> Script:
    """blocks: what opens a block, by the kind of its deltas. closing: the last frames, with counts and with a usage."""
    frames: Frames = {}
    for kind, block in blocks.items():
        told._kind = kind
        for number in range(len(CHANNELS)):
            frames["begin", kind, number] = told._parts(told._started(block))
            frames["delta", kind, number] = told._parts_of(kind) or _NOTHING
            ends = told._parts(*told._closed(HOLE["g"] if told._signs and kind == "reasoning" else ""))
            frames["end", kind, number] = frames["cut", kind, number] = ends
            if kind == "reasoning" and not told._thinking:
                frames["delta", kind, number] = _NOTHING
    opening = told._parts(*told.opening())
    shown, signed = told._calls_shown, told._signs
    more = {**_ends_of(closing, reasons), "call_id": _call_id("toolu")}
    return Script(frames, opening, _NOTHING, _NOTHING, shown=shown, filtered=True, signed=signed, no_blank=True, **more)


def responses_script(
    told: ResponsesStream, items: Iterable[tuple[Item, int]], closing: tuple[Parts, Parts], reasons: Reasons
) -> Script:
    """items: with the number of the channel of their message. Those of reasoning are missing if it is hidden.

    closing: the last frame of a response that is complete, with counts and with a usage.
    """
    frames: Frames = {("delta", "reasoning", number): _NOTHING for number in range(len(CHANNELS))}
    for item, number in items:
        item.index = HOLE["i"]  # type: ignore[assignment]
        frames["begin", item.kind, number] = told._parts(*item.added())
        frames["delta", item.kind, number] = told._parts(item.delta(HOLE["t"]) or {})
        for end, kept, complete in (("end", "item", True), ("cut", "cut item", False)):
            ends = item.done(HOLE["w"], complete)
            frames[kept, item.kind, number] = cut("," + to_json(ends[-1]["item"]))
            frames[end, item.kind, number] = told._parts(*ends)
    head, opening = cut(to_json(told._head)[1:-1]), told._parts(*told.opening())
    shown = told._calls_shown
    more = {**_ends_of(closing, reasons), "call_id": _call_id("call")}
    return Script(frames, opening, head, _NOTHING, shown=shown, functions=True, **more)
