"""Data sets: converts conversations to columns of ids and loss masks, and columns of outputs to columns of
their parts.
"""

from .chunks import ParsedChunks, parse_chunks
from .labels import label_many
from .outputs import Parsed, parse_many
from .rendering import render_chunks, render_many

__all__ = ["Parsed", "ParsedChunks", "label_many", "parse_chunks", "parse_many", "render_chunks", "render_many"]


def __dir__() -> list[str]:
    return sorted(__all__)
