"""Anthropic's Messages: its requests read, and the stream that answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._native.stream.parser import Parser
from ..emit import MessagesStream, call_ids_of
from ..emit.messages_omitted import OmittedMessages
from .asked import Asked, part_of, read_options
from .chat_api import form_of
from .checks import BOOLEAN
from .contents import refuse_media
from .refused import Refused
from .server_runs import with_runs_apart
from .thoughts import opened_blocks, sealed
from .tool_choices import choose, offer
from .unsupported import Unsupported

__all__ = ["read", "streams"]

_THINKING = {"enabled": True, "adaptive": None, "disabled": False}


def read(body: Any, unsupported: Unsupported | None = None, *, counting: bool = False) -> Asked:
    """A request's body. unsupported: what is passed over. counting: it is one of count_tokens, which has no max_tokens.

    Raises `Refused`.
    """
    unsupported = unsupported or Unsupported()
    options, engine = read_options("messages", body, unsupported)
    asked = Asked("messages", body, options.get("model", ""), sampling=engine, unsupported=unsupported)
    asked.messages = with_runs_apart(opened_blocks(options.get("messages") or []))
    if not asked.messages:
        raise Refused(400, "messages must be a list of at least one message.", param="messages")
    refuse_media(asked.messages, "messages")
    asked.continues = _is_begun(asked.messages[-1])
    if (system := options.get("system")) is not None:
        refuse_media([{"content": system}], "system")
        asked.messages.insert(0, {"role": "system", "content": system})
    offer(asked, options.get("tools"), (None, "custom"))
    choice = options.get("tool_choice")
    choose(asked, choice)
    asked.parallel = not part_of(choice or {}, "tool_choice", "disable_parallel_tool_use", BOOLEAN)
    asked.stream = options.get("stream", False)
    asked.stops = tuple([stops] if isinstance(stops := options.get("stop_sequences", []), str) else stops)
    asked.max_tokens = options.get("max_tokens")
    if asked.max_tokens is None and not counting:
        raise Refused(400, "max_tokens: Field required.", param="max_tokens")
    asked.variables = options.get("chat_template_kwargs", {})
    _read_thinking(asked, options.get("thinking", {}))
    _read_output(asked, options)
    return asked


def _is_begun(last: Any) -> bool:
    """Is the last message the beginning of the answer? With calls in it, it is a whole one."""
    if not isinstance(last, dict) or last.get("role") != "assistant":
        return False
    content = last.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text"}]
    return all(isinstance(block, dict) and block.get("type") == "text" for block in blocks)


def _read_thinking(asked: Asked, thinking: dict[str, Any]) -> None:
    kind = thinking.get("type")
    if kind is not None:
        asked.thinking = _THINKING[kind]
    asked.shown = kind != "disabled"
    asked.omitted = thinking.get("display") == "omitted"
    asked.budget = thinking.get("budget_tokens")


def _read_output(asked: Asked, options: dict[str, Any]) -> None:
    output = options.get("output_config", {})
    asked.effort = output.get("effort")
    form, path = options.get("output_format"), "output_format"
    if form is None:
        form, path = output.get("format"), "output_config.format"
    asked.output = form_of(form, path)


def streams(
    asked: Asked, parsers: Sequence[Parser], id: str, now: int, reasoning_field: Any, usage: dict[str, int]
) -> list[MessagesStream]:
    """The stream, as a list of one."""
    options: dict[str, Any] = {
        "id": id,
        "model": asked.model,
        "usage": {"input_tokens": usage["prompt_tokens"]},
        "tool_choice": asked.body.get("tool_choice"),
        "taken": call_ids_of(asked.messages) or (),
    }
    if asked.shown and asked.omitted:
        return [OmittedMessages(parsers[0], signature=sealed, **options)]
    return [MessagesStream(parsers[0], thinking=asked.shown, **options)]
