"""Messages, described event by event."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from reference_emitter import Reference

import harmonystream as hs
from harmonystream._native.wire.signature import signature
from harmonystream.emit.common.payload import Payload
from harmonystream.emit.messages import options
from harmonystream.emit.messages.arguments import Arguments, assembled
from harmonystream.emit.messages.stream import _usage_of

__all__ = ["Messages"]

DELTAS = {
    "thinking": ("thinking_delta", "thinking"),
    "text": ("text_delta", "text"),
    "tool_use": ("input_json_delta", "partial_json"),
}


class Messages(Reference):
    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.content: list[Payload] = []
        self.block: Payload | None = None
        self.blank = ""
        self.arguments: Arguments | None = None
        self.stop_reason: str | None = None
        self.usage = _usage_of(stream._given[1])

    def message(self) -> Payload:
        more = self.stream._given[0]
        message = {"id": self.id, "type": "message", "role": "assistant", "model": self.stream.model}
        message |= {"content": [], "stop_reason": self.stop_reason, "stop_sequence": None, **options.nulls(more)}
        message["usage"] = self.usage
        return copy.deepcopy(message | more | message)

    def opening(self) -> Iterable[Payload]:
        yield {"type": "message_start", "message": self.message()}

    def delta(self, type: str, field: str, text: str) -> Payload:
        delta = {"type": type, field: text}
        return {"type": "content_block_delta", "index": len(self.content) - 1, "delta": delta}

    def begin(self, block: Payload) -> list[Payload]:
        closed = self.close()
        self.block = block
        self.content.append(block)
        started = {"type": "content_block_start", "index": len(self.content) - 1, "content_block": dict(block)}
        return [*closed, started]

    def close(self) -> list[Payload]:
        self.blank, block, self.block, self.arguments = "", self.block, None, None
        if block is None:
            return []
        made = []
        if block["type"] == "thinking" and self.stream._signs:
            sign = self.stream._signature
            block["signature"] = signature(self.id, block["thinking"]) if sign is None else sign(block["thinking"])
            made = [self.delta("signature_delta", "signature", block["signature"])] if block["signature"] else []
        return [*made, {"type": "content_block_stop", "index": len(self.content) - 1}]

    def text(self, type: str, text: str, empty: Payload) -> list[Payload]:
        made = []
        if self.block is None or self.block["type"] != type:
            text = text if self.blank else self.begun(text)
            if not text:
                return []
            if type == "text" and text.isspace():
                blank = self.blank + text
                made, self.blank = self.close(), blank
                return made
            text = (self.blank if type == "text" else "") + text
            made = self.begin({"type": type, type: "", **empty})
            self.has_text = True
        assert self.block is not None
        self.block[type] += text
        return [*made, self.delta(*DELTAS[type], text)]

    def describe(self, event: hs.Event) -> Iterable[Payload]:
        match event:
            case hs.MessageStart():
                self.has_text = False
            case hs.ReasoningDelta(text=text):
                if self.stream._thinking:
                    return self.text("thinking", text, {"signature": ""})
                self.has_text = True
            case hs.ContentDelta(text=text):
                return self.text("text", text, {"citations": None})
            case hs.ToolCallStart() if not self.hides_call():
                id = self.call_ids.decide(event.id, self.calls)
                self.calls += 1
                started = self.begin(options.call(id, event.name))
                self.arguments = Arguments(self.stream._text_key)
                return started
            case hs.ToolCallDelta(arguments=text) if self.arguments is not None:
                sent = self.arguments.feed(text)
                return [self.delta(*DELTAS["tool_use"], sent)] if sent else []
            case hs.ToolCallEnd(complete=complete) if self.arguments is not None:
                rest = self.arguments.end(complete)
                self.settle()
                return [*([self.delta(*DELTAS["tool_use"], rest)] if rest else ()), *self.close()]
            case hs.MessageEnd():
                return self.close()
            case hs.StreamEnd(reason=reason):
                self.stop_reason = options.stop_reason(reason, self.calls)
                return self.close()
        return ()

    def settle(self) -> None:
        if self.arguments is not None and self.block is not None:
            self.block["input"] = assembled(self.arguments.sent)

    def closing(self, usage: Any) -> Iterable[Payload]:
        last = self.stream._last_usage(usage)
        self.usage = {**self.usage, **last}
        message = self.message()
        names = ("stop_reason", "stop_sequence", "stop_details", "container")
        yield {"type": "message_delta", "delta": {name: message[name] for name in names}, "usage": last}
        yield {"type": "message_stop"}

    def failing(self, message: str) -> Iterable[Payload]:
        yield options.failure(message, None, None)

    def response(self) -> Payload:
        self.settle()
        return {**self.message(), "content": copy.deepcopy(self.content)}
