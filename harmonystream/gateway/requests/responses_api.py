"""Responses: reads requests, and makes the stream that answers them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ..._native.stream.parser import Parser
from ...emit import ResponsesStream, call_ids_of
from ...emit.common.payload import to_json
from ...emit.responses.offered import OfferedResponses
from ..refused import Refused
from .chat_api import form_of
from .checks import TEXT
from .custom_tools import offer_custom, with_functions
from .media import refuse_media
from .request import ApiRequest, part_of, read_options
from .sealed_reasoning import opened, sealed
from .tool_choices import choose, offer
from .unsupported import Unsupported

__all__ = ["Earlier", "not_stored", "read", "references", "streams"]

Earlier = Callable[[str, str], list[Any]]
"""(kind, id) -> the items of a "response" and of all before it, or the one "item" with this id. Raises `Refused`."""

MOST_REFERENCES = 1000
_ENCRYPTED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
_INCLUDED = (
    *(_ENCRYPTED, _LOGPROBS, "web_search_call.results", "web_search_call.action.sources"),
    *("file_search_call.results", "code_interpreter_call.outputs", "computer_call_output.output.image_url"),
    "message.input_image.image_url",
)
"""Values of `include`. All but the first two are about items that no response here has."""


def references(body: Any) -> list[tuple[str, str]]:
    """The stored responses and items that a request's body refers to, each once, as "response" or "item" and the id.
    Raises `Refused`.
    """
    if not isinstance(body, dict):
        return []
    found: dict[tuple[str, str], None] = {}
    given = body.get("input")
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict) and item.get("type") == "item_reference" and isinstance(item.get("id"), str):
            found["item", item["id"]] = None
    if len(found) > MOST_REFERENCES:
        raise Refused(400, f"input has more than {MOST_REFERENCES} item references.", param="input")
    if isinstance(before := body.get("previous_response_id"), str):
        found["response", before] = None
    return list(found)


def read(body: Any, earlier: Earlier, unsupported: Unsupported | None = None, *, pictures: bool = False) -> ApiRequest:
    """Read a request's body. unsupported: collects the options to pass over. pictures: are they allowed? Raises
    `Refused`.
    """
    unsupported = unsupported or Unsupported()
    options, engine = read_options("responses", body, unsupported)
    request = ApiRequest("responses", body, options.get("model", ""), sampling=engine, unsupported=unsupported)
    items = _items(options.get("input"), earlier, pictures)
    own = len(items)
    if (before := options.get("previous_response_id")) is not None:
        items = [*earlier("response", before), *items]
    request.stored = items if options.get("store", True) else None
    instructions = options.get("instructions")
    request.messages = [*([{"role": "system", "content": instructions}] if instructions else []), *opened(items)]
    request.before = len(request.messages) - own
    offer(request, options.get("tools"), ("function", "custom"))
    choose(request, options.get("tool_choice"))
    offer_custom(request)
    request.messages = with_functions(_with_offered_names(request))
    request.parallel = options.get("parallel_tool_calls", True)
    request.stream = options.get("stream", False)
    request.background = options.get("background", False)
    if request.background and request.stored is None:
        what = "A response in the background must be stored: leave store out."
        raise Refused(400, what, param="store", code="invalid_value")
    if request.background and request.stream:
        what = "A response in the background has no stream here: ask for the response until it is complete."
        raise Refused(400, what, param="stream", code="unsupported_value")
    request.max_tokens = options.get("max_output_tokens")
    request.variables = options.get("chat_template_kwargs", {})
    request.effort = options.get("reasoning", {}).get("effort")
    request.budget = options.get("thinking_token_budget")
    request.output = form_of(options.get("text", {}).get("format"), "text.format")
    if options.get("top_logprobs") or _LOGPROBS in options.get("include", ()):
        request.logprobs = options.get("top_logprobs", 0)
    for at, wanted in enumerate(options.get("include", ())):
        if wanted not in _INCLUDED:
            name = f"include[{at}]"
            refusal = Refused(400, f"{name} is not supported.", param=name, code="unsupported_parameter")
            unsupported.meet(name, refusal, adds=True)
    return request


def _items(given: Any, earlier: Earlier, pictures: bool) -> list[Any]:
    """The input as a list of items. References are replaced by stored items."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise Refused(400, "input must be a string, or a list of at least one item.", param="input")
    refuse_media(given, "input", pictures)
    items: list[Any] = []
    for at, item in enumerate(given):
        if isinstance(item, dict) and item.get("type") == "item_reference":
            id = part_of(item, f"input[{at}]", "id", TEXT)
            items += earlier("item", id or "")
        else:
            items.append(item)
    return items


def _with_offered_names(request: ApiRequest) -> list[Any]:
    """The conversation, in which calls use the names under which tools in namespaces are offered."""
    shown = {tool: name for name, tool in request.namespaces.items()}

    def renamed(item: Any) -> Any:
        if not isinstance(item, dict) or not isinstance(item.get("namespace"), str):
            return item
        name = item.get("name")
        return {**item, "name": shown.get((item["namespace"], name), name)} if isinstance(name, str) else item

    return [renamed(item) for item in request.messages] if shown else request.messages


def not_stored(frames: bytes) -> bytes:
    """The last frames of a stream, whose response says that it is not stored."""
    before, data, last = frames.rpartition(b"data: ")
    event = json.loads(last)
    event["response"]["store"] = False
    return before + data + f"{to_json(event)}\n\n".encode("utf-8", "replace")


def streams(
    request: ApiRequest, parsers: Sequence[Parser], id: str, now: int, reasoning_field: Any, usage: dict[str, int]
) -> list[ResponsesStream]:
    """The stream, in a list."""
    packs = _ENCRYPTED in (request.body.get("include") or ())
    options: dict[str, Any] = {
        "id": id,
        "model": request.model,
        "created": now,
        "request": request.body,
        "reasoning": "summary" if request.shown else False,  # five clients show nothing else
        "encrypt": sealed if packs else None,
        "extra": {"store": request.stored is not None},
        "taken": call_ids_of(request.messages) or (),
    }
    if not request.namespaces and not request.custom:
        return [ResponsesStream(parsers[0], **options)]
    return [OfferedResponses(parsers[0], namespaces=request.namespaces, custom=request.custom, **options)]
