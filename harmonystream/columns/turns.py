"""Finds turns of the assistant that no marker opens, such as DeepSeek's answer after a tool's result."""

from __future__ import annotations

from array import array
from typing import NamedTuple

from .._native.core.vocab import Vocab
from ..formats import Format
from ..regions import Region

__all__ = ["NO_MARKS", "TurnMarks", "turn_marks", "turns_after_results"]

_THOUGHTS = ("<think>", "</think>")
"""Markers that a row may drop, and that do not stand around results."""


class TurnMarks(NamedTuple):
    """The ids of a row's markers in one vocabulary.

    opener: opens a turn of the assistant by itself; None if no marker does. turns: begin any turn. stops: end a turn.
    results: stand around results, or end them.
    """

    opener: int | None = None
    turns: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()
    results: frozenset[int] = frozenset()


NO_MARKS = TurnMarks()


def turn_marks(row: Format, vocab: Vocab) -> TurnMarks:
    """The marks of a row. The markers that it drops are those that the template writes around results."""
    known = vocab.markers
    opener = next((known[one] for one in row.turns if "assistant" in one.lower() and one in known), None)
    turns, stops = ([known[one] for one in some if one in known] for some in (row.turns, row.stops))
    results = [known[one] for one in row.drop if one in known and one not in _THOUGHTS]
    return TurnMarks(opener, frozenset(turns), frozenset(stops), frozenset(results))


def turns_after_results(ids: array[int], labels: bytes, marks: TurnMarks) -> list[int]:
    """Where such turns begin: after the last marker of results, if a stop follows before anybody else's turn.

    labels: of the turns that have markers. All other tokens are SUPPRESSED, and only they are looked at.
    """
    if marks.opener is None or not any(one in ids for one in marks.results):
        return []
    found: list[int] = []
    after: int | None = None
    for at, (one, label) in enumerate(zip(ids, labels)):
        if label != Region.SUPPRESSED or one in marks.turns:
            after = None
        elif one in marks.results:
            after = at + 1
        elif one in marks.stops and after is not None:
            found.append(after)
            after = None
    return found
