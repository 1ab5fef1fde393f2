"""OpenAI's Responses, streamed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from .._parser import Parser
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
from .stream import EventStream, Payload

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
    this name. item_id, call_id: (item type, output index) -> id, output index -> id; by default they are derived from
    the response's id. A model's own call ids (Kimi-K2) are kept, unless it repeats one. container_id: of code
    interpreter calls.
    """

    numbered: ClassVar[str | None] = "sequence_number"

    def __init__(
        self,
        parser: Parser,
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
    ) -> None:
        self.id, self.model, self.created_at = id, model, created_at
        stem = id.removeprefix("resp_")
        self._item_id = item_id or (lambda type, index: f"{_PREFIXES[type]}_{stem}_{index}")
        self._call_id = call_id or (lambda index: f"call_{stem}_{index}")
        self._item_type, self._container_id, self._reasoning = item_type, container_id, reasoning
        request = request or {}
        echoed = {name: request[name] for name in _ECHOED if request.get(name) is not None}
        self._head = {"id": id, "object": "response", "created_at": created_at, "model": model, **_defaults(), **echoed}
        self._calls_left = 0 if echoed.get("tool_choice") == "none" else -1 if self._head["parallel_tool_calls"] else 1
        self._call_ids: set[str] = set()
        self._output: list[Payload] = []
        self._open: _Item | None = None
        self._cut = False  # at the end: does a message that no token ends lack some of its text?
        self._ending: Payload = {"status": "in_progress"}
        self._usage: Payload | None = None

    # --- payloads ---

    def opening(self) -> Iterable[Payload]:
        yield {"type": "response.created", "response": self.response()}
        yield {"type": "response.in_progress", "response": self.response()}

    def delta(self, kind: str, text: str) -> Payload | None:
        if self._open is not None:
            return self._open.delta(text) if self._open.kind == kind else None
        return {} if kind == "arguments" or (kind == "reasoning" and not self._reasoning) else None

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case ReasoningDelta(text=text):
                return [*self._close(), *(self._open_text(_Reasoning, {}, text) if self._reasoning else ())]
            case ContentDelta(text=text, channel=channel):
                phase = {"phase": _PHASES[channel]} if channel in _PHASES else {}
                return [*self._close(), *self._open_text(_Message, phase, text)]
            case ToolCallStart():
                return [*self._close(), *self._open_call(event)]
            case ToolCallDelta(arguments=arguments) if self._open is not None:
                self._keep("arguments", arguments)  # of a call whose arguments the API does not stream
            case ToolCallEnd(complete=complete):
                return self._close(complete)
            case MessageEnd(start=start, stop=stop):
                return self._close(not self._cut or start < stop)
            case StreamEnd(reason=reason) if reason not in _WHOLE:
                why = _WHY.get(reason)
                self._ending = {"status": "incomplete", "incomplete_details": why and {"reason": why}}
            case StreamEnd():
                self._ending = {"status": "completed"}
        return ()  # what is hidden, and what the API has no word for

    def _open_text(self, item: type[_Text], fields: Payload, text: str) -> Iterable[Payload]:
        index = len(self._output)
        self._open = opened = item(self._item_id(item.type, index), index, fields)
        self._keep(item.kind, text)
        return [*opened.added(), opened.delta(text)]

    def _open_call(self, call: ToolCallStart) -> Iterable[Payload]:
        if self._calls_left == 0:
            return ()
        self._calls_left -= 1
        index, type = len(self._output), self._item_type(call)
        id = self._item_id(type, index)
        if type == "web_search_call":
            self._open = _Search(id, index, {"action": _ACTIONS.get(call.name, "search")})
        elif type == "code_interpreter_call":
            self._open = _Code(id, index, {"container_id": self._container_id, "outputs": None})
        elif type == "mcp_call":
            server, _, name = call.name.partition(".")
            self._open = _Mcp(id, index, {"server_label": server, "name": name or server})
        else:
            own = call.id if call.id and call.id not in self._call_ids else self._call_id(index)
            self._call_ids.add(own)  # clients tell calls by them
            self._open = _Function(id, index, {"call_id": own, "name": call.name})
        return self._open.added()

    def _close(self, complete: bool = True) -> Iterable[Payload]:
        item, self._open = self._open, None
        if item is None:
            return ()
        text = self._take(item.kind)
        self._output.append(item.item(text, _status(complete)))
        return item.done(text, complete)

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        if usage is not None:
            self._usage = self._whole_usage(usage)
        yield {"type": f"response.{self._ending['status']}", "response": self.response()}

    def _whole_usage(self, usage: Payload) -> Payload:
        counted = self.parser.usage
        read, written = usage.get("input_tokens", 0), usage.get("output_tokens", 0 if self.in_text else counted.total)
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
                "reasoning_tokens": 0 if self.in_text else counted.reasoning,
                **(usage.get("output_tokens_details") or {}),
            },
        }

    # --- the end ---

    def finish(self, reason: str | None = None, usage: Payload | None = None) -> bytes:
        self._cut = reason not in _WHOLE
        return super().finish(reason, usage)

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: str | None = None, usage: Payload | None = None
    ) -> list[Payload]:
        self._cut = finish and reason not in _WHOLE
        return super().events(tokens, finish=finish, reason=reason, usage=usage)

    def error(self, message: str, *, code: str = "server_error") -> bytes:
        """What ends a stream that cannot go on, instead of finish(): the open item as it is, and response.failed."""
        return self._bytes(self._failing(message, code))

    def error_events(self, message: str, *, code: str = "server_error") -> list[Payload]:
        """The payloads of error()."""
        return self._numbered(self._failing(message, code))

    def _failing(self, message: str, code: str) -> Iterable[Payload]:
        if self._number == 0:
            yield from self.opening()  # clients want to know first what failed
        yield from self._close(complete=False)
        self._ending = {"status": "failed", "error": {"code": code, "message": message}}
        yield {"type": "response.failed", "response": self.response()}

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with the items that are done."""
        return {
            **self._head,
            **self._ending,
            "output": copy.deepcopy(self._output),
            "usage": copy.deepcopy(self._usage),
        }


def _defaults() -> Payload:
    none = dict.fromkeys(("error", "incomplete_details", "instructions", "temperature", "top_p", "usage"))
    return {**none, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def _status(complete: bool) -> str:
    return "completed" if complete else "incomplete"


def _empty(names: tuple[str, ...]) -> Payload:
    return {name: [] for name in names}


class _Item:
    """One item of the output, open. `kind`: of the deltas that it takes."""

    kind: ClassVar[str] = "arguments"
    type: ClassVar[str]

    def __init__(self, id: str, index: int, fields: Payload) -> None:
        self.id, self.index, self.fields = id, index, fields

    def added(self) -> list[Payload]:
        """The events that open it."""
        return [self._of_item("added", self.item("", "in_progress"))]

    def delta(self, text: str) -> Payload | None:
        """The event of a delta."""
        raise NotImplementedError

    def done(self, text: str, complete: bool) -> list[Payload]:
        """The events that close it; the last has the item. text: all that the deltas have said."""
        return [self._of_item("done", self.item(text, _status(complete)))]

    def item(self, text: str, status: str) -> Payload:
        """The item with its text."""
        raise NotImplementedError

    def _event(self, name: str, **more: Any) -> Payload:
        return {"type": f"response.{name}", "item_id": self.id, "output_index": self.index, **more}

    def _of_item(self, what: str, item: Payload) -> Payload:
        return {"type": f"response.output_item.{what}", "output_index": self.index, "item": item}


class _Text(_Item):
    """Text, in one content part."""

    part_type: ClassVar[str]
    lists: ClassVar[tuple[str, ...]] = ()  # that its deltas have, always empty
    part_lists: ClassVar[tuple[str, ...]] = ()

    def added(self) -> list[Payload]:
        return [*super().added(), self._of_part("content_part.added", part=self._part(""))]

    def delta(self, text: str) -> Payload:
        return self._of_part(f"{self.part_type}.delta", delta=text, **_empty(self.lists))

    def done(self, text: str, complete: bool) -> list[Payload]:
        said = self._of_part(f"{self.part_type}.done", text=text, **_empty(self.lists))
        return [said, self._of_part("content_part.done", part=self._part(text)), *super().done(text, complete)]

    def _part(self, text: str) -> Payload:
        return {"type": self.part_type, "text": text, **_empty(self.part_lists)}

    def _of_part(self, name: str, **more: Any) -> Payload:
        return self._event(name, content_index=0, **more)

    def _content(self, text: str) -> list[Payload]:
        return [self._part(text)] if text else []


class _Reasoning(_Text):
    kind, type, part_type = "reasoning", "reasoning", "reasoning_text"

    def item(self, text: str, status: str) -> Payload:
        return {"type": self.type, "id": self.id, "summary": [], "content": self._content(text), "status": status}


class _Message(_Text):
    kind, type, part_type = "content", "message", "output_text"
    lists = ("logprobs",)
    part_lists = ("annotations", "logprobs")

    def item(self, text: str, status: str) -> Payload:
        head = {"type": self.type, "id": self.id, "role": "assistant", "status": status, **self.fields}
        return {**head, "content": self._content(text)}


class _Call(_Item):
    progress: ClassVar[tuple[str, ...]] = ()  # the type's own events, behind "in_progress", of a complete call

    def added(self) -> list[Payload]:
        return [*super().added(), *([self._event(f"{self.type}.in_progress")] if self.progress else ())]

    def done(self, text: str, complete: bool) -> list[Payload]:
        progress = [self._event(f"{self.type}.{name}") for name in self.progress if complete]
        return [*progress, *super().done(text, complete)]


class _Function(_Call):
    type = "function_call"
    streamed: ClassVar[str] = "function_call_arguments"
    field: ClassVar[str] = "arguments"

    def delta(self, text: str) -> Payload | None:
        return self._event(f"{self.streamed}.delta", delta=text)

    def done(self, text: str, complete: bool) -> list[Payload]:
        return [self._event(f"{self.streamed}.done", **{self.field: text}), *super().done(text, complete)]

    def item(self, text: str, status: str) -> Payload:
        return {"type": self.type, "id": self.id, **self.fields, self.field: text, "status": status}


class _Mcp(_Function):
    type, streamed, progress = "mcp_call", "mcp_call_arguments", ("completed",)


class _Code(_Function):
    type, streamed, field = "code_interpreter_call", "code_interpreter_call_code", "code"
    progress = ("interpreting", "completed")


class _Search(_Call):
    """A use of the browser: what a function has as arguments, it has as an action, which comes with the item only."""

    type, progress = "web_search_call", ("searching", "completed")

    def delta(self, text: str) -> Payload | None:
        return None

    def item(self, text: str, status: str) -> Payload:
        return {"type": self.type, "id": self.id, "action": _action(self.fields["action"], text), "status": status}


def _action(type: str, arguments: str) -> Payload:
    """What the arguments say, as the API's action: verbatim, if they do not say it as they should."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = None
    given = given if isinstance(given, dict) else {}

    def said(default: str, *names: str) -> str:
        text = next((given[name] for name in names if isinstance(given.get(name), str)), default)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    page = ":".join(f"{name}:{given[name]}" for name in ("cursor", "id") if isinstance(given.get(name), int))
    if type == "open_page":
        return {"type": type, "url": said(page or arguments, "id", "url")}
    if type == "find_in_page":
        return {"type": type, "pattern": said(arguments, "pattern"), "url": said(page, "url")}
    return {"type": type, "query": said(arguments, "query")}
