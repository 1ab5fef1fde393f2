"""Tools that a model may call. They are declared, offered, checked, approved and run, and their results are
returned.
"""

from __future__ import annotations

from .listeners import Answered, Called, Registered
from .registry import Tools
from .results import ErrorKind, ToolError, ToolResult
from .tool import Context, PendingCall, Tool

__all__ = [
    "Answered",
    "Called",
    "Context",
    "ErrorKind",
    "PendingCall",
    "Registered",
    "Tool",
    "ToolError",
    "ToolResult",
    "Tools",
]


def __dir__() -> list[str]:
    return sorted(__all__)
