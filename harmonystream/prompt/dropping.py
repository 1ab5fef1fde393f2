"""Finds what a prompt leaves out, by rendering a conversation of the same shape with a distinct word in each part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from ..errors import PromptError
from .tool_definitions import is_hosted

__all__ = ["dropped"]


def dropped(
    chat: Sequence[dict[str, Any]],
    definitions: Sequence[dict[str, Any]],
    given: Any,
    render: Callable[[list[dict[str, Any]], list[dict[str, Any]]], str],
) -> tuple[str, ...]:
    """The parts of a normalised chat and of its tools that `render` does not write. given: the tools before
    conversion.
    """
    words = (f"q{number}z" for number in count(7_300_001))
    looked: list[tuple[str, str]] = []  # the name of each part, and the word in its place

    def word(name: str) -> str:
        looked.append((name, next(words)))
        return looked[-1][1]

    shadow = [_shadow(message, f"message {i}", word) for i, message in enumerate(chat)]
    tools = [
        {**tool, "function": {**tool["function"], "name": word(f"the tool {tool['function']['name']}")}}
        for tool in definitions
    ]
    try:
        text = render(shadow, tools)
    except PromptError:  # the template looks at the parts, and accepts no other text in them
        return ()
    return (*(name for name, said in looked if said not in text), *_hosted(given))


def _shadow(message: dict[str, Any], where: str, word: Callable[[str], str]) -> dict[str, Any]:
    made = dict(message)
    content = message["content"]
    if isinstance(content, str):
        made["content"] = word(f"{where}: content") if content.strip() else content
    else:
        made["content"] = [
            {**part, "text": word(f"{where}: content[{i}]")} if isinstance(part.get("text"), str) else part
            for i, part in enumerate(content)
        ]
    if message.get("reasoning"):
        made["reasoning"] = word(f"{where}: reasoning")
    if message.get("tool_calls"):
        made["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": f'{{"a": "{word(f"{where}: tool_calls[{i}]")}"}}'}}
            for i, call in enumerate(message["tool_calls"])
        ]
    return made


def _hosted(tools: Any) -> Iterable[str]:
    if isinstance(tools, (list, tuple)):
        for i, tool in enumerate(tools):
            if is_hosted(tool):
                yield f"tools[{i}], which is of the type {tool['type']}"
