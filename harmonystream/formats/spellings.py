"""All spellings of the markers of a format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .spec import Format, HeaderFormat

__all__ = ["spellings_of"]


def spellings_of(row: Format | HeaderFormat) -> list[str]:
    """Each spelling of each marker, sorted."""
    if isinstance(row, HeaderFormat):
        return sorted(row.markers.values())
    groups = (
        *(row.think, row.section, row.call, row.pair, row.element, row.quote, row.call_id, row.value_type, row.cdata),
        *(row.answer, row.stops, row.turns, row.drop, row.keep),
    )
    return sorted({text for group in groups for text in _spellings(group) if text})


def _spellings(marker: Any) -> Iterator[str]:
    if isinstance(marker, str):
        yield marker
    else:
        for part in marker or ():
            yield from _spellings(part)
