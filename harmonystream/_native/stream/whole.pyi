from typing import Any, final

from harmonystream._native.stream.parser import Parser
from harmonystream.completion import Completion

DEBUG: bool

@final
class Gathered:
    """What has been gathered from the records of one output."""

def whole(parser: Parser, output: Any, finish_reason: Any = None) -> Completion:
    """Let a fresh parser read all of `output` (ids, or text as str or bytes) and end it; returns the `Completion`.

    Raises what feed(), feed_text() and finish() raise, and ValueError for a parser that has read something.
    """
