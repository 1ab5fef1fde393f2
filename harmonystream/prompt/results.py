"""Tool results as messages. There are two ways to return them to a model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from ..checks import shown
from ..errors import PromptError

__all__ = ["tool_results"]

_CLOSING = "Now provide your response based on the tool results above."


def tool_results(
    calls: Iterable[Any], results: Iterable[Any], style: Literal["tool", "user"] = "tool", *, closing: str = _CLOSING
) -> list[dict[str, Any]]:
    """The messages that follow the assistant's calls, to be appended to a conversation.

    calls: the calls, as `parse`, `Tools` or an API's client returns them.
    results: one for each call, as text, a JSON value or a `ToolResult` from `Tools.run`. Results with a `call_id` may
    have any order. Others have the order of the calls.
    style: "tool" makes a message with the role `tool` for each call, to be put after the assistant's message with the
    calls. "user" makes one user message with a block `[Tool Results]`, for chats that leave out the call itself.
    closing: the last line of the user message.

    Raises `PromptError` unless there is one result for each call.
    """
    for name, given in (("calls", calls), ("results", results)):
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise PromptError(f"{name} is a list, one for each call, not {shown(given)}")
    if not isinstance(closing, str):
        raise PromptError(f"closing is a str, not {shown(closing)}")
    read = [_call(call, i) for i, call in enumerate(calls)]
    answers = _by_call(read, list(results))
    if style == "tool":
        return [
            {"role": "tool", "tool_call_id": tid, "name": name, "content": _text(result, None)}
            for (tid, name), result in zip(read, answers)
        ]
    if style != "user":
        raise PromptError(f"style is {style!r}; expected 'tool' or 'user'")
    blocks = [f"**{name}**:\n{_text(result, 2)}" for (_, name), result in zip(read, answers)]
    return [{"role": "user", "content": "[Tool Results]\n" + "\n\n".join((*blocks, closing))}]


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _call(call: Any, i: int) -> tuple[str, str]:
    """The id and name of a call in any API's form."""
    name = _field(_field(call, "function") or call, "name")
    if not isinstance(name, str) or not name:
        raise PromptError(f"call {i} has no name: expected a call as parse() or an API has it, not {shown(call)}")
    tid = _field(call, "call_id") or _field(call, "id")
    return tid if isinstance(tid, str) else f"call_{i}", name


def _by_call(calls: list[tuple[str, str]], results: list[Any]) -> list[Any]:
    if len(results) != len(calls):
        raise PromptError(f"there are {len(calls)} calls and {len(results)} results; each call needs one")
    ids = [_field(result, "call_id") if hasattr(result, "text") else None for result in results]
    if None in ids or len(set(ids)) != len(ids):
        return results
    known = {tid for tid, _ in calls}
    if unknown := [tid for tid in ids if tid not in known]:
        # The loop that ran a call without an id has given it one. Then the order decides.
        if len(unknown) == len(ids):
            return results
        raise PromptError(f"the result {unknown[0]!r} belongs to no call")
    by_id = dict(zip(ids, results))
    return [by_id[tid] for tid, _ in calls]


def _text(result: Any, indent: int | None) -> str:
    """A result as text. JSON keeps non-ASCII letters. With an indent, text that is JSON is formatted, too."""
    if not isinstance(result, dict) and hasattr(result, "text"):
        result = result.text
    if isinstance(result, bytes):
        return result.decode("utf-8", "replace")
    if isinstance(result, str):
        if indent is None:
            return result
        try:
            value = json.loads(result)
        except (ValueError, RecursionError):
            return result
        if not isinstance(value, (dict, list)):
            return result
        result = value
    try:
        return json.dumps(result, ensure_ascii=False, indent=indent)
    except (TypeError, ValueError, RecursionError) as error:
        raise PromptError(f"a result of the type {type(result).__name__} cannot be written as JSON: {error}") from error
