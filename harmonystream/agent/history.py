"""What a round adds to the conversation, in Chat Completions' form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..completion import ToolCall

__all__ = ["CallIds", "assistant_message"]


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


class CallIds:
    """Gives each call an id that no other call of the conversation has."""

    def __init__(self, messages: Iterable[Any]) -> None:
        calls = [call for one in messages if isinstance(one, dict) for call in one.get("tool_calls") or ()]
        self._used = {call.get("id") for call in calls if isinstance(call, dict)}
        self._number = len(calls)  # of the next call

    def next(self, written: str | None) -> str:
        """The id of the next call: the one that the model wrote, or one that is made of the call's number."""
        made = written if written is not None and written not in self._used else f"call_{self._number}"
        while made in self._used:
            made += "_"
        self._used.add(made)
        self._number += 1
        return made

    def skip(self) -> None:
        """The next call was cut, and is not in the conversation."""
        self._number += 1
