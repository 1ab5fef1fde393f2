"""harmonystream: what a language model generates, token by token, as events that a server can send on."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from ._native.core.json_scan import JsonScanner
except ModuleNotFoundError as error:
    if not (error.name or "").startswith(f"{__name__}._native."):
        raise
    raise ImportError(
        f"{__path__[0]} is a source tree that has not been compiled. "
        f"Run `make build` in {os.path.dirname(__path__[0])}. "
        "Or start Python in another folder, so that it finds the harmonystream that is installed"
    ) from None

from . import vocab
from ._native.core.vocab import Vocab
from ._native.stream.label import label
from ._native.stream.parser import Parser
from ._version import __version__
from .completion import CallDelta, Completion, Delta, Message, ToolCall
from .deviations import Deviation
from .errors import (
    EmitterError,
    EngineError,
    FormatError,
    GrammarError,
    HarmonyStreamError,
    ParseError,
    PromptError,
    VocabError,
    suggestion,
)
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
from .formats import Format, formats
from .formats.models import format_for
from .parsing import parse
from .reading import asdict, events
from .regions import Region, Usage

if TYPE_CHECKING:
    from . import agent, columns, engines, tools
    from ._native.stream.markup import Markup
    from ._native.wire.batch import Batch
    from ._native.wire.frames import Frames
    from .agent import LoopEnd, RoundEnd, ToolRunEnd, ToolRunStart, agent_loop, agent_loop_sync
    from .emit import ChatStream, MessagesStream, ResponsesStream, new_id
    from .emit.columns import Columns
    from .grammars import Grammar, grammar
    from .labelling_many import label_many
    from .parsing_chunks import ParsedChunks, parse_chunks
    from .parsing_many import Parsed, parse_many
    from .prompt import Prompt, Template, normalize, render, tool_results
    from .text_limit import TextLimit
    from .tools import Tool, Tools

__all__ = [
    "Batch",
    "CallDelta",
    "ChatStream",
    "Columns",
    "Completion",
    "ContentDelta",
    "Delta",
    "Deviation",
    "EmitterError",
    "EngineError",
    "Event",
    "Format",
    "FormatError",
    "Frames",
    "Grammar",
    "GrammarError",
    "HarmonyStreamError",
    "JsonScanner",
    "LoopEnd",
    "Markup",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessagesStream",
    "ParseError",
    "Parsed",
    "ParsedChunks",
    "Parser",
    "Prompt",
    "PromptError",
    "ReasoningDelta",
    "Region",
    "ResponsesStream",
    "RoundEnd",
    "StreamEnd",
    "Template",
    "TextLimit",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "Tools",
    "ToolRunEnd",
    "ToolRunStart",
    "Usage",
    "ValueDelta",
    "ValueEnd",
    "ValueStart",
    "Vocab",
    "VocabError",
    "__version__",
    "agent",
    "agent_loop",
    "agent_loop_sync",
    "asdict",
    "columns",
    "engines",
    "events",
    "format_for",
    "formats",
    "grammar",
    "label",
    "label_many",
    "new_id",
    "normalize",
    "parse",
    "parse_chunks",
    "parse_many",
    "render",
    "tool_results",
    "tools",
    "vocab",
]


_LATER = {
    "Batch": "._native.wire.batch",
    "Frames": "._native.wire.frames",
    "Markup": "._native.stream.markup",
    "TextLimit": ".text_limit",
    "Columns": ".emit.columns",
    **dict.fromkeys(("Parsed", "parse_many"), ".parsing_many"),
    **dict.fromkeys(("ParsedChunks", "parse_chunks"), ".parsing_chunks"),
    "label_many": ".labelling_many",
    **dict.fromkeys(("Grammar", "grammar"), ".grammars"),
    **dict.fromkeys(("ChatStream", "MessagesStream", "ResponsesStream", "new_id"), ".emit"),
    **dict.fromkeys(("LoopEnd", "RoundEnd", "ToolRunEnd", "ToolRunStart", "agent_loop", "agent_loop_sync"), ".agent"),
    **dict.fromkeys(("Prompt", "Template", "normalize", "render", "tool_results"), ".prompt"),
    **dict.fromkeys(("Tool", "Tools"), ".tools"),
}
_ROOMS = ("agent", "columns", "engines", "tools")
"""Subpackages that are attributes without having been imported."""


def __getattr__(name: str) -> Any:
    """Loads rarely used names on first access."""
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        end = suggestion(name, __all__)
        hint = f"; {end}" if end.startswith("did") else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
