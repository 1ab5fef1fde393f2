"""The small parts of what MessagesStream sends."""

from __future__ import annotations

from ..common.payload import Payload

__all__ = ["CACHE_NULLS", "MESSAGE_NULLS", "USAGE_NULLS", "USUAL"]
__all__ += ["call", "failure", "nulls", "stop_reason"]

_STOP_REASONS: dict[str | None, str] = {
    None: "end_turn",
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    **{one: one for one in ("pause_turn", "refusal", "model_context_window_exceeded")},
}
USUAL = (None, "stop", "tool_calls", "length")  # the finish reasons of most messages
# The client's types require these fields, which only Anthropic's own servers can fill.
MESSAGE_NULLS: Payload = {"container": None, "diagnostics": None, "stop_details": None}
USAGE_NULLS: Payload = dict.fromkeys(
    (
        *("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo"),
        *("output_tokens_details", "server_tool_use", "service_tier", "speed"),
    )
)
CACHE_NULLS: Payload = dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"))


def nulls(given: Payload) -> Payload:
    """The fields that the client's types require, unless the caller has given them."""
    return {name: given.get(name) for name in MESSAGE_NULLS}


def call(id: str, name: str) -> Payload:
    return {"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}}


def failure(message: str, type: str | None, code: str | None) -> Payload:
    error: Payload = {"type": type or "api_error", "message": message}
    return {"type": "error", "error": error if code is None else {**error, "details": {"error_code": code}}}


def stop_reason(reason: str | None, calls: int) -> str | None:
    return _STOP_REASONS.get("stop" if reason == "tool_calls" and not calls else reason)
