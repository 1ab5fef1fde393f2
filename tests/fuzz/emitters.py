"""Emitters for the targets, with options that change what they write."""

from __future__ import annotations

from typing import Any

import harmonystream as hs
from harmonystream.emit.common.stream import EventStream

Payload = dict[str, Any]
NAMED = {"type": "function", "function": {"name": "f"}}
HOSTED = [
    {"type": "custom", "name": "f"},
    {"type": "code_interpreter", "container": "cntr_1"},
    {"type": "mcp", "server_label": "files"},
    {"type": "web_search"},
    {"type": "function", "name": "g", "parameters": {}, "strict": None},
]
OPTIONS: dict[str, tuple[Payload, ...]] = {
    "chat": (
        *({}, {"include_usage": True, "extra": {"system_fingerprint": 'f"\ud800'}}, {"reasoning_field": None}),
        {"reasoning_field": "both", "preamble_field": None, "parallel_tool_calls": False},
        {"reasoning_field": "reasoning_content", "preamble_field": "reasoning_content", "tool_choice": NAMED},
        *({"token_ids": True}, {"tool_choice": "none"}),
    ),
    "responses": (
        *({}, {"reasoning": False}, {"request": {"tool_choice": "none", "metadata": {"a": "\ue000text\ue001"}}}),
        *({"request": {"parallel_tool_calls": False}}, {"item_type": lambda call: "function_call"}),
        *({"item_type": lambda call: "custom_tool_call"}, {"request": {"tools": HOSTED}, "extra": {"status": "odd"}}),
    ),
    "messages": (
        *({}, {"thinking": False}, {"signature": lambda text: f"s{len(text)}"}, {"tool_choice": "none"}),
        *({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, {"text_key": 'k"\n'}),
    ),
}
APIS = tuple(OPTIONS)


def emitter_of(api: str, parser: hs.Parser, variant: int = 0) -> EventStream:
    options = OPTIONS[api][variant % len(OPTIONS[api])]
    if api == "chat":
        return hs.ChatStream(parser, **{"id": 'c"\ue000', "model": "m\u2028", "created": 7, **options})
    if api == "responses":
        return hs.ResponsesStream(parser, **{"id": "resp_1", "model": "m\u2028", "created": 7, **options})
    return hs.MessagesStream(parser, **{"id": "msg_1", "model": "m\u2028", **options})
