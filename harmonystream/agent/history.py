"""What a round adds to the conversation, in the form of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..completion import ToolCall

__all__ = ["CallIds", "assistant_message", "continued", "length"]


def assistant_message(content: str, reasoning: str, calls: Sequence[ToolCall]) -> dict[str, Any] | None:
    """The message with what the model wrote, thought and called. None if it is empty."""
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


def continued(messages: Sequence[dict[str, Any]], added: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A conversation whose last message the model has continued. `added` begins with the rest of that message."""
    if not messages or not added or added[0]["role"] != "assistant":
        return [*messages, *added]
    begun, rest = messages[-1], added[0]
    whole = {**begun, **rest}
    for name in ("reasoning", "content"):
        parts = [one[name] for one in (begun, rest) if one.get(name)]
        if all(isinstance(part, str) for part in parts):
            whole[name] = "".join(parts)
        else:  # the last message has parts that are not text
            return [*messages, *added]
    return [*messages[:-1], whole, *added[1:]]


class CallIds:
    """Gives each call an id that no other call of the conversation has."""

    def __init__(self, messages: Iterable[Any]) -> None:
        calls = [call for one in messages if isinstance(one, dict) for call in one.get("tool_calls") or ()]
        self._used = {call.get("id") for call in calls if isinstance(call, dict)}
        self._number = len(calls)  # the number of the next call

    def next(self, written: str | None) -> str:
        """The id of the next call. It is the model's own id, or an id made from the call's number."""
        made = written if written is not None and written not in self._used else f"call_{self._number}"
        while made in self._used:
            made += "_"
        self._used.add(made)
        self._number += 1
        return made

    def skip(self) -> None:
        """Skip the next call, which was cut off and is not in the conversation."""
        self._number += 1


def length(messages: Iterable[Mapping[str, Any]]) -> int:
    """About how many characters a conversation has, counting its contents."""
    return sum(map(_length_of, (message.get("content") for message in messages)))


def _length_of(content: Any) -> int:
    if isinstance(content, str):
        return len(content)
    texts = (part.get("text") for part in content if isinstance(part, dict)) if isinstance(content, list) else ()
    return sum(len(text) for text in texts if isinstance(text, str))
