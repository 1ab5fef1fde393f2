"""What is reported: a ratio to openai-harmony, or a figure with a bound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Nanoseconds per token of each contender. `old` is None where the old release is not there."""

    name: str
    ours: float
    newest: float
    old: float | None = None
    floor: float | None = None

    @property
    def times(self) -> float:
        return self.newest / self.ours

    @property
    def met(self) -> bool | None:
        return None if self.floor is None else self.times >= self.floor


@dataclass(frozen=True)
class Figure:
    """One number. `at_most` and `at_least` are its floor, if it has one; `note` says what to compare it with."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least
