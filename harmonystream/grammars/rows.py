"""What is made once for each row of a format, for all grammars and tools."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..formats import Format, HeaderFormat
from ..formats.spellings import spellings_of
from .structural_tag import Controls

__all__ = ["Markup", "markup_of", "per_row"]

R = TypeVar("R")
_MOST_ROWS = 256


def per_row(make: Callable[[Any], R]) -> Callable[[Any], R]:
    """Remembers what a function makes of a row. Rows have no hash, so that they are found by identity."""
    known: dict[int, tuple[object, R]] = {}

    @wraps(make)
    def made(row: Any) -> R:
        found = known.get(id(row))
        if found is None:
            while len(known) >= _MOST_ROWS:
                known.pop(next(iter(known)), None)
            found = known[id(row)] = row, make(row)  # it keeps the row alive, so that no other row gets its id
        return found[1]

    return made


class Markup:
    """The markers of a row. It stands for the row where something is remembered by it."""

    def __init__(self, row: Format | HeaderFormat) -> None:
        self.row = row
        self._controls: dict[bytes | None, Controls] = {}

    def controls(self, vocab: Any) -> Controls:
        """The control tokens that these markers have in a `Vocab`. None: they have none."""
        key = None if vocab is None else vocab.fingerprint
        found = self._controls.get(key)
        if found is None:
            while len(self._controls) >= _MOST_VOCABS:
                self._controls.pop(next(iter(self._controls)), None)
            control = {} if vocab is None else vocab.control
            found = self._controls[key] = Controls(control, spellings_of(self.row) if control else ())
        return found


_MOST_VOCABS = 8
markup_of = per_row(Markup)
