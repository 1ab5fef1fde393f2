"""Rows as a table for people, plain or Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report import shown
from bench.rivals.rows import RIVALS, Cell, Row
from bench.rows import Figure

FRAMED = "token id to SSE bytes, per token"


def head(versions: dict[str, str], what: str = "per token", rivals: Sequence[str] = RIVALS) -> tuple[str, ...]:
    """`versions` of the rivals that ran; `what` the rows are, and beside which rivals."""
    columns = [(f"{rival} {versions.get(rival, '')}".strip(), "faster", "floor", "") for rival in rivals]
    return (what, "tokens", "harmonystream", *(title for four in columns for title in four))


def duration(cell: Cell) -> str:
    """Nanoseconds, or microseconds, or why not."""
    if cell.took is None:
        return cell.note
    text = f"{shown(cell.took)} ns" if cell.took < 1000 else f"{shown(cell.took / 1000)} µs"
    return f"{text} ({cell.note})" if cell.note else text


def row_cells(row: Row) -> tuple[str, ...]:
    cells = [row.name, f"{row.tokens:,}", duration(row.ours)]
    for rival in row.rivals:
        times, met = row.times(rival), row.met_by(rival)
        cells.append(duration(row.rivals[rival]))
        cells.append("–" if times is None else f"{shown(times)}×")
        cells.append("" if met is None else f"{row.floors[rival]:,g}×")
        cells.append({None: "", True: "PASS", False: "FAIL"}[met])
    return tuple(cells)


def summary(rows: Sequence[Row], figures: Sequence[Figure]) -> tuple[str, bool]:
    """The last line, and whether no floor was missed."""
    verdicts = {f"{row.name}, {row.tokens:,}, {rival}": row.met_by(rival) for row in rows for rival in row.rivals}
    verdicts |= {figure.name: figure.met for figure in figures}
    with_floor = {name: met for name, met in verdicts.items() if met is not None}
    missed = [name for name, met in with_floor.items() if not met]
    text = f"{len(with_floor) - len(missed)} of {len(with_floor)} floors met"
    return (f"{text}; missed: {'; '.join(missed)}" if missed else text), not missed
