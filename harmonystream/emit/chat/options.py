"""Checks ChatStream's arguments, and makes the small parts of its chunks."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

from ..common.payload import Payload, checked

__all__ = [
    *("call", "checked_preamble", "custom", "ends", "failure", "finish_reason", "names_a_tool"),
    *("reasoning_fields", "seconds"),
]

_REASONING = ("reasoning",)

TAKEN = {"", "role", "tool_calls", "function_call", "refusal"}  # fields of a delta that a preamble cannot use


def finish_reason(reason: str | None, calls: int, named: bool) -> str:
    """calls: how many are shown. named: the request named the tool, so a call does not change the finish reason."""
    if reason == "tool_calls" and (not calls or named):
        return "stop"
    return reason or "stop"


def ends(named: bool) -> dict[str | None, tuple[tuple[str, str], tuple[str, str]]]:
    """The reasons with which most responses end."""
    usual = (None, "stop", "tool_calls", "length")
    return {reason: ((finish_reason(reason, 0, named), ""), (finish_reason(reason, 1, named), "")) for reason in usual}


def reasoning_fields(field: str | None) -> tuple[str, ...]:
    if field == "reasoning":
        return _REASONING
    if field not in ("reasoning", "reasoning_content", "both", None):
        raise ValueError(f"reasoning_field is 'reasoning', 'reasoning_content', 'both' or None, not {field!r}")
    return () if field is None else ("reasoning", "reasoning_content") if field == "both" else (field,)


def checked_preamble(field: str | None) -> str | None:
    if field is not None and (not checked("preamble_field", field) or field in TAKEN):
        raise ValueError(f"preamble_field is the name of a field for text, or None, not {field!r}")
    return field


def names_a_tool(tool_choice: Any) -> bool:
    kind = tool_choice.get("type") if isinstance(tool_choice, Mapping) else getattr(tool_choice, "type", None)
    return kind in ("function", "custom")


def seconds(created: Any) -> int:
    if type(created) is int:
        return created
    try:
        return index(created)
    except TypeError:
        kind = created.__class__.__name__
        raise TypeError(f"created is whole seconds since 1970, an int such as int(time.time()), not a {kind}") from None


def failure(message: str, type: str | None, code: str | None) -> Payload:
    return {"error": {"message": message, "type": type or "server_error", "param": None, "code": code}}


def call(id: str, name: str) -> Payload:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}


def custom(id: str, name: str) -> Payload:
    return {"id": id, "type": "custom", "custom": {"name": name, "input": ""}}
