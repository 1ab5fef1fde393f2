"""Regions: the part of the output in which a token is, and the number of tokens in each."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

__all__ = ["GrammarAt", "Region", "Usage"]


class Region(IntEnum):
    """The part of the output in which a token landed, or the next one would.

    START: between messages. HEADER: control tokens and headers of the assistant's messages, tags, names and keys.
    REASONING, CONTENT, ARGUMENTS: text. SUPPRESSED: messages that are not the assistant's. DONE: after the end.
    """

    START = 0  # between messages
    HEADER = 1  # control tokens and header text of the assistant's messages
    REASONING = 2
    CONTENT = 3
    ARGUMENTS = 4
    SUPPRESSED = 5  # a message that is not the assistant's, header and terminator included
    DONE = 6  # after <|endoftext|>


class GrammarAt(NamedTuple):
    """The grammar that applies to the next token. A decode loop that constrains only a part of the output needs it.

    region: `ARGUMENTS` is inside a call's arguments, and their schema applies. `HEADER` is the header of a call or a
    message. All other regions are free text; in `CONTENT`, the schema of an answer may apply.
    tool: the name of the tool whose arguments are being written. None elsewhere, and for an undeclared tool in a format
    with tags.
    """

    region: Region
    tool: str | None


class Usage(NamedTuple):
    """How many tokens (text mode: bytes) each region has. `total` is their sum.

    Control tokens, terminators included, count as `header`, or as `suppressed` in messages of other roles.
    """

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
