"""Emitters: a parser's events as the bytes of an API, or as dicts."""

from __future__ import annotations

import os

from .chat import ChatStream
from .messages import MessagesStream
from .refusals import StoredError, refusal, refuse_stored
from .request import call_ids_of
from .responses import ResponsesStream
from .tool_runs import ToolRun

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
    """A random id of the usual form: "chatcmpl" makes chatcmpl-…, "resp", "msg" or "call" make resp_… and so on."""
    return f"{prefix}{'-' if prefix == 'chatcmpl' else '_'}{os.urandom(12).hex()}"
