"""Where tokens land: the regions of a stream, and how many tokens each has had."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["Region", "Usage"]


class Region(IntEnum):
    """The part of the output in which a token landed, or the next one would."""

    START = 0  # between messages
    HEADER = 1  # control tokens and header text of the assistant's messages
    REASONING = 2
    CONTENT = 3
    ARGUMENTS = 4
    SUPPRESSED = 5  # a message that is not the assistant's, header and terminator included
    DONE = 6  # after <|endoftext|>


class Usage(NamedTuple):
    """Tokens per region (text mode: bytes). Control tokens, terminators included, count as header (or suppressed)."""

    start: int
    header: int
    reasoning: int
    content: int
    arguments: int
    suppressed: int
    done: int

    @property
    def total(self) -> int:
        return sum(self)
