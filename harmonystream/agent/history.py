"""What a round adds to the conversation, in Chat Completions' form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..completion import ToolCall

__all__ = ["assistant_message", "call_count"]


def assistant_message(content: str, reasoning: str, calls: Sequence[ToolCall]) -> dict[str, Any] | None:
    """What the model said, thought and called; None if that is nothing."""
    if not (content or reasoning or calls):
        return None
    made: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning:
        made["reasoning"] = reasoning
    if calls:
        made["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return made


def call_count(messages: Iterable[Any]) -> int:
    """How many calls a conversation has. The next one's id is made of this number if the model writes none."""
    return sum(len(message.get("tool_calls") or ()) for message in messages if isinstance(message, dict))
