"""Emitters: a parser's events as the bytes of an API.

`ChatStream`, `ResponsesStream` and `MessagesStream`, each loaded when it is first asked for, and `new_id`.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chat import ChatStream
    from .messages import MessagesStream
    from .responses import ResponsesStream

__all__ = ["ChatStream", "MessagesStream", "ResponsesStream", "new_id"]

HOMES = {"ChatStream": "chat", "MessagesStream": "messages", "ResponsesStream": "responses"}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f".{HOMES[name]}", __name__), name)
    return value


def new_id(prefix: str) -> str:
    """A random id of the usual form: "chatcmpl" makes chatcmpl-…, "resp", "msg" or "call" make resp_… and so on."""
    return f"{prefix}{'-' if prefix == 'chatcmpl' else '_'}{os.urandom(12).hex()}"
