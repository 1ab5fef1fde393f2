"""What clients see of a Messages stream: the rules that it keeps, the official client's models, its reading."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from typing import Any

import anthropic
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import BaseModel
from wire_frames import Payload, models_of, validated
from wire_scenarios import Item, Text

import harmonystream as hs

WHOLE = Message
DELTAS = {"thinking": ("thinking_delta", "signature_delta"), "text": ("text_delta",), "tool_use": ("input_json_delta",)}
REASONS = {"length": "max_tokens", "content_filter": "refusal"}
# What the client's types require, and is null here.
NULLS: Payload = {"container": None, "diagnostics": None, "stop_details": None}
USAGE_NULLS: Payload = dict.fromkeys(
    (
        *("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo"),
        *("output_tokens_details", "server_tool_use", "service_tier", "speed"),
    )
)
DIRECT = {"type": "direct"}
USAGE: Payload = {"input_tokens": 7, "output_tokens": 70, "output_tokens_details": {"thinking_tokens": 9}}


def stream_of(parser: hs.Parser, **options: Any) -> hs.MessagesStream:
    return hs.MessagesStream(parser, **{"id": "msg_1", "model": "m", **options})


# --- the official client ---


@cache
def models() -> dict[str, type[BaseModel]]:
    return models_of(RawMessageStreamEvent)


def validate(payload: Payload) -> Any:
    return validated(models()[payload["type"]], payload)


def plain(message: Any) -> Payload:
    """A message that the client has assembled, as the server would send it: without what it adds."""
    made: Payload = message.to_dict(mode="python")
    for block in made["content"]:
        assert block.pop("parsed_output", None) is None
    return made


def read_by_client(payloads: list[Payload]) -> Payload:
    """The official client's own reading of a stream, without HTTP. Raises what it would raise there."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for payload in payloads:
        event: Any = validate(payload)
        snapshot = accumulate_event(
            event=event, current_snapshot=snapshot, json_bufs=buffers, output_format=anthropic.NOT_GIVEN
        )
    return plain(snapshot)


# --- the rules ---


def blocks_of(payloads: list[Payload]) -> list[tuple[Payload, str, str]]:
    """What the blocks say, one by one: (as it starts, its deltas joined, its signature). One is open at a time."""
    start, *inside, delta, stop = payloads
    assert [one["type"] for one in (start, delta, stop)] == ["message_start", "message_delta", "message_stop"]
    message = start["message"]
    assert (message["content"], message["stop_reason"], message["stop_sequence"]) == ([], None, None)
    assert delta["usage"]["output_tokens"] >= 0
    blocks: list[tuple[Payload, str, str]] = []
    while inside:
        size = 1 + next(at for at, one in enumerate(inside) if one["type"] == "content_block_stop")
        begin, *deltas, _ = inside[:size]
        assert begin["type"] == "content_block_start"
        assert {one["index"] for one in inside[:size]} == {len(blocks)}
        assert {one["type"] for one in deltas} <= {"content_block_delta"}
        block, said = begin["content_block"], dict.fromkeys(DELTAS[begin["content_block"]["type"]], "")
        for one in deltas:
            (text,) = [value for field, value in one["delta"].items() if field != "type"]
            assert text
            said[one["delta"]["type"]] += text
        text, signature = [*said.values(), ""][:2]
        assert text.strip() if block["type"] == "text" else text or block["type"] == "tool_use"
        blocks.append((block, text, signature))
        inside = inside[size:]
    ids = [block["id"] for block, *_ in blocks if "id" in block]
    assert len(set(ids)) == len(ids)
    return blocks


def assembled(payloads: list[Payload]) -> Payload:
    """The message, put together by the official client, whose rules are more than can be said here."""
    blocks_of(payloads)
    return read_by_client(payloads)


# --- what a scenario says ---


def expected(format: str, said: list[Item], reason: str | None) -> Payload:
    content: list[Payload] = []
    calls = 0
    whole = True
    for item in said:
        if isinstance(item, Text) and item.kind == "reasoning":
            content.append({"type": "thinking", "thinking": item.text, "signature": signature_of(item.text)})
        elif isinstance(item, Text):
            content.append({"type": "text", "text": item.text, "citations": None})
        else:
            id = f"functions.{item.name}:{calls}" if format == "kimi_k2" else f"toolu_1_{calls}"
            content.append({"type": "tool_use", "id": id, "name": item.name, "input": item.input, "caller": DIRECT})
            calls, whole = calls + 1, whole and item.complete
    stop = REASONS.get(reason or "stop", "tool_use" if calls and whole else "end_turn")
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return {**head, "stop_reason": stop, "stop_sequence": None, **NULLS, "usage": {**USAGE_NULLS, **USAGE}}


def signature_of(text: str, id: str = "msg_1") -> str:
    """As `wire/signature.pyx` makes it: a hash of 64 bits, spread to 32 bytes."""
    h = 0xCBF29CE484222325
    for part in (id, text):
        data = json.dumps(part, ensure_ascii=False)[1:-1].encode()
        whole = len(data) // 8 * 8
        for at in range(0, whole, 8):
            h = _fnv(h ^ h >> 29, int.from_bytes(data[at : at + 8], "little"))
        h = _mixed(_fnv(_fnv(h, int.from_bytes(data[whole:], "little")), len(data)))
    made = b""
    for _ in range(4):
        h = _mixed(h + 0x9E3779B97F4A7C15 & 2**64 - 1)
        made += h.to_bytes(8, "little")
    return b64encode(made).decode()


def _fnv(h: int, number: int) -> int:
    return (h ^ number) * 0x100000001B3 & 2**64 - 1


def _mixed(h: int) -> int:
    """The finalizer of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & 2**64 - 1
    return h ^ h >> 33
