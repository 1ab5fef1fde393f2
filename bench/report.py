"""Rows as a table for people, plain or Markdown."""

from __future__ import annotations

import os
import platform
import sysconfig
from collections.abc import Iterable, Sequence
from importlib.metadata import version

import harmonystream as hs
from bench.rows import Figure, Ratio

RATIO_HEAD = (
    "per token",
    "harmonystream",
    "openai-harmony {newest}",
    "faster",
    "floor",
    "",
    "openai-harmony {old}",
    "faster",
)
FIGURE_HEAD = ("absolute", "measured", "floor", "", "")


def machine(core: int | None) -> list[str]:
    """Where and with what this was measured."""
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    pinned = "not pinned to a core" if core is None else f"pinned to core {core} of {os.cpu_count()}"
    return [
        f"machine: {cpu_model()}, {platform.system()} {platform.machine()}, {pinned}",
        f"python: {python}, built {'with' if optimised else 'without'} --enable-optimizations",
        f"harmonystream {hs.__version__}, openai-harmony {version('openai-harmony')}",
    ]


def cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown CPU"


def shown(value: float) -> str:
    if value and abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"


def verdict(row: Ratio | Figure) -> str:
    return "" if row.met is None else "PASS" if row.met else "FAIL"


def ratio_cells(row: Ratio) -> tuple[str, ...]:
    floor = "" if row.floor is None else f"{row.floor:g}×"
    newest = (f"{shown(row.newest)} ns", f"{shown(row.times)}×", floor, verdict(row))
    old = ("–", "–") if row.old is None else (f"{shown(row.old)} ns", f"{shown(row.old / row.ours)}×")
    return row.name, f"{shown(row.ours)} ns", *newest, *old


def figure_cells(row: Figure) -> tuple[str, ...]:
    floor = ""
    if row.at_most is not None:
        floor = f"at most {row.at_most:g}"
    elif row.at_least is not None:
        floor = f"at least {row.at_least:g}"
    return row.name, f"{shown(row.value)} {row.unit}", floor, verdict(row), row.note


def table(head: Sequence[str], rows: Iterable[Sequence[str]], markdown: bool) -> str:
    lines = [tuple(head), *map(tuple, rows)]
    if markdown:
        cells = [" | ".join(line) for line in lines]
        rule = " | ".join(["---", *["--:"] * (len(head) - 1)])
        return "\n".join(f"| {line} |" for line in [cells[0], rule, *cells[1:]])
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    aligned = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def summary(rows: Sequence[Ratio | Figure]) -> str:
    with_floor = [row for row in rows if row.met is not None]
    missed = [row.name for row in with_floor if not row.met]
    text = f"{len(with_floor) - len(missed)} of {len(with_floor)} floors met"
    return f"{text}; missed: {', '.join(missed)}" if missed else text
