"""What ChatStream takes, checked, and the small parts of its chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from .payload import Payload, checked

if TYPE_CHECKING:
    from .chat import ChatStream
    from .scripts import Reasons

__all__ = [
    *("call", "call_id", "checked_preamble", "copied", "failure", "finish_reason", "names_a_tool"),
    *("ends", "reasoning_fields", "seconds", "whole_choice", "whole_usage"),
]

_REASONING = ("reasoning",)

Shape = tuple[int, tuple[str, ...], "str | None", bool, "int | None", bool, bool]
"""Of streams with the same script: the number of the choice, the fields of reasoning, that of preambles, is the usage
sent, how many calls are shown, did the request name the tool, is this the only choice?"""
TAKEN = {"", "role", "tool_calls", "function_call", "refusal"}  # fields of a delta that are no text of a preamble


def finish_reason(reason: str | None, calls: int, named: bool) -> str:
    """calls: those that are shown. named: the request has named the tool, and so is not told of its call."""
    if reason == "tool_calls" and (not calls or named):
        return "stop"
    return reason or "stop"


def ends(named: bool) -> Reasons:
    """The reasons with which most responses end."""
    usual = (None, "stop", "tool_calls", "length")
    return {reason: (finish_reason(reason, 0, named), finish_reason(reason, 1, named)) for reason in usual}


def reasoning_fields(field: str | None) -> tuple[str, ...]:
    if field == "reasoning":
        return _REASONING
    if field not in ("reasoning", "reasoning_content", "both", None):
        raise ValueError(f"reasoning_field is 'reasoning', 'reasoning_content', 'both' or None, not {field!r}")
    return () if field is None else ("reasoning", "reasoning_content") if field == "both" else (field,)


def checked_preamble(field: str | None) -> str | None:
    if field is not None and (field in TAKEN or not checked("preamble_field", field)):
        raise ValueError(f"preamble_field is the name of a field for text, or None, not {field!r}")
    return field


def names_a_tool(tool_choice: Any) -> bool:
    kind = tool_choice.get("type") if isinstance(tool_choice, Mapping) else getattr(tool_choice, "type", None)
    return kind in ("function", "custom")


def seconds(created: Any) -> int:
    if type(created) is int:
        return created
    try:
        return index(created)
    except TypeError:
        kind = created.__class__.__name__
        raise TypeError(f"created is whole seconds since 1970, an int such as int(time.time()), not a {kind}") from None


def failure(message: str, type: str | None, code: str | None) -> list[Payload]:
    return [{"error": {"message": message, "type": type or "server_error", "param": None, "code": code}}]


def call_id(stem: str, index: int | str) -> str:
    return f"call_{stem}_{index}"


def call(id: str, name: str) -> Payload:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}


def copied(call: Payload) -> Payload:
    return {**call, "function": dict(call["function"])}


def whole_choice(stream: ChatStream) -> Payload:
    """The stream's choice as it is without streaming."""
    stream._keep_texts()
    stream._keep_arguments()
    texts = {field: "".join(texts) for field, texts in stream._texts.items()}
    message: Payload = {"role": "assistant", **texts, "refusal": None}
    if stream._calls:
        message["tool_calls"] = [copied(call) for call in stream._calls]
    choice = {"index": stream.choice, "message": message, "logprobs": None, "finish_reason": stream._finish_reason}
    return {**choice, **(stream._stopped or {}), **stream._tokens.joined()}


def whole_usage(usage: Payload | None, choices: Sequence[ChatStream]) -> Payload | None:
    """The usage, and what the parsers have counted where it does not say; None where nobody has counted the tokens.

    Of text, a parser counts bytes.
    """
    streams = [stream for stream in choices if not stream.in_text]
    if usage is None or ("completion_tokens" not in usage and len(streams) < len(choices)):
        return None
    whole = dict(usage)
    whole.setdefault("prompt_tokens", 0)
    whole.setdefault("completion_tokens", sum(stream.parser.usage.total for stream in streams))
    whole.setdefault("total_tokens", whole["prompt_tokens"] + whole["completion_tokens"])
    if streams:
        reasoning = {"reasoning_tokens": sum(stream.parser.usage.reasoning for stream in streams)}
        whole["completion_tokens_details"] = {**reasoning, **(usage.get("completion_tokens_details") or {})}
    return whole
