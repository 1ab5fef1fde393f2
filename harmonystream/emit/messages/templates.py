"""Templates of all that Messages send, and of what is kept of it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..._native.wire.template import Templates
from ..common.payload import Payload, to_json
from ..common.placeholders import CHANNELS, HIDDEN, HOLE, NOTHING, Items, Parts, call_id_parts, cut, kept
from . import options

__all__ = ["beside", "templates_of"]

_DELTAS = {
    "reasoning": ("thinking_delta", "thinking"),
    "content": ("text_delta", "text"),
    "arguments": ("input_json_delta", "partial_json"),
}


@lru_cache(maxsize=256)
def templates_of(
    thinking: str,  # "" if it is hidden, "omitted" if it is sent without text
    seal: str,  # how thinking is signed: "", "hash" or "asked"
    shown: int | None,  # how many calls are shown
    given: str,  # fields of the message from the caller, as JSON
) -> Templates:
    blocks: dict[str, Payload] = {
        "reasoning": {"type": "thinking", "thinking": "", "signature": ""},
        "content": {"type": "text", "text": "", "citations": None},
        "arguments": options.call(HOLE["call id"], HOLE["call name"]),
    }
    whole = {
        "reasoning": {"thinking": "" if thinking == "omitted" else HOLE["text"], "signature": HOLE["seal"]},
        "content": {"text": HOLE["text"]},
        "arguments": {"input": HOLE["text"]},  # the arguments' text: see MessagesStream.response()
    }
    fields = json.loads(given)
    items: Items = {}
    seals = {}
    stop = _frames({"type": "content_block_stop", "index": HOLE["item index"]})
    for kind, block in blocks.items():
        for variant in range(len(CHANNELS)):
            started = {"type": "content_block_start", "index": HOLE["item index"], "content_block": block}
            items["begin", kind, variant] = _frames(started)
            items["sealed", kind, variant] = _delta("signature_delta", "signature", HOLE["seal"])
            items["end", kind, variant] = items["cut", kind, variant] = stop
            items["item", kind, variant] = items["cut item", kind, variant] = kept({**block, **whole[kind]})
            if kind == "reasoning" and not thinking:
                items["delta", kind, variant] = HIDDEN
            elif kind != "reasoning" or thinking != "omitted":
                items["delta", kind, variant] = _delta(*_DELTAS[kind], HOLE["delta"])
            seals[kind, variant] = seal if kind == "reasoning" else ""
    message: Payload = {
        "id": HOLE["response id"],
        "type": "message",
        "role": "assistant",
        "model": HOLE["model"],
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, **options.nulls(fields)}
    counts = {"input_tokens": HOLE["prompt tokens"], **options.CACHE_NULLS, "output_tokens": HOLE["response tokens"]}
    counts |= {"output_tokens_details": {"thinking_tokens": HOLE["reasoning tokens"]}, "server_tool_use": None}
    words = {reason: [options.stop_reason(reason, calls) for calls in (0, 1)] for reason in options.USUAL}
    return Templates(
        items,
        _frames({"type": "message_start", "message": {**message, "usage": HOLE["usage"], HOLE["head"]: 0}}),
        NOTHING,
        head=NOTHING,
        seals=seals,
        shown=shown,
        filtered=True,
        no_blank=True,
        call_id=call_id_parts("toolu"),
        closing=_closing(counts),
        closing_usage=_closing(HOLE["usage"]),
        reasons={
            reason: ((one or "", beside(one, None, fields)), (other or "", beside(other, None, fields)))
            for reason, (one, other) in words.items()
        },
    )


def beside(stop_reason: str | None, stop_sequence: str | None, given: Payload) -> str:
    """The fields of the message at its end, as JSON. given: fields of the message from the caller."""
    nulls = options.nulls(given)
    more = {"stop_details": nulls["stop_details"], "container": nulls["container"]}
    return to_json({"stop_reason": stop_reason, "stop_sequence": stop_sequence, **more})[1:-1]


def _frames(*events: Payload) -> Parts:
    return cut("".join(f"event: {event['type']}\ndata: {to_json(event)}\n\n" for event in events))


def _delta(type: str, field: str, text: str) -> Parts:
    return _frames({"type": "content_block_delta", "index": HOLE["item index"], "delta": {"type": type, field: text}})


def _closing(usage: Any) -> Parts:
    return _frames({"type": "message_delta", "delta": {HOLE["beside"]: 0}, "usage": usage}, {"type": "message_stop"})
