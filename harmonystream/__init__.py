"""harmonystream: turns a language model's output, token by token, into events that a server can send on."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from ._native.core.json_scan import JsonScanner as _  # noqa: F401
except ModuleNotFoundError as error:
    if not (error.name or "").startswith(f"{__name__}._native."):
        raise
    raise ImportError(
        f"{__path__[0]} is a source tree that has not been compiled. "
        f"Run `make build` in {os.path.dirname(__path__[0])}. "
        "Or start Python in another folder, so that it finds the harmonystream that is installed"
    ) from None

from . import _moved, errors, events, formats, vocab
from ._native.core.vocab import Vocab
from ._native.stream.label import label
from ._native.stream.parser import Parser
from ._version import __version__
from .completion import Completion, Message, ToolCall
from .deviations import Deviation
from .errors import HarmonyStreamError, suggestion
from .events import (
    ContentDelta,
    Event,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ValueDelta,
    ValueEnd,
    ValueStart,
)
from .formats import Format
from .formats.models import format_for
from .formats.spec import CHECKS
from .parsing import iter_events, parse
from .regions import Region, Usage

CHECKS.append(Parser)

if TYPE_CHECKING:
    from . import agent, batch, columns, engines, grammars, inside, prompts, tools
    from .agent import agent_loop, agent_loop_sync
    from .emit import ChatStream, MessagesStream, ResponsesStream, new_id
    from .grammars import grammar
    from .prompt import render
    from .tools import Tool, Tools

__all__ = [
    "ChatStream",
    "Completion",
    "ContentDelta",
    "Deviation",
    "Event",
    "Format",
    "HarmonyStreamError",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessagesStream",
    "Parser",
    "ReasoningDelta",
    "Region",
    "ResponsesStream",
    "StreamEnd",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "Tools",
    "Usage",
    "ValueDelta",
    "ValueEnd",
    "ValueStart",
    "Vocab",
    "__version__",
    "agent",
    "agent_loop",
    "agent_loop_sync",
    "batch",
    "columns",
    "engines",
    "errors",
    "events",
    "format_for",
    "formats",
    "grammar",
    "grammars",
    "inside",
    "iter_events",
    "label",
    "new_id",
    "parse",
    "prompts",
    "render",
    "tools",
    "vocab",
]

_LATER = {
    **dict.fromkeys(("ChatStream", "MessagesStream", "ResponsesStream", "new_id"), ".emit"),
    **dict.fromkeys(("agent_loop", "agent_loop_sync"), ".agent"),
    **dict.fromkeys(("Tool", "Tools"), ".tools"),
    "grammar": ".grammars",
    "render": ".prompt",
}
_ROOMS = ("agent", "batch", "columns", "engines", "grammars", "inside", "prompts", "tools")
"""Modules that are attributes without having been imported."""

_moved.make_callable(events, "events()", "iter_events()", iter_events)
_moved.make_callable(formats, "formats()", "formats.names()", formats.names)

if not TYPE_CHECKING:  # type checkers must know only the names above

    def __getattr__(name: str) -> Any:
        """Load rarely used names on first access, and find names that have moved."""
        if name in _ROOMS:
            return import_module(f".{name}", __name__)
        if name in _moved.ROOMS:
            return _moved.found(name)
        if name not in _LATER:
            end = suggestion(name, __all__)
            hint = f"; {end}" if end.startswith("did") else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
