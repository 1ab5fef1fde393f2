"""Emitters turn a parser's events into the bytes of an API, or into dicts."""

from __future__ import annotations

import os

from ..checks import check_text
from .chat.stream import ChatStream
from .common.refusals import StoredError, refusal, refuse_stored
from .common.request import call_ids_of
from .common.tool_run import ToolRun
from .messages.stream import MessagesStream
from .responses.stream import ResponsesStream

__all__ = [
    "ChatStream",
    "MessagesStream",
    "ResponsesStream",
    "StoredError",
    "ToolRun",
    "call_ids_of",
    "new_id",
    "refusal",
    "refuse_stored",
]


def new_id(prefix: str) -> str:
    """A random id of the usual form: "chatcmpl" gives chatcmpl-…, and "resp", "msg" or "call" give resp_… and so on."""
    check_text("prefix", prefix, none=False)
    return f"{prefix}{'-' if prefix == 'chatcmpl' else '_'}{os.urandom(12).hex()}"
