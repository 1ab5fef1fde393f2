"""Where tokens land: the regions of a stream, and how many tokens each has had."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["GrammarAt", "Region", "Usage"]


class Region(IntEnum):
    """The part of the output in which a token landed, or the next one would."""

    START = 0  # between messages
    HEADER = 1  # control tokens and header text of the assistant's messages
    REASONING = 2
    CONTENT = 3
    ARGUMENTS = 4
    SUPPRESSED = 5  # a message that is not the assistant's, header and terminator included
    DONE = 6  # after <|endoftext|>


class GrammarAt(NamedTuple):
    """Which grammar holds for the next token: what a decode loop has to know that constrains only a part.

    region: `ARGUMENTS` is inside of a call's arguments, whose schema then holds; `HEADER` is a call's or a message's
    header; the others are free text, of which `CONTENT` may have to fit the schema of an answer.
    tool: the name of the tool whose arguments come; None elsewhere, and for a tool that nobody has declared in a format
    with tags.
    """

    region: Region
    tool: str | None


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
