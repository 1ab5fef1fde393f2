"""A stored response, replayed as a stream: `GET /v1/responses/ID?stream=true`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...emit.common.payload import to_json
from ...emit.responses.items import CALLS, Item, Message, Reasoning, Summary

__all__ = ["replayed"]


def replayed(response: dict[str, Any], after: int = -1) -> bytes:
    """The frames of a response. Each text is one delta. after: the number of the last event that is left out."""
    frames = []
    for number, payload in enumerate(_events(response)):
        if number > after:
            frames.append(f"event: {payload['type']}\ndata: {to_json({**payload, 'sequence_number': number})}\n\n")
    return "".join(frames).encode("utf-8", "replace")


def _events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield from _item_events(index, item)
    status = response["status"]
    kind = status if status in ("completed", "incomplete", "failed") else "completed"
    yield {"type": f"response.{kind}", "response": response}


def _item_events(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    made, text = _opened(index, item)
    if made is None:
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
        return
    yield from made.added()
    delta = made.delta(text) if text else None
    if delta is not None:
        yield delta
    *done, last = made.done(text, item.get("status") == "completed")
    yield from done
    yield {**last, "item": item}


def _opened(index: int, item: dict[str, Any]) -> tuple[Item | None, str]:
    """The item as a stream opens it, and its text. None: the stream has no event but the item itself."""
    kind, id = item["type"], item["id"]
    if kind == "message":
        text = "".join(part.get("text", "") for part in item["content"])
        return Message(id, index, {"phase": item["phase"]} if "phase" in item else {}), text
    if kind == "reasoning":
        parts = item.get("summary") or item.get("content") or []
        return (Summary if item.get("summary") else Reasoning)(id, index, {}), "".join(part["text"] for part in parts)
    if kind in ("function_call", "custom_tool_call"):
        fields: dict[str, Any] = {name: item[name] for name in ("call_id", "name", "namespace") if name in item}
        return CALLS[kind](id, index, fields), item.get("arguments", item.get("input", ""))
    return None, ""
