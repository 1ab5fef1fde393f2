"""What is reported: one stream, and what each side took for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

RIVALS = ("vLLM", "SGLang")
AT_1K, AT_16K, QUADRATIC = 50, 1000, 4


@dataclass(frozen=True)
class Cell:
    """Nanoseconds per token, or None. `note` says why there are none, or what the parser got wrong."""

    took: float | None
    note: str = ""


@dataclass(frozen=True)
class Row:
    """`floors`: the rivals that must be so many times slower."""

    name: str
    tokens: int
    ours: Cell
    rivals: dict[str, Cell]
    floors: dict[str, float] = field(default_factory=dict)

    def times(self, rival: str) -> float | None:
        theirs = self.rivals[rival].took
        return None if theirs is None or self.ours.took is None else theirs / self.ours.took

    def met_by(self, rival: str) -> bool | None:
        """None without a floor. Ours must be right to meet one."""
        if rival not in self.floors:
            return None
        times = self.times(rival)
        return times is not None and not self.ours.note and times >= self.floors[rival]


def with_floors(rows: Sequence[Row]) -> list[Row]:
    """The rows of one format's calls with their floors: for 1,000 tokens, and for 16,000 where a rival is quadratic.

    That is where a token of its 16,000 takes more than `QUADRATIC` times as long as one of 1,000.
    """
    took = {row.tokens: {rival: cell.took for rival, cell in row.rivals.items()} for row in rows}
    floors: dict[int, dict[str, float]] = {}
    for rival in RIVALS:
        short, long = (took.get(tokens, {}).get(rival) for tokens in (1000, 16000))
        if short is not None:
            floors.setdefault(1000, {})[rival] = AT_1K
            if long is not None and long > QUADRATIC * short:
                floors.setdefault(16000, {})[rival] = AT_16K
    return [replace(row, floors=floors.get(row.tokens, {})) for row in rows]
