"""Finds out by trial which form of messages a chat template needs, and converts messages to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import PromptError
from .parts import arguments_object

__all__ = ["Wants", "for_template", "probe"]


class Wants(NamedTuple):
    """How one template takes messages.

    objects: the arguments of calls are objects, not JSON text. parts: contents are lists of parts. system: it accepts
    the role system. developer: it accepts the role developer. wrapper: tools are `{"type": "function", "function": …}`.
    nine: ids have nine letters and digits. reasoning: it reads an assistant's reasoning from a field of its own.
    around: the white space that it puts before and after an assistant's text, which the model also writes.
    """

    objects: bool = True
    parts: bool = False
    system: bool = True
    developer: bool = False
    wrapper: bool = True
    nine: bool = False
    reasoning: bool = False
    around: tuple[str, str] = ("", "")

    def wrapped(self, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return tools if self.wrapper else [tool["function"] for tool in tools]


# --- probing ------------------------------------------------------------------------------------------------------

_PROBE, _ADVICE, _KEY = "probe text", "probe advice", "probe_key"
_TOOL = {
    "name": "probe",
    "description": "d",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def probe(render: Callable[[dict[str, Any]], str | None], tools: bool) -> Wants:
    """Find out what a template accepts, by rendering small conversations with it. `render` returns None for
    an error.
    """
    wants = Wants()
    tool = [{"type": "function", "function": _TOOL}] if tools else None

    def shows(text: str, *messages: dict[str, Any]) -> bool:
        """Some templates need tools in every prompt."""
        return any(text in (render(_data([*messages], given)) or "") for given in ((None, tool) if tool else (None,)))

    user = {"role": "user", "content": _PROBE}
    if not shows(_PROBE, user):
        wants = wants._replace(parts=shows(_PROBE, {"role": "user", "content": _as_content(_PROBE, True)}))
    system = {"role": "system", "content": _as_content(_ADVICE, wants.parts)}
    user = {"role": "user", "content": _as_content(_PROBE, wants.parts)}
    wants = wants._replace(system=shows(_ADVICE, system, user), around=_around(render, user, wants.parts))
    choices = [
        Wants(objects=objects, wrapper=wrapper, nine=nine)
        for nine in (False, True)
        for wrapper in (True, False)
        for objects in (True, False)
    ]
    second = None
    for choice in choices:
        text = render(_calling(user, choice, wants.parts, tools))
        if text is None:
            continue
        found = wants._replace(objects=choice.objects, wrapper=choice.wrapper, nine=choice.nine)
        if f"{{'{_KEY}'" not in text:  # this is how Python writes an object, so it was inserted unchanged
            return found
        second = second or found
    return second or wants


def _around(render: Callable[[dict[str, Any]], str | None], user: dict[str, Any], parts: bool) -> tuple[str, str]:
    """The white space before and after the text of an answer."""
    answer = {"role": "assistant", "content": _as_content(_ADVICE, parts)}
    begun, whole = render(_data([user])), render(_data([user, answer, user]))
    if begun is None or whole is None or not whole.startswith(begun):
        return "", ""
    before, found, after = whole[len(begun) :].partition(_ADVICE)
    if not found or before.strip():
        return "", ""
    return before, after[: len(after) - len(after.lstrip())]


def _data(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"messages": messages, "tools": tools, "add_generation_prompt": True}


def _calling(user: dict[str, Any], choice: Wants, parts: bool, tools: bool) -> dict[str, Any]:
    arguments = {_KEY: "v"} if choice.objects else f'{{"{_KEY}": "v"}}'
    tid = "probeid01" if choice.nine else "functions.probe:0"
    call = {"id": tid, "type": "function", "function": {"name": "probe", "arguments": arguments}}
    messages = [
        user,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": tid, "name": "probe", "content": _as_content("r", parts)},
    ]
    return _data(messages, choice.wrapped([{"type": "function", "function": _TOOL}]) if tools else None)


# --- the form -----------------------------------------------------------------------------------------------------


def for_template(messages: list[dict[str, Any]], wants: Wants, ids: str) -> list[dict[str, Any]]:
    """Normalised messages in the template's form. They are changed in place. Errors name message and field."""
    if not wants.developer:
        messages = _without_developer(messages)
    if not wants.system:
        messages = _without_system(messages)
    if ids == "functions":
        _rename(messages, _functions_id)
    elif wants.nine:
        _rename(messages, _nine_id)
    for i, message in enumerate(messages):
        if message["role"] == "assistant" and isinstance(message["content"], str):
            message["content"] = message["content"].removeprefix(wants.around[0]).removesuffix(wants.around[1])
        message["content"] = _as_content(message["content"], wants.parts)
        if (reasoning := message.get("reasoning")) is not None:
            message |= {"reasoning_content": reasoning, "thinking": reasoning}
        for k, call in enumerate(message.get("tool_calls", ())):
            if wants.objects:
                call["function"]["arguments"] = _object(call["function"]["arguments"], f"message {i}: tool_calls[{k}]")
    return messages


def _as_content(content: Any, parts: bool) -> Any:
    return [{"type": "text", "text": content}] if parts and isinstance(content, str) else content


def _object(text: str, where: str) -> dict[str, Any]:
    """Templates loop over arguments, so other values become an object: `{"raw": …}` keeps what the model wrote."""
    if not text.strip():
        return {}
    value = arguments_object(text)
    return {"raw": text} if value is None else value


def _without_developer(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn developer messages into system messages, and join all of those into one at the front."""
    if not any(message["role"] == "developer" for message in messages):
        return messages
    advice = [message for message in messages if message["role"] in ("system", "developer")]
    rest = [message for message in messages if message["role"] not in ("system", "developer")]
    return [{"role": "system", "content": _joined(advice)}, *rest]


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the system message's text at the beginning of the first user message."""
    advice = [message for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    if not advice:
        return messages
    first = next((message for message in rest if message["role"] == "user"), None)
    if first is None:
        return [{"role": "user", "content": _joined(advice)}, *rest]
    if isinstance(first["content"], str):
        first["content"] = f"{_joined(advice)}\n\n{first['content']}"
    else:
        first["content"] = [{"type": "text", "text": _joined(advice)}, *first["content"]]
    return rest


def _joined(messages: list[dict[str, Any]]) -> str:
    for message in messages:
        if not isinstance(message["content"], str):
            raise PromptError(f"a {message['role']} message has parts that are not text")
    return "\n\n".join(message["content"] for message in messages)


def _functions_id(tid: str, name: str, index: int) -> str:
    return tid if re.fullmatch(r"functions\..+:\d+", tid) else f"functions.{name}:{index}"


def _nine_id(tid: str, name: str, index: int) -> str:
    return tid if re.fullmatch(r"[a-zA-Z0-9]{9}", tid) else f"{index:09d}"


def _rename(messages: list[dict[str, Any]], form: Callable[[str, str, int], str]) -> None:
    """Give calls ids of a family's form, and their results the same ids. Ids that already have the form stay."""
    index = 0
    renamed: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", ()):
            tid = form(call["id"], call["function"]["name"], index)
            renamed[call["id"]] = tid
            call["id"] = tid
            index += 1
        if message["role"] == "tool" and message.get("tool_call_id") in renamed:
            message["tool_call_id"] = renamed[message["tool_call_id"]]
