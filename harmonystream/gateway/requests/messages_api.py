"""Anthropic's Messages: reads requests, and makes the stream that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._native.stream.parser import Parser
from ...emit import MessagesStream, call_ids_of
from ...emit.messages.omitted import OmittedMessages
from ..refused import Refused
from .chat_api import form_of
from .checks import BOOLEAN
from .media import refuse_media
from .request import ApiRequest, part_of, read_options
from .sealed_reasoning import opened_blocks, sealed
from .server_runs import with_runs_apart
from .tool_choices import choose, offer
from .unsupported import Unsupported

__all__ = ["read", "streams"]

_THINKING = {"enabled": True, "adaptive": None, "disabled": False}


def read(
    body: Any, unsupported: Unsupported | None = None, *, counting: bool = False, pictures: bool = False
) -> ApiRequest:
    """Read a request's body. unsupported: collects the options to pass over. counting: True for count_tokens, whose
    requests have no max_tokens. pictures: are they allowed?

    Raises `Refused`.
    """
    unsupported = unsupported or Unsupported()
    options, engine = read_options("messages", body, unsupported)
    request = ApiRequest("messages", body, options.get("model", ""), sampling=engine, unsupported=unsupported)
    request.messages = with_runs_apart(opened_blocks(options.get("messages") or []))
    if not request.messages:
        raise Refused(400, "messages must be a list of at least one message.", param="messages")
    refuse_media(request.messages, "messages", pictures)
    request.continues = _is_begun(request.messages[-1])
    if (system := options.get("system")) is not None:
        refuse_media([{"content": system}], "system")
        request.messages.insert(0, {"role": "system", "content": system})
        request.before = 1
    offer(request, options.get("tools"), (None, "custom"))
    choice = options.get("tool_choice")
    choose(request, choice)
    request.parallel = not part_of(choice or {}, "tool_choice", "disable_parallel_tool_use", BOOLEAN)
    request.stream = options.get("stream", False)
    request.stops = tuple([stops] if isinstance(stops := options.get("stop_sequences", []), str) else stops)
    request.max_tokens = options.get("max_tokens")
    if request.max_tokens is None and not counting:
        raise Refused(400, "max_tokens: Field required.", param="max_tokens")
    request.variables = options.get("chat_template_kwargs", {})
    _read_thinking(request, options.get("thinking", {}))
    _read_output(request, options)
    return request


def _is_begun(last: Any) -> bool:
    """Is the last message the beginning of the answer? A message with calls is a complete one."""
    if not isinstance(last, dict) or last.get("role") != "assistant":
        return False
    content = last.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text"}]
    return all(isinstance(block, dict) and block.get("type") == "text" for block in blocks)


def _read_thinking(request: ApiRequest, thinking: dict[str, Any]) -> None:
    kind = thinking.get("type")
    if kind is not None:
        request.thinking = _THINKING[kind]
    request.shown = kind != "disabled"
    request.omitted = thinking.get("display") == "omitted"
    request.budget = thinking.get("budget_tokens")


def _read_output(request: ApiRequest, options: dict[str, Any]) -> None:
    output = options.get("output_config", {})
    request.effort = output.get("effort")
    form, path = options.get("output_format"), "output_format"
    if form is None:
        form, path = output.get("format"), "output_config.format"
    request.output = form_of(form, path)


def streams(
    request: ApiRequest, parsers: Sequence[Parser], id: str, now: int, reasoning_field: Any, usage: dict[str, int]
) -> list[MessagesStream]:
    """The stream, in a list."""
    options: dict[str, Any] = {
        "id": id,
        "model": request.model,
        "usage": {"input_tokens": usage["prompt_tokens"]},
        "tool_choice": request.body.get("tool_choice"),
        "taken": call_ids_of(request.messages) or (),
    }
    if request.shown and request.omitted:
        return [OmittedMessages(parsers[0], signature=sealed, **options)]
    return [MessagesStream(parsers[0], thinking=request.shown, **options)]
