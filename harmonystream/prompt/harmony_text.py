"""Harmony messages as text and ids: the grammar of gpt-oss's prompts, with the spellings of the reference renderers.

Messages here have the fields of the format itself: an author, a channel, a recipient. `harmony.py` converts a chat to
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ..errors import PromptError
from ..formats.harmony import HARMONY
from .typescript import Namespace, tools_text
from .typescript_template import template_tools_text
from .writer import Writer

__all__ = ["DIALECTS", "Developer", "Dialect", "HarmonyMessage", "System", "render_messages"]

IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."
CUTOFF = "2024-06"
CHANNELS = ("analysis", "commentary", "final")
_CALLS_GO = "Calls to these tools must go to the commentary channel: 'functions'."


class System(NamedTuple):
    """The content of a system message. None leaves a line out."""

    identity: str | None = IDENTITY
    cutoff: str | None = CUTOFF
    date: str | None = None
    reasoning: str | None = "medium"
    tools: tuple[Namespace, ...] = ()
    channels: tuple[str, ...] = CHANNELS
    channel_required: bool = True


class Developer(NamedTuple):
    """The content of a developer message: instructions, and the functions that may be called."""

    instructions: str | None = None
    tools: tuple[Namespace, ...] = ()


Content: TypeAlias = str | System | Developer


class HarmonyMessage(NamedTuple):
    """One message of the format. `role` is assistant, user, system, developer or tool. A tool has its name in `name`.

    source: the number of the chat's message from which it is made. -1 if there is none.
    """

    role: str
    contents: tuple[Content, ...] = ()
    name: str | None = None
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None
    source: int = -1


class Dialect(NamedTuple):
    """The differences between Harmony's renderers.

    late: which messages name the recipient after the channel, and only on the channel `commentary`: "all", "none",
    "calls" (the assistant's calls) or "results" (all messages except those). Everywhere else the recipient comes first.
    constrain: "given" writes a content type as it is given, "all" puts `<|constrain|>` before it, and "results" does so
    in all messages except the assistant's calls. content_type: the content type of function calls. exponent: how
    defaults write a large exponent. functions: how a developer message declares functions. after: what follows
    instructions without functions. results: "text" writes a result unchanged, "json" quotes it once more.
    """

    late: str
    constrain: str
    exponent: str
    content_type: str = "<|constrain|>json"
    functions: Callable[[Sequence[Namespace], str], str] = tools_text
    after: str = ""
    results: str = "text"


DIALECTS = {
    "model": Dialect("calls", "given", "e"),
    "openai": Dialect("none", "given", "e"),
    "oss": Dialect("all", "all", "e+"),
    "vllm": Dialect("results", "results", "e+", content_type="json"),
    "template": Dialect(
        "none", "given", "e", content_type="json", functions=template_tools_text, after="\n\n", results="json"
    ),
}

_M = HARMONY.markers
_CONSTRAIN = _M["constrain"]


def render_messages(
    messages: Sequence[HarmonyMessage],
    writer: Writer,
    dialect: str = "openai",
    *,
    next_role: str | None = None,
    training: bool = False,
    auto_drop_analysis: bool = False,
    open_last: bool = False,
    calls_functions: bool | None = None,
) -> None:
    """Write messages unchanged.

    next_role: whose turn begins after them. training: a final answer at the end is closed with `<|return|>`.
    auto_drop_analysis: as in openai-harmony, the analysis before the first final message is left out if the assistant's
    last message is a final one. open_last: the last message has no end, so that the model continues it.
    calls_functions: does the system message describe where function calls go? None: only if a developer message
    declares functions.
    """
    row = DIALECTS[dialect]
    if calls_functions is None:
        calls_functions = any(
            namespace.name == "functions" and namespace.functions
            for message in messages
            for content in message.contents
            if isinstance(content, Developer)
            for namespace in content.tools
        )
    kept = [*_without_analysis(messages)] if auto_drop_analysis else messages
    last = len(kept) - 1
    for i, message in enumerate(kept):
        ending = "call" if message.role == "assistant" and message.recipient is not None else "end"
        if training and i == last and message.role == "assistant" and message.channel == "final":
            ending = "return"
        role, _, name, channel, recipient, content_type, source = message
        writer.message(source)
        writer.header(_write_header, dialect, role, name, channel, recipient, content_type)
        for content in message.contents:
            if isinstance(content, str):
                writer.text(content)
            else:
                writer.constant(_content_text(content, message.role, row, calls_functions))
        if not (open_last and i == last):
            writer.marker(_M[ending])
    if next_role is not None:
        writer.message(-1)
        writer.marker(_M["start"])
        writer.constant(next_role)


def _without_analysis(messages: Sequence[HarmonyMessage]) -> Iterable[HarmonyMessage]:
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    if last is None or last.channel != "final":
        return messages
    first_final = next(i for i, message in enumerate(messages) if message.channel == "final")
    return (message for i, message in enumerate(messages) if i >= first_final or message.channel != "analysis")


def _write_header(
    writer: Writer,
    dialect: str,
    role: str,
    name: str | None,
    channel: str | None,
    recipient: str | None,
    content_type: str | None,
) -> None:
    row = DIALECTS[dialect]
    writer.marker(_M["start"])
    if role != "tool":
        writer.text(role)
        if name is not None:
            writer.text(":" + name)
    elif name is None:
        raise PromptError("a message of the role tool has no name: Harmony writes the tool's name as its author")
    else:
        writer.text(name)
    call = role == "assistant" and recipient is not None
    late = channel == "commentary" and row.late in ("all", "calls" if call else "results")
    address = "" if recipient in (None, "all") else f" to={recipient}"
    if address and not late:
        writer.text(address)
    if channel is not None:
        writer.marker(_M["channel"])
        writer.text(channel)
    if address and late:
        writer.text(address)
    if content_type is not None:
        _write_type(content_type, writer, row.constrain, call)
    writer.marker(_M["message"])


def _write_type(content_type: str, writer: Writer, rule: str, call: bool) -> None:
    bare = content_type.removeprefix(_CONSTRAIN)
    if rule == "all" or (rule == "results" and not call) or (rule == "given" and bare != content_type):
        writer.text(" ")
        writer.marker(_CONSTRAIN)
        if bare:
            writer.text(bare)
    else:
        writer.text(" " + bare)


def _content_text(content: System | Developer, role: str, dialect: Dialect, calls_functions: bool) -> str:
    if isinstance(content, System):
        if role != "system":
            raise PromptError(f"the content of a system message is in a message of the role {role!r}")
        return _system_text(content, dialect.exponent, calls_functions)
    if role != "developer":
        raise PromptError(f"the content of a developer message is in a message of the role {role!r}")
    sections = [] if content.instructions is None else ["# Instructions", content.instructions]
    if content.tools:
        sections.append(_declared(content.tools, dialect.functions, dialect.exponent))
    return "\n\n".join(sections) + ("" if content.tools else dialect.after)


def _system_text(system: System, exponent: str, calls_functions: bool) -> str:
    top = [
        line
        for value, line in (
            (system.identity, f"{system.identity}"),
            (system.cutoff, f"Knowledge cutoff: {system.cutoff}"),
            (system.date, f"Current date: {system.date}"),
        )
        if value is not None
    ]
    sections = ["\n".join(top)] if top else []
    if system.reasoning is not None:
        sections.append(f"Reasoning: {system.reasoning}")
    if system.tools:
        sections.append(_declared(system.tools, tools_text, exponent))
    if system.channels:
        line = f"# Valid channels: {', '.join(system.channels)}."
        line += " Channel must be included for every message." if system.channel_required else ""
        sections.append(line + ("\n" + _CALLS_GO if calls_functions else ""))
    return "\n\n".join(sections)


# --- declarations -------------------------------------------------------------------------------------------------

_Declare = Callable[[Sequence[Namespace], str], str]
_MAX_KEY = 100_000
"""Characters of declarations that are remembered: request after request has the same tools."""


class _Key(str):
    """The JSON of namespaces, used as a key to remember their text."""

    namespaces: Sequence[Namespace]


def _declared(namespaces: Sequence[Namespace], declare: _Declare, exponent: str) -> str:
    try:
        key = _Key(json.dumps(namespaces))
    except (TypeError, ValueError, RecursionError):
        return declare(namespaces, exponent)
    if len(key) > _MAX_KEY:
        return declare(namespaces, exponent)
    key.namespaces = namespaces
    return _remembered(key, declare, exponent)


@lru_cache(maxsize=64)
def _remembered(key: _Key, declare: _Declare, exponent: str) -> str:
    return declare(key.namespaces, exponent)
