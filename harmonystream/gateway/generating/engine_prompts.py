"""Prompts written by the engine's own renderer, which gets the conversation, pictures included, in Chat's form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ..._native.core.vocab import Vocab
from ...errors import PromptError
from ...prompt import Prompt, normalize
from ...prompt.tool_definitions import chat_tools
from ...vocabs.spellings import any_of
from ..refused import Refused
from ..requests.media import picture_of
from ..requests.request import ApiRequest

__all__ = ["EnginePrompt", "Spellings", "chat_request"]

MOST_PICTURES = 64
_WAYS = "thinking", "enable_thinking"
"""The templates' names for the variable that turns reasoning on or off. Each template has its own."""


@dataclass(frozen=True)
class EnginePrompt(Prompt):
    """A prompt that comes from the engine's renderer. features, continues, counted: as in `Rendered`."""

    features: Mapping[str, Any] | None = field(default=None, repr=False)
    continues: bool = True
    counted: bool = True


class Spellings:
    """The spellings of a vocabulary's control tokens. An engine's renderer would read them as tokens in any text."""

    def __init__(self, vocab: Vocab) -> None:
        self._pattern = re.compile(any_of(vocab.control))

    def refuse(self, content: Any, where: str) -> None:
        """Raises `Refused` if a string in this value spells a control token, because it would become that token."""
        for text in _texts(content):
            if (found := self._pattern.search(text)) is not None:
                what = f"{where} has the text {found[0]!r}, which this model's renderer would read as a control token."
                raise Refused(400, what, param=where, code="invalid_prompt")


def _texts(value: Any) -> Iterator[str]:
    """All strings in a JSON value, including the names of members."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            left += one


def chat_request(request: ApiRequest, spellings: Spellings) -> dict[str, Any]:
    """A request of Chat Completions with the conversation, its tools and its switches. Raises `Refused`."""
    param = "input" if request.api == "responses" else "messages"
    pictures = _Pictures()
    try:
        messages = normalize(pictures.hidden(request.messages, param))
        tools = chat_tools(request.tools)
    except PromptError as error:
        what = f"The conversation cannot be written for this model: {error}."
        raise Refused(400, what, param=param, code="invalid_prompt") from None
    spellings.refuse(messages, param)
    spellings.refuse(tools, "tools")
    spellings.refuse(request.variables, "chat_template_kwargs")
    made: dict[str, Any] = {"messages": [pictures.shown(message) for message in messages]}
    if tools:
        made["tools"] = tools
    variables = dict(request.variables)
    thinking = False if request.effort == "none" else request.thinking
    if thinking is not None:
        for name in _WAYS:
            variables.setdefault(name, thinking)
    if request.effort not in (None, "none"):
        made["reasoning_effort"] = request.effort
    if variables:
        made["chat_template_kwargs"] = variables
    if request.continues:
        made |= {"continue_final_message": True, "add_generation_prompt": False}
    return made


class _Pictures:
    """The pictures of a conversation. While messages are put in order, an unguessable string stands for each
    picture.
    """

    def __init__(self) -> None:
        self._sign = token_hex(16)
        self._found: list[dict[str, Any]] = []
        self._places = re.compile(rf"\n?\[{self._sign}:(\d+)\]\n?")

    def hidden(self, messages: list[Any], where: str) -> list[Any]:
        return [
            {
                name: self._without(value, f"{where}[{at}].{name}") if name in ("content", "output") else value
                for name, value in message.items()
            }
            if isinstance(message, dict)
            else message
            for at, message in enumerate(messages)
        ]

    def _without(self, parts: Any, where: str) -> Any:
        if not isinstance(parts, list):
            return parts
        made = []
        for at, part in enumerate(parts):
            if isinstance(part, dict) and part.get("type") == "tool_result":
                part = {**part, "content": self._without(part.get("content"), f"{where}[{at}].content")}
            elif (picture := picture_of(part, f"{where}[{at}]")) is not None:
                if len(self._found) == MOST_PICTURES:
                    raise Refused(400, f"There are more than {MOST_PICTURES} pictures.", param=where)
                part = {"type": "text", "text": f"[{self._sign}:{len(self._found)}]"}
                self._found.append(picture)
            made.append(part)
        return made

    def shown(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message, with its pictures put back."""
        content = message.get("content")
        if not isinstance(content, str) or self._sign not in content:
            return message
        pieces = self._places.split(content)
        parts: list[Any] = []
        for at, piece in enumerate(pieces):
            if at % 2:
                parts.append(self._found[int(piece)])
            elif piece:
                parts.append({"type": "text", "text": piece})
        return {**message, "content": parts}
