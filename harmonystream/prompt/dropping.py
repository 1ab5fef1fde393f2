"""Finds what a prompt leaves out, by rendering a conversation of the same shape with a distinct word in each part."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count
from typing import Any, TypeAlias

from ..errors import PromptError
from .tool_definitions import is_hosted

__all__ = ["Looked", "dropped"]

MOST_SHAPES = 4096

_Owner: TypeAlias = list[tuple[str, str]]
"""A message, or all tools: the name of each part, and the word in its place."""


class Looked:
    """What the prompts of one model leave out of messages, by their shapes.

    A template looks at what a message has and at what stands around it. So the rounds of an agent, which are alike, are
    rendered only once to see what is left out. If two messages of one shape are treated differently, their shape is
    never known.
    """

    def __init__(self) -> None:
        self._lost: dict[int, tuple[int, ...] | None] = {}

    def known(self, shapes: Sequence[int]) -> list[tuple[int, ...]] | None:
        """Which parts are left out, counted in each owner. None if a shape is not known."""
        found = [self._lost.get(shape) for shape in shapes]
        return None if None in found else found  # type: ignore[return-value]

    def learn(self, shapes: Sequence[int], lost: Sequence[tuple[int, ...]]) -> None:
        if len(self._lost) + len(shapes) > MOST_SHAPES:
            self._lost.clear()
        for shape, parts in zip(shapes, lost):
            if self._lost.setdefault(shape, parts) != parts:
                self._lost[shape] = None


def dropped(
    chat: Sequence[dict[str, Any]],
    definitions: Sequence[dict[str, Any]],
    given: Any,
    render: Callable[[list[dict[str, Any]], list[dict[str, Any]]], str],
    looked: Looked | None = None,
    way: Hashable = None,
) -> tuple[str, ...]:
    """The parts of a normalised chat and of its tools that `render` does not write.

    given: the tools before conversion. looked: remembers what earlier chats have shown. way: the other options of
    `render`.
    """
    words = (f"q{number}z" for number in count(7_300_001))
    owners: list[_Owner] = []

    def word(name: str) -> str:
        owners[-1].append((name, next(words)))
        return owners[-1][-1][1]

    shadow = []
    for i, message in enumerate(chat):
        owners.append([])
        shadow.append(_shadow(message, f"message {i}", word))
    owners.append([])
    tools = [
        {**tool, "function": {**tool["function"], "name": word(f"the tool {tool['function']['name']}")}}
        for tool in definitions
    ]
    shapes = [] if looked is None else _shapes(chat, owners, way)
    lost = None if looked is None else looked.known(shapes)
    if lost is None:
        try:
            text = render(shadow, tools)
        except PromptError:  # the template looks at the parts, and accepts no other text in them
            return ()
        lost = [tuple(k for k, (_, one) in enumerate(owner) if one not in text) for owner in owners]
        if looked is not None:
            looked.learn(shapes, lost)
    return (*(owner[k][0] for owner, places in zip(owners, lost) for k in places), *_hosted(given))


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


def _shapes(chat: Sequence[dict[str, Any]], owners: Sequence[_Owner], way: Hashable) -> list[int]:
    """The shape of each message, and last that of the tools, as hashes: clients choose how long names are.

    A message's shape has the kinds of the messages next to it, and whether it is after the user's last one and after
    the last answer. That of the tools has the kinds of all messages, and which are the first and the last.
    """
    kinds = [(message["role"], "tool_calls" in message) for message in chat]
    at = {kind: i for i, kind in enumerate(kinds)}
    asked, answered = at.get(("user", False), -1), at.get(("assistant", False), -1)
    tools = owners[-1]
    own = ((len(owner), _shape(message)) for owner, message in zip(owners, chat))
    around = zip(own, [None, *kinds], [*kinds[1:], None])
    made = [hash((way, bool(tools), i > asked, i > answered, *shapes)) for i, shapes in enumerate(around)]
    return [*made, hash((way, frozenset(kinds), *kinds[:1], *kinds[-1:], *(name for name, _ in tools)))]


def _shape(message: dict[str, Any]) -> Hashable:
    content, calls = message["content"], message.get("tool_calls") or ()
    kind = bool(content.strip()) if isinstance(content, str) else tuple(str(part.get("type")) for part in content)
    return message["role"], kind, bool(message.get("reasoning")), len(calls), frozenset(message)


def _hosted(tools: Any) -> Iterable[str]:
    if isinstance(tools, (list, tuple)):
        for i, tool in enumerate(tools):
            if is_hosted(tool):
                yield f"tools[{i}], which is of the type {tool['type']}"
