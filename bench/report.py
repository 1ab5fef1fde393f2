"""Rows of what was measured, the floors that they meet or miss, and their tables, plain or Markdown."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType
from typing import NamedTuple

from bench.clock import slowness
from bench.worker import interpreter

TIMES = ("ns", "µs", "ms", "ns/id")  # a slower machine needs more of these units
ABSOLUTE = ("absolute", "measured", "floor", "", "")


class Row(NamedTuple):
    """One line of a table. `floors`: by the name of what has a floor, whether it is met."""

    cells: tuple[str, ...]
    floors: Mapping[str, bool] = MappingProxyType({})


def shown(value: float) -> str:
    """Three digits or more."""
    if value and abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def verdict(met: bool | None) -> str:
    return "" if met is None else "PASS" if met else "FAIL"


def figure(
    name: str, value: float, unit: str, *, at_most: float | None = None, at_least: float | None = None, note: str = ""
) -> Row:
    """A row of one number. `at_most` or `at_least` is its floor; `note` says what to compare it with.

    Floors of times and of megabytes per second are those of the machine that they were set for. They are corrected by
    how much slower this one is.
    """
    met, floor = None, ""
    if at_most is not None:
        allowed = at_most * slowness() if unit in TIMES else at_most
        met, floor = value <= allowed, f"at most {at_most:g}"
        floor += f" ({shown(allowed)} here)" if allowed != at_most else ""
    elif at_least is not None:
        needed = at_least / slowness() if unit == "MB/s" else at_least
        met, floor = value >= needed, f"at least {at_least:g}"
        floor += f" ({shown(needed)} here)" if needed != at_least else ""
    cells = (name, f"{shown(value)} {unit}", floor, verdict(met), note)
    return Row(cells, {} if met is None else {name: met})


def table(head: Sequence[str], rows: Iterable[Row], markdown: bool) -> str:
    lines = [tuple(head), *(row.cells for row in rows)]
    if markdown:
        return markdown_table(head, lines[1:])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    aligned = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], text: bool = False) -> str:
    """text: the cells are words, and not numbers."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in (head, *rows)]
    rule = " | ".join(["---", *["---" if text else "--:"] * (len(head) - 1)])
    return "\n".join(f"| {line} |" for line in [lines[0], rule, *lines[1:]])


def show(head: Sequence[str], rows: Iterable[Row], markdown: bool) -> list[Row]:
    """Prints a table; its rows."""
    rows = list(rows)
    print(table(head, rows, markdown), end="\n\n", flush=True)
    return rows


def options(module: str, about: str | None, floors: bool = False) -> argparse.ArgumentParser:
    """The options that all commands here have. about: the command's docstring, whose first line is shown.

    floors: can a row of it miss a floor?
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=(about or "").partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    if floors:
        parser.add_argument("--no-check", action="store_true", help="exit with 0 even if a floor is missed")
    return parser


def conclude(rows: Iterable[Row], asked: argparse.Namespace) -> int:
    """Prints the last line of a run; the exit status, which is 1 if a floor is missed."""
    text, good = summary(rows)
    print(text)
    return 0 if good or asked.no_check else 1


def summary(rows: Iterable[Row]) -> tuple[str, bool]:
    """The last line of a run, and whether it met all of its floors."""
    floors = [(name, met) for row in rows for name, met in row.floors.items()]
    missed = [name for name, met in floors if not met]
    text = f"{len(floors) - len(missed)} of {len(floors)} floors met"
    return (f"{text}; missed: {'; '.join(missed)}" if missed else text), not missed


def machine(core: int | None) -> list[str]:
    """Where and with what this was measured."""
    import harmonystream as hs

    pinned = "not pinned to a core" if core is None else f"pinned to core {core} of {os.cpu_count()}"
    return [
        f"machine: {cpu_model()}, {platform.system()} {platform.machine()}, {pinned}",
        f"python: {interpreter()}",
        f"speed: a lookup in CPython takes {slowness():.2f} times as long as where the floors in ns were set",
        f"harmonystream {hs.__version__}, openai-harmony {version('openai-harmony')}",
    ]


def cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown CPU"
