"""harmonystream: what a language model generates, token by token, as events that a server can send on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import vocab
from ._json import JsonScanner
from ._label import label
from ._parser import Parser
from ._version import __version__
from ._vocab import Vocab
from .completion import Completion, Message, ToolCall, parse
from .deviations import Deviation
from .errors import FormatError, HarmonyStreamError, ParseError, VocabError
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
)
from .formats import Format, formats
from .formats.models import format_for
from .regions import Region, Usage

if TYPE_CHECKING:
    from .emit import ChatStream, MessagesStream, ResponsesStream

__all__ = [
    "ChatStream",
    "Completion",
    "ContentDelta",
    "Deviation",
    "Event",
    "Format",
    "FormatError",
    "HarmonyStreamError",
    "JsonScanner",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessagesStream",
    "ParseError",
    "Parser",
    "ReasoningDelta",
    "Region",
    "ResponsesStream",
    "StreamEnd",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "Usage",
    "Vocab",
    "VocabError",
    "__version__",
    "format_for",
    "formats",
    "label",
    "parse",
    "vocab",
]


def __getattr__(name: str) -> Any:
    """The emitters, loaded when they are first asked for."""
    if name not in ("ChatStream", "MessagesStream", "ResponsesStream"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import emit

    value = globals()[name] = getattr(emit, name)
    return value
