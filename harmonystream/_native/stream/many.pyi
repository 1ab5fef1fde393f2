from typing import final

from harmonystream._native.stream.arrow_in import Rows
from harmonystream._native.stream.parser import Parser

DEBUG: bool
FIELDS: tuple[str, ...]

@final
class Openings:
    """Where each row begins: at the usual place, or where its prompt leaves off. Equal prompts are read once."""

def read_rows(
    parser: Parser,
    rows: Rows,
    begin: int,
    stop: int,
    reasons: bytes,
    stopped: bytes,
    prompts: Rows | None = None,
    prompt: int = 0,
    messages: bool = False,
) -> tuple[bytes, ...]:
    """Parse the rows begin .. stop, each with a copy of this parser, which has read nothing. Releases the GIL.

    reasons: for each row of the column (or one byte for all) the number of its reason, 0 for none; stopped: for each
    reason, is it a usual stop? prompts: what each row continues, from row `prompt` of that column on. messages: keep
    them. Returns the columns as bytes, in the order of FIELDS.
    """

def joined_ends(pieces: list[tuple[bytes, int]]) -> bytes:
    """Ends (int64) that each count from their own piece, as Arrow's offsets of all: one more, and from 0.

    pieces: pairs of the ends and the number that the piece adds, as bytes and int.
    """

def column_of(rows: bytes, k: int, n: int) -> bytes:
    """Column k of rows of n numbers (int64) each."""

def bits(flags: bytes, zero: int = 0) -> tuple[bytes, int]:
    """A bitmap of the bytes that differ from `zero`, and the number of those that equal it."""

def named(codes: bytes, names: list[bytes]) -> tuple[bytes, bytes]:
    """Codes as strings: Arrow's offsets (int64) and the text. names: bytes for each code."""
