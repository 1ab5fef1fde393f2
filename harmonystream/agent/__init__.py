"""The loop of an agent: a model, its tools, and the rounds between them."""

from __future__ import annotations

from .facade import agent_loop_sync
from .loop import agent_loop
from .outcome import LoopEnd, LoopEvent, LoopReason, RoundEnd, ToolRunEnd, ToolRunStart
from .search import Citation, CitationReader, Sources, citations, sub_queries
from .support import supports_tools

__all__ = [
    "Citation",
    "CitationReader",
    "LoopEnd",
    "LoopEvent",
    "LoopReason",
    "RoundEnd",
    "Sources",
    "ToolRunEnd",
    "ToolRunStart",
    "agent_loop",
    "agent_loop_sync",
    "citations",
    "sub_queries",
    "supports_tools",
]


def __dir__() -> list[str]:
    return sorted(__all__)
