"""vLLM's Messages without streaming: the arguments of a call become an object, as in our streams.

vLLM reads arguments as JSON. So a call that was cut off, or whose arguments are not JSON, would make the request fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from ...emit.common.payload import to_json
from ...emit.messages.arguments import Arguments, assembled
from .unified import HarmonystreamParser

__all__ = ["install"]


def install() -> None:
    """Wrap the one method that makes a Message of a whole Chat Completion. Calling it again changes nothing."""
    from vllm.entrypoints.anthropic.serving import AnthropicServingMessages

    stock = AnthropicServingMessages.messages_full_converter
    if not hasattr(stock, "__wrapped__"):
        AnthropicServingMessages.messages_full_converter = _converting(stock)


def _converting(stock: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(stock)
    def messages_full_converter(serving: Any, generator: Any, *args: Any, **more: Any) -> Any:
        if serving.parser_cls is None or not issubclass(serving.parser_cls, HarmonystreamParser):
            return stock(serving, generator, *args, **more)
        choice = generator.choices[0]
        calls, stop = choice.message.tool_calls, choice.stop_reason
        stopped = isinstance(stop, str)
        cut = stopped or choice.finish_reason == "length"
        for number, call in enumerate(calls, 1):
            complete = not cut or number < len(calls) or _is_object(call.function.arguments)
            call.function.arguments = as_object(call.function.arguments, complete=complete)
        message = stock(serving, generator, *args, **more)
        if stopped:  # vLLM says so only of an answer without calls, and a client would run a call that was cut
            message.stop_reason, message.stop_sequence = "stop_sequence", stop
        return message

    return messages_full_converter


def as_object(arguments: str, *, complete: bool = True) -> str:
    """The JSON object that a client of a Messages stream makes of these arguments."""
    made = Arguments()
    made.feed(arguments)
    made.end(complete)
    return to_json(assembled(made.sent))


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
