"""Which models can call tools."""

from __future__ import annotations

from ..formats import Format, HeaderFormat, format_of, names
from ..formats.models import format_for

__all__ = ["supports_tools"]


def supports_tools(format: str | Format | HeaderFormat) -> bool:
    """Can a model with this format call tools? format: a format, its name, or a model's name.

    Raises FormatError for a name that is neither.
    """
    if isinstance(format, str) and format not in names():
        format = format_for(format)
    row = format_of(format)
    return isinstance(row, HeaderFormat) or row.call is not None or row.section is not None
