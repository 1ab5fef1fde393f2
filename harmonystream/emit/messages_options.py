"""The small parts of what MessagesStream says."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from .payload import Payload

__all__ = ["call", "call_id", "failure", "hashed"]


def call_id(stem: str, index: int | str) -> str:
    return f"toolu_{stem}_{index}"


def call(id: str, name: str) -> Payload:
    return {"type": "tool_use", "id": id, "name": name, "input": {}, "caller": {"type": "direct"}}


def failure(message: str, type: str | None, code: str | None) -> Payload:
    error: Payload = {"type": type or "api_error", "message": message}
    return {"type": "error", "error": error if code is None else {**error, "details": {"error_code": code}}}


def hashed(id: str, text: str) -> str:
    """A signature that says nothing: without one, clients drop a block or send it back as the user's text."""
    return b64encode(sha256(f"{id}\0{text}".encode()).digest()).decode()
