"""Chat Completions, described event by event."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from reference_emitter import Reference

import harmonystream as hs
from harmonystream.emit.chat import options
from harmonystream.emit.common.payload import Payload, clean, to_json
from harmonystream.emit.common.usage import CHAT, counted

__all__ = ["Chat"]


class Chat(Reference):
    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        head = {"id": self.id, "object": "chat.completion.chunk", "created": stream.created, "model": self.model}
        self.head = head | stream._extra | head
        self.channel: str | None = None
        self.open: Payload | None = None
        self.made: list[Payload] = []
        self.texts = {"content": ""}
        self.before: set[str] = set()  # fields that have text of an earlier message
        self.reason: str | None = None
        self.usage: Any = None

    def chunk(self, delta: Payload, reason: str | None = None) -> Payload:
        choice = {"index": self.stream.choice, "delta": delta, "logprobs": None, "finish_reason": reason}
        chunk = {**self.head, "choices": [choice]}
        return {**chunk, "usage": None} if self.stream._include_usage else chunk

    def framed(self, payload: Payload) -> str:
        return f"data: {to_json(payload)}\n\n"

    def opening(self) -> Iterable[Payload]:
        self.head["model"] = self.model = self.stream.model
        yield self.chunk({"role": "assistant", "content": ""})

    def fields_of(self, reasoning: bool) -> tuple[str, ...]:
        if reasoning:
            fields: tuple[str, ...] = self.stream._fields
            return fields
        field = self.stream._preamble_field if self.channel == "commentary" else "content"
        return () if field is None else (field,)

    def text(self, reasoning: bool, text: str) -> Iterable[Payload]:
        fields = self.fields_of(reasoning)
        parted = [field for field in fields if field in self.before] if not self.has_text else []
        self.has_text = True
        if parted:
            yield self.chunk(dict.fromkeys(parted, "\n\n"))
        for field in fields:
            self.texts[field] = self.texts.get(field, "") + ("\n\n" if field in parted else "") + text
        if fields:
            yield self.chunk(dict.fromkeys(fields, text))

    def describe(self, event: hs.Event) -> Iterable[Payload]:
        match event:
            case hs.MessageStart(channel=channel):
                self.channel, self.has_text = channel, False
            case hs.MessageEnd():
                self.before |= {field for field, text in self.texts.items() if text}
            case hs.ReasoningDelta(text=text):
                return self.text(True, text)
            case hs.ContentDelta(text=text):
                return self.text(False, text)
            case hs.ToolCallStart() if not self.hides_call():
                self.open = options.call(self.call_ids.decide(event.id, self.calls), event.name)
                self.made.append(self.open)
                self.calls += 1
                return [self.chunk({"tool_calls": [{"index": self.calls - 1, **copy.deepcopy(self.open)}]})]
            case hs.ToolCallDelta(arguments=text) if self.open is not None:
                self.open["function"]["arguments"] += text
                return [self.chunk({"tool_calls": [{"index": self.calls - 1, "function": {"arguments": text}}]})]
            case hs.ToolCallEnd():
                self.open = None
            case hs.StreamEnd(reason=reason):
                self.reason = clean(options.finish_reason(reason, self.calls, self.stream._named))
                return () if self.inside else [self.chunk({}, self.reason)]
        return ()

    def closing(self, usage: Any) -> Iterable[Payload]:
        self.usage = usage
        whole = self.stream._whole_usage(usage)
        if self.stream._include_usage and whole is not None:
            yield {**self.head, "choices": [], "usage": whole}

    def finish(self, reason: Any = None, usage: Any = None) -> bytes:
        return super().finish(reason, usage) + b"data: [DONE]\n\n"

    def failing(self, message: str) -> Iterable[Payload]:
        yield options.failure(message, None, None)

    def error(self, message: str) -> bytes:
        return super().error(message) + b"data: [DONE]\n\n"

    def response(self) -> Payload:
        message: Payload = {"role": "assistant", **self.texts, "refusal": None}
        if self.made:
            message["tool_calls"] = copy.deepcopy(self.made)
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.reason}
        whole = {**self.head, "object": "chat.completion", "choices": [choice]}
        usage = self.stream._whole_usage(counted(self.usage, CHAT))
        return whole if usage is None else {**whole, "usage": usage}
