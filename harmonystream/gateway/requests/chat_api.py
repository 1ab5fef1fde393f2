"""Chat Completions: reads requests, and makes the streams that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._native.stream.parser import Parser
from ...emit import ChatStream, call_ids_of
from ...emit.chat.offered import OfferedChat
from ..refused import Refused
from .custom_tools import offer_custom, with_functions
from .media import refuse_media
from .request import ApiRequest, read_options
from .tool_choices import choose, offer
from .unsupported import Unsupported

__all__ = ["form_of", "read", "streams"]

_FORMATS = ("text", "json_object", "json_schema")


def read(body: Any, unsupported: Unsupported | None = None, *, pictures: bool = False) -> ApiRequest:
    """Read a request's body. unsupported: collects the options to pass over. pictures: are they allowed? Raises
    `Refused`.
    """
    unsupported = unsupported or Unsupported()
    options, engine = read_options("chat", body, unsupported)
    request = ApiRequest("chat", body, options.get("model", ""), sampling=engine, unsupported=unsupported)
    request.messages = options.get("messages") or []
    if not request.messages:
        raise Refused(400, "messages must be a list of at least one message.", param="messages")
    refuse_media(request.messages, "messages", pictures)
    offer(request, options.get("tools"), ("function", "custom"))
    choose(request, options.get("tool_choice"))
    offer_custom(request)
    request.messages = with_functions(request.messages)
    request.parallel = options.get("parallel_tool_calls", True)
    request.stream = options.get("stream", False)
    request.n = options.get("n", 1)
    stops = options.get("stop", ())
    request.stops = (stops,) if isinstance(stops, str) else tuple(stops)
    request.max_tokens = options.get("max_completion_tokens", options.get("max_tokens"))
    request.variables = options.get("chat_template_kwargs", {})
    request.shown = options.get("include_reasoning", True)
    request.output = form_of(options.get("response_format"), "response_format")
    request.continues = options.get("continue_final_message", False)
    if options.get("add_generation_prompt", not request.continues) is request.continues:
        what = "add_generation_prompt must be true, or false together with continue_final_message: true."
        raise Refused(400, what, param="add_generation_prompt", code="invalid_value")
    _read_reasoning(request, options)
    _read_logprobs(request, options)
    return request


def _read_reasoning(request: ApiRequest, options: dict[str, Any]) -> None:
    """Read `reasoning_effort`, OpenRouter's object `reasoning`, Alibaba's `enable_thinking`, and the `thinking` of
    DeepSeek, Moonshot and Z.ai.
    """
    given = options.get("reasoning", {})
    request.effort = options.get("reasoning_effort") or given.get("effort")
    request.thinking = given.get("enabled", options.get("enable_thinking"))
    if request.thinking is None:
        request.thinking = {"enabled": True, "disabled": False}.get(options.get("thinking", {}).get("type"))
    request.budget = options.get("thinking_token_budget")
    if request.budget is None:
        request.budget = given.get("max_tokens")
    if given.get("exclude"):
        request.shown = False


def _read_logprobs(request: ApiRequest, options: dict[str, Any]) -> None:
    if options.get("logprobs"):
        request.logprobs = options.get("top_logprobs", 0)
    elif options.get("top_logprobs"):
        raise Refused(400, "top_logprobs needs logprobs: true.", param="top_logprobs", code="invalid_value")


def form_of(given: Any, path: str) -> dict[str, Any] | None:
    """A `response_format` that asks for a form, as Chat has it. None if it asks for none. Raises `Refused`."""
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
    request: ApiRequest, parsers: Sequence[Parser], id: str, now: int, reasoning_field: Any, usage: dict[str, int]
) -> list[ChatStream]:
    """The streams of all choices."""
    stream_options = request.body.get("stream_options") or {}
    options: dict[str, Any] = {
        "id": id,
        "model": request.model,
        "created": now,
        "reasoning_field": reasoning_field if request.shown else None,
        "tool_choice": request.body.get("tool_choice") if request.named else request.choice,
        "parallel_tool_calls": request.parallel,
        "include_usage": bool(stream_options.get("include_usage")),
        "taken": call_ids_of(request.messages) or (),
    }
    if request.custom:
        return OfferedChat.several(parsers, custom=request.custom, **options)
    return ChatStream.several(parsers, **options)
