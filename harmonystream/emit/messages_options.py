"""The small parts of what MessagesStream says."""

from __future__ import annotations

from .payload import Payload

__all__ = ["call", "call_id", "failure"]


def call_id(stem: str, index: int | str) -> str:
    return f"toolu_{stem}_{index}"


def call(id: str, name: str) -> Payload:
    return {"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}}


def failure(message: str, type: str | None, code: str | None) -> Payload:
    error: Payload = {"type": type or "api_error", "message": message}
    return {"type": "error", "error": error if code is None else {**error, "details": {"error_code": code}}}
