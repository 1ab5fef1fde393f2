"""OpenAI's Responses, streamed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from .._parser import Parser
from .._vocab import Vocab
from ..events import (
    ContentDelta,
    Event,
    MessageEnd,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ..formats import Format
from .items import Code, Function, Item, Mcp, Message, Reasoning, Search, Text, status_of
from .payload import Payload, checked, sendable
from .request import CallIds, counted, normal, shown_calls
from .stream import EventStream

__all__ = ["ResponsesStream", "item_type"]

_PREFIXES = {
    "reasoning": "rs",
    "message": "msg",
    "function_call": "fc",
    "mcp_call": "mcp",
    "code_interpreter_call": "ci",
    "web_search_call": "ws",
}
_PHASES = {"final": "final_answer", "commentary": "commentary"}
_ACTIONS = {"browser.search": "search", "browser.open": "open_page", "browser.find": "find_in_page"}
_ECHOED = (
    *("background", "conversation", "instructions", "max_output_tokens", "max_tool_calls", "metadata"),
    *("parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "temperature", "text"),
    *("tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user"),
)
_WHOLE = (None, "stop", "tool_calls", "function_call")  # an engine's reasons that cut nothing
_WHY = {"length": "max_output_tokens", "max_tokens": "max_output_tokens", "content_filter": "content_filter"}


def item_type(call: ToolCallStart) -> str:
    """The type of a call's item: that of a built-in tool or MCP server where the API has one, else "function_call"."""
    if call.kind == "builtin" and call.name == "python":
        return "code_interpreter_call"
    if call.kind == "builtin" and call.name in _ACTIONS:
        return "web_search_call"
    server, _, name = call.name.partition(".")
    return "mcp_call" if call.kind == "other" and server and name else "function_call"


class ResponsesStream(EventStream):
    """The events of one response.

    id, model, created_at (seconds since 1970): the response's identity. request: the request's fields, or its whole
    body: those that a response repeats are repeated; tool_choice "none" hides calls, parallel_tool_calls False all but
    the first. reasoning: False hides it. item_type: a call's first event -> the type of its item, see the function of
    this name. item_id, call_id: (item type, output index) -> id, index of the call -> id; by default they are derived
    from the response's id. A model's own call ids (Kimi-K2) are kept, unless it repeats one. container_id: of code
    interpreter calls.
    """

    numbered: ClassVar[str | None] = "sequence_number"

    def __init__(
        self,
        parser: Parser | Format | str = "harmony",
        *,
        id: str,
        model: str,
        created_at: float,
        request: Mapping[str, Any] | None = None,
        reasoning: bool = True,
        item_type: Callable[[ToolCallStart], str] = item_type,
        item_id: Callable[[str, int], str] | None = None,
        call_id: Callable[[int], str] | None = None,
        container_id: str = "auto",
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        self.id, self.model, self.created_at = checked("id", id), checked("model", model), created_at
        stem = id.removeprefix("resp_")
        self._item_id = item_id or (lambda type, index: f"{_PREFIXES[type]}_{stem}_{index}")
        self._call_ids = CallIds(call_id or (lambda index: f"call_{stem}_{index}"))
        self._item_type, self._container_id, self._reasoning = item_type, container_id, reasoning
        if not isinstance(request or {}, Mapping):
            raise TypeError(f"request is a mapping, not {request.__class__.__name__}: of a model, model_dump()")
        asked = request or {}
        echoed = sendable({name: asked[name] for name in _ECHOED if asked.get(name) is not None})
        head = {"id": self.id, "object": "response", "created_at": created_at, "model": self.model}
        own: Payload = {**head, **_defaults(), **echoed}
        self._head = own | sendable(extra or {}) | own  # these first, and as they are
        self._calls_shown = shown_calls(echoed.get("tool_choice"), self._head["parallel_tool_calls"])
        self._calls = 0
        self._output: list[Payload] = []
        self._open: Item | None = None
        self._cut = False  # at the end: does a message that no token ends lack some of its text?
        self._ending: Payload = {"status": "in_progress"}
        self._usage: Payload | None = None

    # --- payloads ---

    def opening(self) -> Iterable[Payload]:
        yield {"type": "response.created", "response": self.response()}
        yield {"type": "response.in_progress", "response": self.response()}

    def delta(self, kind: str, text: str) -> Payload | None:
        if self._open is not None and self._open.kind == kind:
            return self._open.delta(text)
        return {} if kind == "arguments" or (kind == "reasoning" and not self._reasoning) else None

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case ReasoningDelta(text=text):
                return self._open_text(Reasoning, {}, text)
            case ContentDelta(text=text, channel=channel):
                phase = {"phase": _PHASES[channel]} if channel in _PHASES else {}
                return self._open_text(Message, phase, text)
            case ToolCallStart() if self._calls_shown is None or self._calls < self._calls_shown:
                opened = self._call_of(event)  # first, since callbacks may raise
                self._calls += 1
                return [*self._close(), *self._opened(opened)]
            case ToolCallDelta(arguments=arguments):
                self._keep("arguments", arguments)  # of a call whose arguments the API does not stream
            case ToolCallEnd(complete=complete) if self._open is not None and self._open.kind == "arguments":
                return self._close(complete)
            case MessageEnd(start=start, stop=stop):
                return self._close(not self._cut or start < stop)
            case StreamEnd(reason="error"):
                self._ending = _failed("The model stopped with an error.", "server_error")
            case StreamEnd(reason=reason) if reason not in _WHOLE:
                why = _WHY.get(reason)
                self._ending = {"status": "incomplete", "incomplete_details": why and {"reason": why}}
            case StreamEnd():
                self._ending = {"status": "completed"}
        return ()  # what is hidden, and what the API has no word for

    def _open_text(self, item: type[Text], fields: Payload, text: str) -> Iterable[Payload]:
        index = self._next_index
        opened = item(self._item_id(item.type, index), index, fields)
        made = [*self._close(), *self._opened(opened), opened.delta(text)]
        self._keep(item.kind, text)
        return made

    def _opened(self, item: Item) -> Iterable[Payload]:
        self._open = item
        return item.added()

    @property
    def _next_index(self) -> int:
        return len(self._output) + (self._open is not None)

    def _call_of(self, call: ToolCallStart) -> Item:
        index, type = self._next_index, self._item_type(call)
        id = self._item_id(type, index)
        if type == "web_search_call":
            return Search(id, index, {"action": _ACTIONS.get(call.name, "search")})
        if type == "code_interpreter_call":
            return Code(id, index, {"container_id": self._container_id, "outputs": None})
        if type == "mcp_call":
            server, _, name = call.name.partition(".")
            return Mcp(id, index, {"server_label": server, "name": name or server})
        return Function(id, index, {"call_id": self._call_ids.take(call.id, self._calls), "name": call.name})

    def _close(self, complete: bool = True) -> Iterable[Payload]:
        item, self._open = self._open, None
        if item is None:
            return ()
        text = self._take(item.kind)
        self._output.append(item.item(text, status_of(complete)))
        return item.done(text, complete)

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        if usage is not None:
            self._usage = self._whole_usage(usage)
        yield {"type": f"response.{self._ending['status']}", "response": self.response()}

    def _whole_usage(self, usage: Payload) -> Payload:
        count = self.parser.usage
        read, written = usage.get("input_tokens", 0), usage.get("output_tokens", count.total)
        return {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
            **usage,
            "input_tokens_details": {
                "cached_tokens": 0,
                "cache_write_tokens": 0,
                **(usage.get("input_tokens_details") or {}),
            },
            "output_tokens_details": {
                "reasoning_tokens": 0 if self.in_text else count.reasoning,
                **(usage.get("output_tokens_details") or {}),
            },
        }

    # --- the end ---

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        usage = counted(usage)
        if usage is not None and "output_tokens" not in usage and self.in_text:
            raise ValueError("the usage needs output_tokens: of text, a parser counts bytes")
        return usage

    def finish(self, reason: str | None = None, usage: Payload | None = None) -> bytes:
        self._cut = normal(reason) not in _WHOLE
        return super().finish(reason, usage)

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: str | None = None, usage: Payload | None = None
    ) -> list[Payload]:
        self._cut = finish and normal(reason) not in _WHOLE
        return super().events(tokens, finish=finish, reason=reason, usage=usage)

    def error(self, message: str, *, code: str = "server_error") -> bytes:
        """What ends a stream that cannot go on, instead of finish(): the open item as it is, and response.failed.

        Nothing if it has ended.
        """
        return self._last_bytes(self._failing(message, code))

    def error_events(self, message: str, *, code: str = "server_error") -> list[Payload]:
        """The payloads of error()."""
        return self._last_payloads(self._failing(message, code))

    def _failing(self, message: str, code: str) -> Iterable[Payload]:
        if self._number == 0:
            yield from self.opening()  # clients want to know first what failed
        yield from self._close(complete=False)
        self._ending = _failed(message, code)
        yield {"type": "response.failed", "response": self.response()}

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with the items that are done."""
        return copy.deepcopy({**self._head, **self._ending, "output": self._output, "usage": self._usage})


def _failed(message: str, code: str) -> Payload:
    return {"status": "failed", "error": {"code": code, "message": message}}


def _defaults() -> Payload:
    none = dict.fromkeys(("error", "incomplete_details", "instructions", "temperature", "top_p", "usage"))
    return {**none, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
