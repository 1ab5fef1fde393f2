"""harmonystream: what a language model generates, token by token, as events that a server can send on."""

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

__all__ = [
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
    "ParseError",
    "Parser",
    "ReasoningDelta",
    "Region",
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
