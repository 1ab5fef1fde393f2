"""Templates of all that Chat Completions send, and of what is kept of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..._native.wire.template import Templates
from ..common.payload import Payload, to_json
from ..common.placeholders import CHANNELS, HIDDEN, HOLE, NOTHING, Items, Parts, call_id_parts, cut, kept
from . import options

__all__ = ["CUSTOM", "DONE", "Shape", "framed", "templates_of"]

DONE = b"data: [DONE]\n\n"
BLANK_LINE = "\n\n"  # separates two messages in one field, so that a reader sees where the preamble ends
CUSTOM = 1  # the variant of a call of a custom tool


class Shape(NamedTuple):
    """Streams of one shape share their templates."""

    choice: int
    reasoning: tuple[str, ...]  # the fields of reasoning
    preamble: str | None  # the field of preambles
    usage: bool  # is it sent?
    shown: int | None  # how many calls are shown
    named: bool  # did the request name the tool?
    alone: bool  # is this the only choice?
    tokens: bool  # do the chunks have the logprobs and ids of tokens?


def framed(payload: Payload) -> str:
    return f"data: {to_json(payload)}\n\n"


@lru_cache(maxsize=256)
def templates_of(shape: Shape) -> Templates:
    head = {
        "id": HOLE["response id"],
        "object": "chat.completion.chunk",
        "created": HOLE["created"],
        "model": HOLE["model"],
        HOLE["head"]: 0,
    }
    last = {"usage": None} if shape.usage else {}

    def chunk(delta: Payload, finish_reason: str | None = None, *, tokens: bool = False) -> Parts:
        choice: Payload = {"index": shape.choice, "delta": delta, "logprobs": HOLE["logprobs"] if tokens else None}
        choice["finish_reason"] = finish_reason
        if finish_reason is not None:
            choice[HOLE["beside"]] = 0
        if tokens:
            choice[HOLE["token ids"]] = 0
        return cut(framed({**head, "choices": [choice], **last}))

    names = list(dict.fromkeys((*shape.reasoning, *([shape.preamble] if shape.preamble else ()), "content")))
    items: Items = {}
    bits: dict[tuple[str, int], int] = {}
    for variant, channel in enumerate(CHANNELS):
        preamble = shape.preamble if channel == "commentary" else "content"
        for kind, fields in (("reasoning", shape.reasoning), ("content", (preamble,) if preamble else ())):
            items["delta", kind, variant] = HIDDEN
            if fields:
                items["delta", kind, variant] = chunk(dict.fromkeys(fields, HOLE["delta"]), tokens=shape.tokens)
                text = kept({"fields": fields, "text": HOLE["text"]})
                items["item", kind, variant] = items["cut item", kind, variant] = text
                bits[kind, variant] = sum(1 << names.index(field) for field in fields)
    for variant, call in (
        (0, options.call(HOLE["call id"], HOLE["call name"])),
        (CUSTOM, options.custom(HOLE["call id"], HOLE["call name"])),
    ):
        type, field = ("custom", "input") if variant == CUSTOM else ("function", "arguments")
        begun = {"index": HOLE["call index"], **call}
        items["begin", "arguments", variant] = chunk({"tool_calls": [begun]}, tokens=shape.tokens)
        more = {"index": HOLE["call index"], type: {field: HOLE["delta"]}}
        items["delta", "arguments", variant] = chunk({"tool_calls": [more]}, tokens=shape.tokens)
        whole = kept({**call, type: {**call[type], field: HOLE["text"]}})
        items["item", "arguments", variant] = items["cut item", "arguments", variant] = whole
    parts = {}
    for mask in range(1, 1 << len(names)):
        named = [name for at, name in enumerate(names) if mask & 1 << at]
        parts[mask] = chunk(dict.fromkeys(named, BLANK_LINE)), kept({"fields": named, "text": BLANK_LINE})
    counts: Payload = {
        "prompt_tokens": HOLE["prompt tokens"],
        "completion_tokens": HOLE["response tokens"],
        "total_tokens": HOLE["total tokens"],
    }
    counts["completion_tokens_details"] = {"reasoning_tokens": HOLE["reasoning tokens"]}
    ends = [cut((_usage(head, usage) if shape.usage else "") + DONE.decode()) for usage in (counts, HOLE["usage"])]
    return Templates(
        items,
        chunk({"role": "assistant", "content": ""}),
        chunk({}, HOLE["reason"], tokens=shape.tokens),
        head=NOTHING,
        parts=parts,
        fields=bits,
        shown=shape.shown,
        call_id=call_id_parts("call"),
        closing=ends[0],
        closing_usage=ends[1],
        reasons=options.ends(shape.named) if shape.alone else None,
    )


def _usage(head: Payload, usage: Any) -> str:
    return framed({**head, "choices": [], "usage": usage})
