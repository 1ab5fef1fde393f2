"""Runs of tools inside an earlier answer of Messages. They become a call, and a result after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["with_runs_apart"]

_NAMES = {"mcp_tool_use": "tool_use", "mcp_tool_result": "tool_result"}


def with_runs_apart(messages: Iterable[Any]) -> list[Any]:
    """The messages of a request, in which each run becomes a call by the assistant and a result from the user."""
    return [one for message in messages for one in _parted(message)]


def _parted(message: Any) -> Iterator[Any]:
    blocks = message.get("content") if isinstance(message, dict) else None
    if not isinstance(blocks, list) or not any(_kind(block) in _NAMES for block in blocks):
        yield message
        return
    waiting: list[Any] = []  # blocks of the same role
    results = False
    for block in blocks:
        kind = _kind(block)
        if waiting and (kind == "mcp_tool_result") is not results:
            yield {**message, "role": "user" if results else message.get("role"), "content": waiting}
            waiting = []
        results = kind == "mcp_tool_result"
        waiting.append({**block, "type": _NAMES[kind]} if kind in _NAMES else block)
    yield {**message, "role": "user" if results else message.get("role"), "content": waiting}


def _kind(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else ""
