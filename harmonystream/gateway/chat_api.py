"""Chat Completions: its requests read, and the streams that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._native.stream.parser import Parser
from ..emit import ChatStream, call_ids_of
from .asked import Asked, read_options
from .contents import refuse_media
from .refused import Refused
from .tool_choices import choose, offer
from .unsupported import Unsupported

__all__ = ["form_of", "read", "streams"]

_FORMATS = ("text", "json_object", "json_schema")


def read(body: Any, unsupported: Unsupported | None = None) -> Asked:
    """A request's body. unsupported: what is passed over. Raises `Refused`."""
    unsupported = unsupported or Unsupported()
    options, engine = read_options("chat", body, unsupported)
    asked = Asked("chat", body, options.get("model", ""), sampling=engine, unsupported=unsupported)
    asked.messages = options.get("messages") or []
    if not asked.messages:
        raise Refused(400, "messages must be a list of at least one message.", param="messages")
    refuse_media(asked.messages, "messages")
    offer(asked, options.get("tools"), ("function",))
    choose(asked, options.get("tool_choice"))
    asked.parallel = options.get("parallel_tool_calls", True)
    asked.stream = options.get("stream", False)
    asked.n = options.get("n", 1)
    stops = options.get("stop", ())
    asked.stops = (stops,) if isinstance(stops, str) else tuple(stops)
    asked.max_tokens = options.get("max_completion_tokens", options.get("max_tokens"))
    asked.variables = options.get("chat_template_kwargs", {})
    asked.shown = options.get("include_reasoning", True)
    asked.output = form_of(options.get("response_format"), "response_format")
    asked.continues = options.get("continue_final_message", False)
    if options.get("add_generation_prompt", not asked.continues) is asked.continues:
        what = "add_generation_prompt must be true, or false together with continue_final_message: true."
        raise Refused(400, what, param="add_generation_prompt", code="invalid_value")
    _read_reasoning(asked, options)
    _read_logprobs(asked, options)
    return asked


def _read_reasoning(asked: Asked, options: dict[str, Any]) -> None:
    """`reasoning_effort`, or OpenRouter's object `reasoning`."""
    given = options.get("reasoning", {})
    asked.effort = options.get("reasoning_effort") or given.get("effort")
    asked.thinking = given.get("enabled")
    asked.budget = options.get("thinking_token_budget")
    if asked.budget is None:
        asked.budget = given.get("max_tokens")
    if given.get("exclude"):
        asked.shown = False


def _read_logprobs(asked: Asked, options: dict[str, Any]) -> None:
    if options.get("logprobs"):
        asked.logprobs = options.get("top_logprobs", 0)
    elif options.get("top_logprobs"):
        raise Refused(400, "top_logprobs needs logprobs: true.", param="top_logprobs", code="invalid_value")


def form_of(given: Any, path: str) -> dict[str, Any] | None:
    """A `response_format` that asks for a form, in Chat's words; None if it asks for none. Raises `Refused`."""
    kind = None if given is None else given.get("type")
    if given is not None and kind not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise Refused(400, f"{path}.type must be one of {known}.", param=f"{path}.type", code="invalid_value")
    if kind == "json_schema":
        schema = given.get("json_schema", given)
        if not isinstance(schema, dict) or not isinstance(schema.get("schema"), dict):
            raise Refused(400, f"{path} has no schema.", param=f"{path}.json_schema", code="invalid_value")
        return {"type": kind, "json_schema": {"name": str(schema.get("name") or "answer"), "schema": schema["schema"]}}
    return None if kind in (None, "text") else dict(given)


def streams(
    asked: Asked, parsers: Sequence[Parser], id: str, now: int, reasoning_field: Any, usage: dict[str, int]
) -> list[ChatStream]:
    """The streams of all choices."""
    options = asked.body.get("stream_options") or {}
    return ChatStream.several(
        parsers,
        id=id,
        model=asked.model,
        created=now,
        reasoning_field=reasoning_field if asked.shown else None,
        tool_choice=asked.body.get("tool_choice") if asked.named else asked.choice,
        parallel_tool_calls=asked.parallel,
        include_usage=bool(options.get("include_usage")),
        taken=call_ids_of(asked.messages) or (),
    )
