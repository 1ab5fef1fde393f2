"""The formats that are built in, by name."""

from __future__ import annotations

from ..errors import FormatError
from .harmony import HARMONY
from .spec import Format

__all__ = ["Format", "format_of", "formats"]

_BY_NAME = {row.name: row for row in (HARMONY,)}


def formats() -> tuple[str, ...]:
    """The names that `Parser` takes."""
    return tuple(_BY_NAME)


def format_of(format: str | Format) -> Format:
    """The format of that name; a `Format` is returned as it is. Raises `FormatError` for an unknown name."""
    if isinstance(format, Format):
        return format
    try:
        return _BY_NAME[format]
    except (KeyError, TypeError):
        raise FormatError(f"unknown format {format!r}; known: {', '.join(_BY_NAME)}") from None
