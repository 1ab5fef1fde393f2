"""Writes a run into its page: `python -m bench --markdown | python -m bench.publish`.

The runs of `bench.rivals` and `bench.server` are published in the same way. The page is the one whose tables the run
has.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from bench.worker import ROOT

README = ROOT / "README.md"
PAGES = [ROOT / "docs" / name for name in ("benchmarks.md", "benchmarks-rivals.md", "servers.md")]
PAGE_BLOCK = ("<!-- measured: written by bench.publish -->\n", "<!-- measured: end -->")
README_BLOCK = ("<!-- bench: these rows are in docs/benchmarks.md -->\n", "<!-- bench: end -->")
README_CELLS = (0, 1, 2, 3, 6, 7)
WIDTH = 120  # of prose, in characters
ONLY_IF_MISSED = {"worst case"}  # the table that a run has if a worst case missed its floor


def block(text: str, marks: tuple[str, str]) -> tuple[str, str, str]:
    """The text before, between and after the two marks; the marks are in the first and the last."""
    before, _, rest = text.partition(marks[0])
    inner, found, after = rest.partition(marks[1])
    if not found:
        raise ValueError(f"{marks[0].strip()} … {marks[1]} is missing")
    return before + marks[0], inner, marks[1] + after


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def heads(text: str) -> set[str]:
    """The first cell of each table."""
    return {cells(part)[0] for part in text.strip().split("\n\n") if part.startswith("|")}


def page_of(run: str, pages: Mapping[Path, str]) -> Path:
    """The page whose tables the run has, all of them: what is published together was measured in one run."""
    measured = heads(run)
    for path, text in pages.items():
        if heads(block(text, PAGE_BLOCK)[1]) - ONLY_IF_MISSED <= measured:
            return path
    raise ValueError(f"no page has just the tables of this run: {', '.join(sorted(measured)) or 'it has none'}")


def published(page: str, run: str) -> str:
    """The page with this run: the machine, and all tables."""
    machine, *tables = run.strip().split("\n\n")
    before, _, after = block(page, PAGE_BLOCK)
    listed = "\n".join(f"- {line}" for line in machine.splitlines())
    tables = [part if part.startswith("|") else fill(part, WIDTH) for part in tables]
    return before + "\n\n".join([listed, *tables, ""]) + after


def excerpted(readme: str, run: str) -> str:
    """The README with the same rows as before, and this run's numbers."""
    measured = {row[0]: row for row in map(cells, run.strip().split("\n\n")[1].splitlines())}
    before, inner, after = block(readme, README_BLOCK)
    rows = ((line, measured.get(cells(line)[0])) for line in inner.splitlines())
    lines = (f"| {' | '.join(row[k] for k in README_CELLS)} |\n" if row else f"{line}\n" for line, row in rows)
    return before + "".join(lines) + after


def main() -> None:
    run = sys.stdin.read()
    pages = {path: path.read_text(encoding="utf-8") for path in PAGES}
    path = page_of(run, pages)
    path.write_text(published(pages[path], run), encoding="utf-8")
    if path is PAGES[0]:
        README.write_text(excerpted(README.read_text(encoding="utf-8"), run), encoding="utf-8")


if __name__ == "__main__":
    main()
