"""Converts a chat to Harmony messages, which gpt-oss reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..checks import check_names, check_text
from ..errors import PromptError
from .builtin import BUILTIN
from .harmony_text import CUTOFF, DIALECTS, IDENTITY, Developer, HarmonyMessage, System
from .typescript import FunctionType, Namespace

__all__ = ["HarmonyOptions", "chat_messages", "harmony_messages", "head_messages", "instructions"]

EFFORTS = ("low", "medium", "high")


class HarmonyOptions(NamedTuple):
    """The options of a Harmony prompt. None leaves a line out.

    dialect: whose spelling: "model", "openai", "oss", "vllm" or "template". date: the text in the system message.
    builtin: which of the model's own tools are offered, "browser" and "python". training: the prompt is a whole
    conversation to learn from. continue_final: it ends inside the last message.
    """

    dialect: str = "model"
    reasoning: str | None = "medium"
    date: str | None = None
    identity: str | None = IDENTITY
    cutoff: str | None = CUTOFF
    builtin: Sequence[str] = ()
    training: bool = False
    continue_final: bool = False

    def check(self) -> None:
        """Raises `PromptError` for a value that does not exist."""
        if self.dialect not in DIALECTS:
            raise PromptError(f"dialect is {self.dialect!r}; expected one of {', '.join(DIALECTS)}")
        if self.reasoning is not None and self.reasoning not in EFFORTS:
            raise PromptError(f"reasoning is {self.reasoning!r}; gpt-oss knows {', '.join(EFFORTS)}")
        try:
            check_names("builtin", self.builtin)
            for name, text in (("identity", self.identity), ("cutoff", self.cutoff)):
                check_text(name, text)
        except TypeError as error:
            raise PromptError(str(error)) from None
        if unknown := [name for name in self.builtin if name not in BUILTIN]:
            raise PromptError(f"builtin has {', '.join(unknown)}; gpt-oss knows {', '.join(BUILTIN)}")


def harmony_messages(
    chat: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], options: HarmonyOptions
) -> list[HarmonyMessage]:
    """The messages of a normalised chat: system, developer, then the conversation.

    Instructions before the first user message become one developer message, with the functions. An assistant's message
    with several calls becomes several, each followed by its result, because the model writes one call at a time.
    Reasoning is kept from the last answer on, and earlier reasoning is left out.
    """
    options.check()
    advice = instructions(chat)
    return head_messages(advice, tools, options) + chat_messages(chat, len(advice), options)


def instructions(chat: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The texts of the messages before the conversation."""
    lead = next((i for i, message in enumerate(chat) if message["role"] not in ("system", "developer")), len(chat))
    return tuple([_text(message, i) for i, message in enumerate(chat[:lead])])


def head_messages(
    advice: Sequence[str], tools: Sequence[Mapping[str, Any]], options: HarmonyOptions
) -> list[HarmonyMessage]:
    """The messages before the conversation: the system message, and the developer message unless it is empty."""
    functions = tuple(_function(tool["function"]) for tool in tools if not _is_builtin(tool["function"], options))
    system = System(
        options.identity,
        options.cutoff,
        options.date,
        options.reasoning,
        tuple(BUILTIN[name] for name in options.builtin),
    )
    out = [HarmonyMessage("system", (system,))]
    if advice or functions:
        namespaces = (Namespace("functions", functions),) if functions else ()
        content = Developer("\n\n".join(advice) if advice else None, namespaces)
        out.append(HarmonyMessage("developer", (content,), source=0 if advice else -1))
    return out


def chat_messages(chat: Sequence[Mapping[str, Any]], lead: int, options: HarmonyOptions) -> list[HarmonyMessage]:
    """The conversation: the messages from `lead` on."""
    out: list[HarmonyMessage] = []
    kept = _first_kept(chat, options)
    writer = _Chat(chat, options)
    for i in range(lead, len(chat)):
        out += writer.messages(i, with_reasoning=i >= kept)
    return out


def _is_builtin(tool: Mapping[str, Any], options: HarmonyOptions) -> bool:
    """Does the system message already declare this tool? Then it is only in the list because something runs it."""
    name = tool["name"]
    space, dot, _ = name.partition(".")
    return space in options.builtin and (bool(dot) or not BUILTIN[space].functions)


def _function(tool: Mapping[str, Any]) -> FunctionType:
    return FunctionType(tool["name"], str(tool.get("description") or ""), tool.get("parameters"))


def _first_kept(chat: Sequence[Mapping[str, Any]], options: HarmonyOptions) -> int:
    """The first message whose reasoning is written: after the last answer or, for training, in the last turn."""
    if options.training:
        return max((i + 1 for i, message in enumerate(chat) if message["role"] == "user"), default=0)
    last = len(chat) - 1 if options.continue_final else len(chat)
    answers = (i + 1 for i, message in enumerate(chat[:last]) if _is_answer(message))
    return max(answers, default=0)


def _is_answer(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls")


def _text(message: Mapping[str, Any], i: int) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    kind = next(part["type"] for part in content if part["type"] != "text")
    raise PromptError(f"message {i}: content has a part of the type {kind!r}; gpt-oss reads text alone")


class _Chat:
    """One chat while it is written. A result is written together with its call."""

    def __init__(self, chat: Sequence[Mapping[str, Any]], options: HarmonyOptions) -> None:
        self._chat = chat
        self._options = options
        self._written: set[int] = set()
        self._dialect = DIALECTS[options.dialect]

    def messages(self, i: int, with_reasoning: bool) -> Iterator[HarmonyMessage]:
        message = self._chat[i]
        role = message["role"]
        if role == "assistant":
            yield from self._assistant(i, message, with_reasoning)
        elif role == "tool":
            if i not in self._written:
                yield self._result(i, message)
        elif role == "user":
            yield HarmonyMessage("user", (_text(message, i),), name=message.get("name"), source=i)
        else:
            yield HarmonyMessage("developer", (Developer(_text(message, i)),), source=i)

    def _assistant(self, i: int, message: Mapping[str, Any], with_reasoning: bool) -> Iterator[HarmonyMessage]:
        calls = message.get("tool_calls", ())
        reasoning = message.get("reasoning")
        if reasoning and with_reasoning:
            yield HarmonyMessage("assistant", (reasoning,), channel="analysis", source=i)
        if (text := _text(message, i)) or not (calls or reasoning):
            yield HarmonyMessage("assistant", (text,), channel="commentary" if calls else "final", source=i)
        results = self._results(i)
        for call in calls:
            recipient, channel, content_type = self._address(call["function"]["name"])
            arguments = (call["function"]["arguments"],)
            yield HarmonyMessage("assistant", arguments, None, channel, recipient, content_type, i)
            if (place := results.get(call["id"])) is not None:
                self._written.add(place)
                yield self._result(place, self._chat[place])

    def _results(self, i: int) -> dict[str, int]:
        """The results that follow a message, by the ids of their calls."""
        found: dict[str, int] = {}
        for place in range(i + 1, len(self._chat)):
            if self._chat[place]["role"] != "tool":
                break
            found.setdefault(self._chat[place].get("tool_call_id") or "", place)
        return found

    def _result(self, i: int, message: Mapping[str, Any]) -> HarmonyMessage:
        name = message.get("name")
        if not isinstance(name, str) or not name:
            why = "tool_call_id belongs to no call before it, and there is no name"
            raise PromptError(f"message {i}: {why}: the message with the call comes before its result")
        author, channel, _ = self._address(name)
        text = _text(message, i)
        if self._dialect.results == "json":
            text = json.dumps(text, ensure_ascii=False)
        return HarmonyMessage("tool", (text,), author, channel, "assistant", source=i)

    def _address(self, name: str) -> tuple[str, str, str]:
        """Recipient, channel and content type of a call. Calls of built-in tools belong to the reasoning."""
        space = name.partition(".")[0]
        if space in self._options.builtin and name.startswith(space):
            return name, "analysis", "code" if space == name else self._dialect.content_type
        return "functions." + name.removeprefix("functions."), "commentary", self._dialect.content_type
