"""Responses, described event by event."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from reference_emitter import Reference

import harmonystream as hs
from harmonystream.emit.common.payload import Payload
from harmonystream.emit.responses import options
from harmonystream.emit.responses.items import CALLS, Item, Message, action_of

__all__ = ["Responses"]


class Responses(Reference):
    numbered = "sequence_number"

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self.output: list[Payload] = []
        self.open: Item | None = None
        self.text = self.name = ""
        self.cut = False
        self.ending = options.OPEN
        self.usage: Payload | None = None

    def whole(self) -> Payload:
        ending = {"status": "", "error": None, "incomplete_details": None, **self.ending}
        return copy.deepcopy({**self.stream._head, **ending, "output": self.output, "usage": self.usage})

    def opening(self) -> Iterable[Payload]:
        yield {"type": "response.created", "response": self.whole()}
        yield {"type": "response.in_progress", "response": self.whole()}

    def index(self) -> int:
        return len(self.output) + (self.open is not None)

    def begin(self, item: Item) -> list[Payload]:
        closed = self.close()
        self.open = item
        return [*closed, *item.added()]

    def close(self, complete: bool = True) -> list[Payload]:
        item, self.open = self.open, None
        text, self.text = self.text, ""
        if item is None:
            return []
        if item.type == "web_search_call":
            item.fields = {"action": action_of(self.name, text)}
        elif item.type == "reasoning" and text and self.stream._encrypt is not None:
            item.fields = {"encrypted_content": self.stream._encrypt(text)}
        made = item.done(text, complete)
        self.output.append(copy.deepcopy(made[-1]["item"]))
        return made

    def delta(self, kind: type[Item], fields: Payload, text: str) -> list[Payload]:
        made = []
        if self.open is None or self.open.kind != kind.kind:
            text = self.begun(text)
            if not text:
                return []
            self.has_text = True
            id = self.stream._item_id(kind.type, self.index())
            made = self.begin(kind(id, self.index(), fields))
        assert self.open is not None
        self.text += text
        payload = self.open.delta(text)
        return [*made, *([payload] if payload is not None else ())]

    def call_of(self, call: hs.ToolCallStart) -> Item:
        index, type = self.index(), self.stream._type_of(call)
        id = self.stream._item_id(type, index)
        if type in ("function_call", "custom_tool_call"):
            fields: Payload = {"call_id": self.call_ids.decide(call.id, self.calls), "name": call.name}
        elif type == "code_interpreter_call":
            fields = {"container_id": self.stream._container_id, "outputs": None}
        elif type == "mcp_call":
            server, _, name = call.name.partition(".")
            fields = {"server_label": server, "name": name or server}
        else:
            fields = {"action": action_of(call.name, "")}
        return CALLS[type](id, index, fields)

    def describe(self, event: hs.Event) -> Iterable[Payload]:
        match event:
            case hs.MessageStart():
                self.has_text = False
            case hs.ReasoningDelta(text=text):
                if self.stream._reasoning is not None:
                    return self.delta(self.stream._reasoning, {}, text)
                self.has_text = True
            case hs.ContentDelta(text=text, channel=channel):
                return self.delta(Message, options.phase(channel), text)
            case hs.ToolCallStart() if not self.hides_call():
                item, self.name = self.call_of(event), event.name
                self.calls += 1
                return self.begin(item)
            case hs.ToolCallDelta(arguments=text) if self.open is not None and self.open.kind == "arguments":
                return self.delta(type(self.open), {}, text)
            case hs.ToolCallEnd(complete=complete) if self.open is not None and self.open.kind == "arguments":
                return self.close(complete)
            case hs.MessageEnd(start=start, stop=stop):
                return self.close(not self.cut or start < stop)
            case hs.StreamEnd(reason=reason):
                self.ending = options.ending(reason)
        return ()

    def prepare_end(self, reason: str | None) -> None:
        self.cut = reason not in options.WHOLE

    def closing(self, usage: Any) -> Iterable[Payload]:
        self.usage = self.stream._whole_usage(usage or {})
        if self.ending["status"] == "failed":
            yield options.error(**self.ending["error"])
        yield {"type": f"response.{self.ending['status']}", "response": self.whole()}

    def failing(self, message: str) -> Iterable[Payload]:
        closed = self.close(False)
        self.ending = options.failed(message, "server_error")
        error = options.error(message, "server_error", None)
        return [*closed, error, {"type": "response.failed", "response": self.whole()}]

    def response(self) -> Payload:
        return self.whole()
