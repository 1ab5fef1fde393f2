"""The tables of the tag formats: one line for each, or with `--verbose` for each worst case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.report import shown
from bench.rows import Figure
from bench.tag_measure import Common, Growth

COMMON_HEAD = (
    "tag formats, per token",
    "content, feed(id)",
    "over Harmony",
    "",
    "a call's string of 1k, feed(id)",
    "64k over 1k",
    "",
    "a call's string of 1k, feed(64 ids)",
    "64k over 1k",
    "",
)
WORST_HEAD = ("worst cases", "streams", "most growth", "", "in", "dearest", "in")
FIGURE_HEAD = ("tag formats, absolute", "measured", "floor", "", "")
CASE_HEAD = ("worst case", "fed", "short", "long", "long over short", "")


def passed(met: bool | None) -> str:
    return "PASS" if met else "FAIL"


def common_cells(row: Common) -> tuple[str, ...]:
    cells = [
        f"`{row.format}`",
        f"{shown(row.content)} ns",
        f"{shown(row.over_harmony)}×",
        passed(next(row.figures()).met),
    ]
    for found in (row.one, row.many):
        cells += [f"{shown(found.short)} ns", f"{shown(found.ratio)}×", passed(found.met)]
    return tuple(cells)


def cell(name: str) -> str:
    """A case's name in a cell of a Markdown table."""
    return name.replace("|", "\\|")


def most(cases: Sequence[Growth]) -> Growth:
    return max(cases, key=lambda case: case.ratio)


def worst_cells(cases: Sequence[Growth]) -> tuple[str, ...]:
    """Of one format."""
    grown, dear = most(cases), max(cases, key=lambda case: case.long)
    verdict = passed(grown.met)
    places = [f"{cell(case.name)} ({case.way})" for case in (grown, dear)]
    return (
        f"`{grown.format}`",
        str(len(cases)),
        f"{shown(grown.ratio)}×",
        verdict,
        places[0],
        f"{shown(dear.long)} ns",
        places[1],
    )


def case_cells(case: Growth) -> tuple[str, ...]:
    times = (f"{shown(case.short)} ns", f"{shown(case.long)} ns", f"{shown(case.ratio)}×")
    return f"`{case.format}`: {cell(case.name)}", case.way, *times, passed(case.met)


def figures(rows: Iterable[Common], worst: Iterable[Sequence[Growth]]) -> list[Figure]:
    """All floors."""
    return [
        *(figure for row in rows for figure in row.figures()),
        *(case.figure() for cases in worst for case in cases),
    ]
