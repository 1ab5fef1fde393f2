"""Templates of all frames of Responses, and of the items that are kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..._native.wire.template import Templates
from ..common.payload import Payload, to_json
from ..common.placeholders import CHANNELS, HIDDEN, HOLE, NOTHING, Items, Parts, call_id_parts, cut, kept
from . import options
from .items import CALLS, Item, Message, Search

__all__ = ["VARIANTS", "templates_of"]

VARIANTS = {type: number for number, type in enumerate(CALLS, 1)}
"""Variants for the items of calls, by type. 0 is a function call's, with only its id and name."""


@lru_cache(maxsize=256)
def templates_of(
    reasoning: Any,  # the class of its items; Any, because the type checker does not see that it is hashable
    encrypted: bool,
    own_ids: bool,  # does the caller give items their ids?
    shown: int | None,
    tokens: bool,  # do texts have the logprobs of their tokens?
) -> Templates:
    items: Items = {("delta", "reasoning", number): HIDDEN for number in range(len(CHANNELS))}

    def add(kind: str, variant: int, item: type[Item], begun: Payload, ended: Payload) -> None:
        id = HOLE["item id"] if own_ids else options.made_id(HOLE["id stem"], item.type, HOLE["item index"])
        index: Any = HOLE["item index"]
        opened, closed = item(id, index, begun), item(id, index, ended)
        items["begin", kind, variant] = _frames(opened.added())
        items.pop(("delta", kind, variant), None)
        if (delta := opened.delta(HOLE["delta"])) is not None:
            items["delta", kind, variant] = _frames([_logprobs(delta, "logprobs", "logprobs") if tokens else delta])
        for end, whole, complete in (("end", "item", True), ("cut", "cut item", False)):
            ends = closed.done(HOLE["text"], complete)
            if tokens:
                ends = [_logprobs(one, "all logprobs", "all bytes") for one in ends]
            items[whole, kind, variant] = kept(ends[-1]["item"])
            items[end, kind, variant] = _frames(ends)

    seals = {}
    for variant, channel in enumerate(CHANNELS):
        phase = options.phase(channel)
        add("content", variant, Message, phase, phase)
        if reasoning is not None:
            add("reasoning", variant, reasoning, {}, {HOLE["seal"]: 0} if encrypted else {})
        seals["reasoning", variant] = "asked" if encrypted else ""
        seals["content", variant] = "asked" if tokens else ""
    function = {"call_id": HOLE["call id"], "name": HOLE["call name"]}
    add("arguments", 0, CALLS["function_call"], function, function)
    for type, variant in VARIANTS.items():
        item = CALLS[type]
        add(
            "arguments", variant, item, {HOLE["call fields"]: 0}, {HOLE["seal" if item is Search else "call fields"]: 0}
        )
        seals["arguments", variant] = "asked" if item is Search else ""
    begun = {**options.OPEN, "error": None, "incomplete_details": None, "output": [], "usage": None}
    opening = [
        {"type": f"response.{name}", "response": {HOLE["head"]: 0, **begun}} for name in ("created", "in_progress")
    ]
    counts = {
        **{
            "input_tokens": HOLE["prompt tokens"],
            "output_tokens": HOLE["response tokens"],
            "total_tokens": HOLE["total tokens"],
        },
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": HOLE["reasoning tokens"]},
    }
    usual = "completed", options.beside(options.COMPLETED)
    return Templates(
        items,
        _frames(opening),
        NOTHING,
        seals=seals,
        shown=shown,
        functions=True,
        call_id=call_id_parts("call"),
        closing=_closing(counts),
        closing_usage=_closing(HOLE["usage"]),
        reasons=dict.fromkeys(options.WHOLE[:3], (usual, usual)),
        head=cut(to_json(options.head(HOLE["response id"], HOLE["created"], HOLE["model"]))[1:-1]),
    )


def _frames(events: list[Payload]) -> Parts:
    """The events as numbered frames."""
    numbered = [{**event, "sequence_number": HOLE["number"]} for event in events]
    return cut("".join(f"event: {event['type']}\ndata: {to_json(event)}\n\n" for event in numbered))


def _closing(usage: Any) -> Parts:
    whole = {HOLE["head"]: 0, "status": HOLE["reason"], HOLE["beside"]: 0, "output": [HOLE["output"]], "usage": usage}
    return _frames([{"type": f"response.{HOLE['reason']}", "response": whole}])


def _logprobs(event: Payload, events: str, items: str) -> Payload:
    """The event with holes for a text's logprobs, one for events and one for items."""
    if event["type"].startswith("response.output_text."):
        return {**event, "logprobs": HOLE[events]}
    if "logprobs" in event.get("part", ()):
        return {**event, "part": {**event["part"], "logprobs": HOLE[items]}}
    if "item" in event and event["item"]["type"] == "message":
        content = [{**part, "logprobs": HOLE[items]} for part in event["item"]["content"]]
        return {**event, "item": {**event["item"], "content": content}}
    return event
