"""Checks ResponsesStream's arguments, and makes the small parts of its events."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..common.payload import Payload, to_json
from .items import Reasoning, Summary

if TYPE_CHECKING:
    from ...regions import Usage

__all__ = [
    *("COMPLETED", "ECHOED", "ENCRYPTED", "OPEN", "PHASES", "PREFIXES", "WHOLE"),
    *("beside", "defaults", "ending", "error", "failed", "head", "made_id", "phase", "reasoning_item", "seconds"),
    "whole_usage",
]

PREFIXES = {
    "reasoning": "rs",
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "mcp_call": "mcp",
    "code_interpreter_call": "ci",
    "web_search_call": "ws",
}
ENCRYPTED = "reasoning.encrypted_content"  # its name in a request's `include`
PHASES = {"final": "final_answer", "commentary": "commentary"}
ECHOED = (
    *("background", "conversation", "instructions", "max_output_tokens", "max_tool_calls", "metadata"),
    *("parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options"),
    *("prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "temperature", "text"),
    *("tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user"),
)

OPEN: Payload = {"status": "in_progress"}
COMPLETED: Payload = {"status": "completed"}
WHOLE = (None, "stop", "tool_calls", "function_call")  # finish reasons of a whole answer
_WHY = {"length": "max_output_tokens", "content_filter": "content_filter"}


def made_id(stem: str, type: str, index: int | str) -> str:
    return f"{PREFIXES[type]}_{stem}_{index}"


def phase(channel: str | None) -> Payload:
    return {"phase": PHASES[channel]} if channel in PHASES else {}


def ending(reason: str | None) -> Payload:
    """The fields of a response at its end. reason: the finish reason that the engine gave."""
    if reason == "error":
        return failed("The model stopped with an error.", "server_error")
    if reason in WHOLE:
        return COMPLETED
    why = _WHY.get(reason or "")
    return {"status": "incomplete", "incomplete_details": why and {"reason": why}}


def beside(ending: Payload) -> str:
    """The fields that go with the status, as JSON."""
    fields = {name: ending.get(name) for name in ("error", "incomplete_details")}
    return f",{to_json(fields)[1:-1]}"


def failed(message: str, code: str) -> Payload:
    return {"status": "failed", "error": {"code": code, "message": message}}


def error(message: str, code: str, type: str | None = None) -> Payload:
    """The event of an error. It comes before `response.failed`, because some clients would take a failed response for a
    short one. OpenAI's Python client raises the object `error`, and other clients read the fields beside it.
    """
    error = {"type": type or code, "code": code, "message": message, "param": None}
    return {**error, "type": "error", "error": error}


def reasoning_item(given: Any, request: Mapping[str, Any]) -> type[Reasoning] | None:
    """The class of the reasoning items. None hides reasoning."""
    kinds: dict[Any, type[Reasoning] | None] = {False: None, "text": Reasoning, "summary": Summary}
    if given is True:
        asked = request.get("reasoning")
        wanted = asked.get("summary") or asked.get("generate_summary") if isinstance(asked, Mapping) else None
        return Summary if wanted else Reasoning
    if given not in list(kinds):
        raise ValueError(f"reasoning is True, False, 'text' or 'summary', not {given!r}")
    return kinds[given]


def seconds(created: Any) -> Any:
    if type(created) is int:
        return created
    if not isinstance(created, (int, float)) or not isfinite(created):
        raise TypeError(f"created is seconds since 1970, a number such as time.time(), not {created!r}")
    return created


def head(id: str, created_at: Any, model: str) -> Payload:
    """The first fields of a response that has no request."""
    return {"id": id, "object": "response", "created_at": created_at, "model": model, **defaults()}


def defaults() -> Payload:
    none = dict.fromkeys(("instructions", "temperature", "top_p"))
    return {**none, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def whole_usage(usage: Payload, count: Usage, *, in_text: bool) -> Payload | None:
    """The usage. None if the tokens were not counted: a parser that reads text counts bytes."""
    if in_text and "output_tokens" not in usage:
        return None
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
            "reasoning_tokens": 0 if in_text else count.reasoning,
            **(usage.get("output_tokens_details") or {}),
        },
    }
