"""OpenAI's Chat Completions, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from .._parser import Parser
from ..events import Event, MessageStart, StreamEnd, ToolCallEnd, ToolCallStart
from .stream import EventStream, Payload, to_json

__all__ = ["ChatStream"]

ReasoningField = Literal["reasoning", "reasoning_content", "both"]


class ChatStream(EventStream):
    """Chat completion chunks of one choice.

    id, model, created (seconds since 1970): the response's identity. choice: its index, where one request has several.
    reasoning_field: where reasoning goes; None hides it. preamble: is commentary (Harmony) content? False hides it.
    tool_choice: the request's; "none" hides calls, a named tool makes the finish reason "stop". parallel_tool_calls: False: only the first call.
    include_usage: a last chunk with the usage given to finish(). call_id: index -> a call's id, for formats whose calls have none;
    by default it is derived from the response's id. last: this choice ends the stream, with the usage chunk and [DONE].
    """

    def __init__(
        self,
        parser: Parser,
        *,
        id: str,
        model: str,
        created: int,
        choice: int = 0,
        reasoning_field: ReasoningField | None = "reasoning",
        preamble: bool = True,
        tool_choice: str | dict[str, Any] = "auto",
        parallel_tool_calls: bool = True,
        include_usage: bool = False,
        call_id: Callable[[int], str] | None = None,
        last: bool = True,
        extra: Payload | None = None,
    ) -> None:
        super().__init__(parser)
        self.id, self.model, self.created, self.choice = id, model, created, choice
        self._fields = {"both": ("reasoning", "reasoning_content"), None: ()}.get(reasoning_field, (str(reasoning_field),))
        self._preamble, self._last, self._include_usage = preamble, last, include_usage
        self._calls_shown = 0 if tool_choice == "none" else 1 if not parallel_tool_calls else None
        self._named = isinstance(tool_choice, dict)
        self._call_id = call_id or (lambda index: f"call_{id}_{choice}_{index}")
        self._head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model, **(extra or {})}
        self._calls: list[Payload] = []
        self._channel: str | None = None  # of the open message
        self._open: int | None = None  # the call whose arguments are shown
        self._finish_reason: str | None = None
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._usage: Payload | None = None

    # --- payloads ---

    def _chunk(self, delta: Payload, finish_reason: str | None = None) -> Payload:
        choice = {"index": self.choice, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        chunk = {**self._head, "choices": [choice]}
        return {**chunk, "usage": None} if self._include_usage else chunk

    def opening(self) -> Iterable[Payload]:
        yield self._chunk({"role": "assistant", "content": ""})

    def delta(self, kind: str, text: str) -> Payload | None:
        if kind == "reasoning":
            return self._chunk(dict.fromkeys(self._fields, text)) if self._fields else None
        if kind == "content":
            return self._chunk({"content": text}) if self._preamble or self._channel != "commentary" else None
        if self._open is None:
            return None
        return self._chunk({"tool_calls": [{"index": self._open, "function": {"arguments": text}}]})

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case MessageStart(channel=channel):
                self._channel = channel
            case ToolCallStart():
                return self._open_call(event)
            case ToolCallEnd() if self._open is not None:
                self._calls[self._open]["function"]["arguments"] = self.writer.take("arguments")
                self._open = None
            case StreamEnd(reason=reason):
                self._finish_reason = self._reason(reason)
                return (self._chunk({}, self._finish_reason),)
        return ()  # what is hidden, and what the API has no word for

    def _open_call(self, call: ToolCallStart) -> Iterable[Payload]:
        shown = len(self._calls)
        if self._calls_shown is not None and shown >= self._calls_shown:
            return ()
        name = {"name": call.name, "arguments": ""}
        self._calls.append({"id": call.id or self._call_id(shown), "type": "function", "function": name})
        self._open = shown
        return (self._chunk({"tool_calls": [{"index": shown, **self._calls[-1], "function": dict(name)}]}),)

    def _reason(self, reason: str | None) -> str:
        if reason == "tool_calls" and (not self._calls or self._named):
            return "stop"
        return reason or "stop"

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        if usage is not None:
            self._usage = with_reasoning_tokens(usage, self.parser)
        if self._last and self._include_usage and usage is not None:
            yield {**self._head, "choices": [], "usage": self._usage}

    # --- bytes ---

    def framed(self, payload: Payload) -> str:
        return f"data: {to_json(payload)}\n\n"

    def finish(self, reason: str | None = None, usage: Payload | None = None) -> bytes:
        return super().finish(reason, usage) + (b"data: [DONE]\n\n" if self._last else b"")

    def error(self, message: str, *, type: str = "server_error", code: str | int | None = None) -> bytes:
        """What ends a stream that cannot go on: clients raise it as an APIError."""
        payload = {"error": {"message": message, "type": type, "param": None, "code": code}}
        return f"data: {to_json(payload)}\n\ndata: [DONE]\n\n".encode()

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming."""
        self._reasoning.append(self.writer.take("reasoning"))
        self._content.append(self.writer.take("content"))
        message: Payload = {"role": "assistant", "content": "".join(self._content)}
        reasoning = "".join(self._reasoning)
        if reasoning:
            message.update(dict.fromkeys(self._fields, reasoning))
        if self._calls:
            message["tool_calls"] = [{**call, "function": dict(call["function"])} for call in self._calls]
        choice = {"index": self.choice, "message": message, "logprobs": None, "finish_reason": self._finish_reason}
        whole = {**self._head, "object": "chat.completion", "choices": [choice]}
        return whole if self._usage is None else {**whole, "usage": self._usage}


def with_reasoning_tokens(usage: Payload, parser: Parser) -> Payload:
    """The usage with the tokens that the parser has counted as reasoning, unless it has them already."""
    details = {"reasoning_tokens": parser.usage.reasoning, **(usage.get("completion_tokens_details") or {})}
    return {**usage, "completion_tokens_details": details}
