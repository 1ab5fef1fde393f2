"""OpenAI's Responses, streamed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, ClassVar, Literal

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
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
from ..reasons import normal
from .items import CALLS, Item, Message, Reasoning, Summary, Text, declared, item_type
from .payload import Payload, checked, sendable, to_json
from .request import CallIds, called, shown_calls
from .stream import EventStream
from .usage import RESPONSES, counted

__all__ = ["ResponsesStream"]

_PREFIXES = {
    "reasoning": "rs",
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "mcp_call": "mcp",
    "code_interpreter_call": "ci",
    "web_search_call": "ws",
}
_PHASES = {"final": "final_answer", "commentary": "commentary"}
_ECHOED = (
    *("background", "conversation", "instructions", "max_output_tokens", "max_tool_calls", "metadata"),
    *("parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "temperature", "text"),
    *("tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user"),
)
_ENCRYPTED = "reasoning.encrypted_content"  # what a request's `include` calls it
_STATE = ("status", "error", "incomplete_details", "output", "usage")  # of a response: what is not its head
_WHOLE = (None, "stop", "tool_calls", "function_call")  # an engine's reasons that cut nothing
_WHY = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesStream(EventStream):
    """The events of one response.

    id, model, created_at (seconds since 1970): the response's identity. request: the request's fields, or its whole
    body: those that a response repeats are repeated; tool_choice "none" hides calls, parallel_tool_calls False all but
    the first; its tools say which calls have items of their own. reasoning: False hides it; "text" and "summary" say
    which events stream it; True: a summary if the request asks for one, else the text. encrypt: the text of a reasoning
    item -> its `encrypted_content`, where the request's `include` asks for that. item_type: a call's first event -> the
    type of its item. item_id, call_id: (item type, output index) -> id, index of the call -> id; by default they are
    derived from the response's id. A model's own call ids (Kimi-K2) are kept, unless it repeats one. taken: the ids of
    calls in the request's input (`call_ids_of`), which no call of this response gets again.
    container_id: of code interpreter calls. extra: more fields of the response.
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
        reasoning: bool | Literal["text", "summary"] = True,
        encrypt: Callable[[str], str] | None = None,
        item_type: Callable[[ToolCallStart], str] | None = None,
        item_id: Callable[[str, int], str] | None = None,
        call_id: Callable[[int], str] | None = None,
        taken: Iterable[str] = (),
        container_id: str = "auto",
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        self.id, self.model, self.created_at = checked("id", id), checked("model", model), _seconds(created_at)
        stem = id.removeprefix("resp_")
        self._item_id = called("item_id", item_id) or (lambda type, index: f"{_PREFIXES[type]}_{stem}_{index}")
        self._call_ids = CallIds(called("call_id", call_id) or (lambda index: f"call_{stem}_{index}"), taken)
        self._item_type, self._container_id = called("item_type", item_type), container_id
        if not isinstance(request or {}, Mapping):
            raise TypeError(f"request is a mapping, not {request.__class__.__name__}: of a model, model_dump()")
        asked = request or {}
        self._reasoning = _reasoning_item(reasoning, asked)
        wanted = asked.get("include") or ()
        encrypts = called("encrypt", encrypt) and isinstance(wanted, (list, tuple)) and _ENCRYPTED in wanted
        self._reasoning_fields: Payload = {"encrypt": encrypt} if encrypts else {}
        echoed = sendable({name: asked[name] for name in _ECHOED if asked.get(name) is not None})
        head = {"id": self.id, "object": "response", "created_at": created_at, "model": self.model}
        own: Payload = {**head, **_defaults(), **echoed}
        more = {name: value for name, value in sendable(extra or {}).items() if name not in _STATE}
        self._head = own | more | own  # these first, and as they are
        self._head_json = ""
        self._tools = declared(echoed.get("tools"))
        self._calls_shown = shown_calls(echoed.get("tool_choice"), self._head["parallel_tool_calls"])
        self._calls = 0
        self._output: list[Payload] = []
        self._open: Item | None = None
        self._cut = False  # at the end: does a message that no token ends lack some of its text?
        self._ending: Payload = {"status": "in_progress"}
        self._usage: Payload | None = None

    # --- payloads ---

    def opening(self) -> Iterable[Payload]:
        yield {"type": "response.created", "response": self._whole()}
        yield {"type": "response.in_progress", "response": self._whole()}

    def delta(self, kind: str, text: str) -> Payload | None:
        if self._open is not None and self._open.kind == kind:
            return self._open.delta(text)
        return {} if kind == "arguments" or (kind == "reasoning" and self._reasoning is None) else None

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case ReasoningDelta(text=text) if self._reasoning is not None:
                return self._open_text(self._reasoning, dict(self._reasoning_fields), text)
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
        index, type = self._next_index, self._type_of(call)
        id = self._item_id(type, index)
        if type in ("function_call", "custom_tool_call"):
            fields: Payload = {"call_id": self._call_ids.take(call.id, self._calls), "name": call.name}
        elif type == "code_interpreter_call":
            fields = {"container_id": self._container_id, "outputs": None}
        elif type == "mcp_call":
            server, _, name = call.name.partition(".")
            fields = {"server_label": server, "name": name or server}
        else:
            fields = {"name": call.name}
        return CALLS[type](id, index, fields)

    def _type_of(self, call: ToolCallStart) -> str:
        if self._item_type is None:
            return item_type(call, self._tools)
        type: str = self._item_type(call)
        if type not in list(CALLS):  # a list, for what cannot be hashed
            raise ValueError(f"item_type gave {type!r}: it is one of {', '.join(CALLS)}")
        return type

    def _close(self, complete: bool = True) -> Iterable[Payload]:
        item, self._open = self._open, None
        if item is None:
            return ()
        text = self._take(item.kind)
        made = item.done(text, complete)
        self._output.append(copy.deepcopy(made[-1]["item"]))
        return made

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        self._usage = self._whole_usage(usage or {})
        if self._ending["status"] == "failed":
            yield _error(**self._ending["error"])
        yield {"type": f"response.{self._ending['status']}", "response": self._whole()}

    def _whole_usage(self, usage: Payload) -> Payload | None:
        """None where nobody has counted the tokens: of text, a parser counts bytes."""
        if self.in_text and "output_tokens" not in usage:
            return None
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

    def framed(self, payload: Payload) -> str:
        """A response is sent three times. Its head, which may be as long as the request, becomes JSON once."""
        if "response" not in payload:
            return super().framed(payload)
        self._head_json = self._head_json or to_json(self._head)[1:-1]
        state = {name: payload["response"][name] for name in _STATE}
        before, opened, after = super().framed({**payload, "response": state}).partition('"response":{')
        return f"{before}{opened}{self._head_json},{after}"

    # --- the end ---

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        return counted(usage, RESPONSES)

    def finish(self, reason: Any = None, usage: Payload | None = None) -> bytes:
        self._cut = normal(reason) not in _WHOLE
        return super().finish(reason, usage)

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: Any = None, usage: Payload | None = None
    ) -> list[Payload]:
        self._cut = finish and normal(reason) not in _WHOLE
        return _owned(super().events(tokens, finish=finish, reason=reason, usage=usage))

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frames that end a stream that cannot go on: the open item as it is, `error`, response.failed.

        Empty if it has ended. The API has no field for an error's type, so it is sent beside the code.
        """
        return self._last_bytes(self._failing(message, type, code))

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payloads of error()."""
        return _owned(self._last_payloads(self._failing(message, type, code)))

    def _failing(self, message: str, type: str | None, code: str | None) -> Iterable[Payload]:
        if self._number == 0:
            yield from self.opening()  # clients want to know first what failed
        yield from self._close(complete=False)
        self._ending = _failed(message, code or "server_error")
        yield _error(message, code or "server_error", type)
        yield {"type": "response.failed", "response": self._whole()}

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with the items that are done."""
        return copy.deepcopy(self._whole())

    def _whole(self) -> Payload:
        ending = {"error": None, "incomplete_details": None, **self._ending}
        return {**self._head, **ending, "output": self._output, "usage": self._usage}


def _owned(payloads: list[Payload]) -> list[Payload]:
    """As the caller may change them."""
    return [copy.deepcopy(payload) if "response" in payload else payload for payload in payloads]


def _failed(message: str, code: str) -> Payload:
    return {"status": "failed", "error": {"code": code, "message": message}}


def _error(message: str, code: str, type: str | None = None) -> Payload:
    """Some clients take a response that failed for a short one, unless this comes first. OpenAI's in Python raises what
    the object `error` says, others what is beside it.
    """
    error = {"type": type or code, "code": code, "message": message, "param": None}
    return {**error, "type": "error", "error": error}


def _reasoning_item(said: Any, request: Mapping[str, Any]) -> type[Reasoning] | None:
    """The items of reasoning, None: it is hidden."""
    kinds: dict[Any, type[Reasoning] | None] = {False: None, "text": Reasoning, "summary": Summary}
    if said is True:
        asked = request.get("reasoning")
        wanted = asked.get("summary") or asked.get("generate_summary") if isinstance(asked, Mapping) else None
        return Summary if wanted else Reasoning
    if said not in list(kinds):
        raise ValueError(f"reasoning is True, False, 'text' or 'summary', not {said!r}")
    return kinds[said]


def _seconds(created_at: Any) -> Any:
    if not isinstance(created_at, (int, float)) or not isfinite(created_at):
        raise TypeError(f"created_at is seconds since 1970, a number such as time.time(), not {created_at!r}")
    return created_at


def _defaults() -> Payload:
    none = dict.fromkeys(("instructions", "temperature", "top_p"))
    return {**none, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
