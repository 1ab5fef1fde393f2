"""The only normaliser: it converts messages of Chat Completions, items of Responses, and messages of Anthropic's API to
one form.

The form is Chat's: `role` and `content`, and for the assistant also `reasoning` and `tool_calls`, whose arguments are
text. A tool's result follows its call, as a message with the role `tool`, `tool_call_id` and `name`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..checks import shown
from ..completion import Completion
from ..errors import PromptError
from .parts import plain, text_of_parts
from .reader import Reader

__all__ = ["normalize", "read_request"]

MAX_MESSAGES = 100_000


def normalize(messages: Any, *, think: tuple[str, str] | None = ("<think>", "</think>")) -> list[dict[str, Any]]:
    """Messages in Chat's form, new dicts throughout.

    messages: a str (a user's message), or a sequence of messages or items, in any mixture of three APIs: Chat
    Completions, Responses (`function_call`, `reasoning`, …) and Anthropic's Messages (`tool_use`, `thinking`, …). Each
    is a mapping, an object with `model_dump()` from an API's client, or a `Completion` from `parse`.

    think: the tags around reasoning inside an assistant's content, which become `reasoning`; None leaves content alone.

    Arguments become JSON text, missing ids are made up, and text parts are joined (with a line for each part of a user
    or tool). A missing content of the assistant or a tool becomes "". Results are put in the order of their calls, and
    get the call's name.

    Raises `PromptError`, which names the message and the field.
    """
    if think is not None and not (isinstance(think, (tuple, list)) and [type(tag) for tag in think] == [str, str]):
        raise PromptError(f"think is a pair of tags such as ('<think>', '</think>'), or None, not {shown(think)}")
    reader = Reader(think)
    for i, item in enumerate(_items(messages)):
        if i >= MAX_MESSAGES:
            raise PromptError(f"there are more than {MAX_MESSAGES} messages")
        reader.where = f"message {i}"
        reader.add(_fields(item, reader.where))
    return reader.finish()


def _items(messages: Any) -> Iterable[Any]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping) or not isinstance(messages, Iterable):
        raise PromptError(f"messages are a str or a list of messages, not {shown(messages)}")
    return messages


def _fields(item: Any, where: str) -> dict[str, Any]:
    if isinstance(item, Completion):
        calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in item.tool_calls]
        return {"role": "assistant", "reasoning": item.reasoning, "content": item.content, "tool_calls": calls}
    fields = plain(item, where)
    if not isinstance(fields, dict):
        raise PromptError(f"{where} is {type(item).__name__}; expected a mapping such as {{'role': 'user', …}}")
    return fields


def read_request(request: Any) -> tuple[list[Any], list[Any] | None, dict[str, Any]]:
    """The messages, tools and remaining fields of a request of one of the three APIs.

    Instructions beside the messages (`instructions` of Responses, `system` of Anthropic) become the first message. A
    list counts as the messages. Raises `PromptError` if there are none.
    """
    if not isinstance(request, Mapping):
        return list(_items(request)), None, {}
    rest = {str(key): value for key, value in request.items()}
    messages = rest.pop("messages", None)
    given = rest.pop("input", None)
    if messages is None:
        messages = given
    if messages is None:
        raise PromptError("the request needs messages, or input, as the Responses API calls them")
    found = list(_items(messages))
    for key in ("instructions", "system"):
        if (text := rest.pop(key, None)) is not None:
            found.insert(0, {"role": "system", "content": text_of_parts(plain(text, key), key, "\n")})
    tools = rest.pop("tools", None)
    if tools is not None and not (isinstance(tools, Sequence) and not isinstance(tools, (str, bytes))):
        raise PromptError(f"tools: expected a list, not {type(tools).__name__}")
    return found, None if tools is None else list(tools), rest
