"""Puts a run into the documentation: `python -m bench --markdown | python -m bench.publish`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from bench.emitters import HEAD

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
PAGE_BLOCK = ("<!-- measured: written by bench.publish -->\n", "<!-- measured: end -->")
README_BLOCK = ("<!-- bench: these rows are in docs/benchmarks.md -->\n", "<!-- bench: end -->")
TABLES = ("per token", HEAD[0], "absolute", "tag formats, per token", "worst cases", "tag formats, absolute")
README_CELLS = (0, 1, 2, 3, 6, 7)


def block(text: str, marks: tuple[str, str]) -> tuple[str, str, str]:
    """What is before, between and behind the two marks."""
    before, _, rest = text.partition(marks[0])
    inner, found, behind = rest.partition(marks[1])
    if not found:
        raise ValueError(f"{marks[0].strip()} … {marks[1]} is missing")
    return before + marks[0], inner, marks[1] + behind


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def published(page: str, run: str) -> str:
    """The page with this run: the machine, and all tables."""
    machine, *tables = run.strip().split("\n\n")
    before, _, behind = block(page, PAGE_BLOCK)
    listed = "\n".join(f"- {line}" for line in machine.splitlines())
    return before + "\n\n".join(["", listed, *tables, ""]).lstrip("\n") + behind


def excerpted(readme: str, run: str) -> str:
    """The README with the same rows as before, and this run's numbers."""
    ratios = run.strip().split("\n\n")[1]
    head, _, *rows = map(cells, ratios.splitlines())
    measured = {row[0]: row for row in [head, *rows]}
    before, inner, behind = block(readme, README_BLOCK)
    lines = inner.splitlines()
    for at, line in enumerate(lines):
        row = measured.get(cells(line)[0])
        if row is not None:
            lines[at] = f"| {' | '.join(row[k] for k in README_CELLS)} |"
    return before + "\n".join(lines) + "\n" + behind


def whole(run: str, tables: Iterable[str] = TABLES) -> str:
    """The run itself. Raises `ValueError` if it is a part of one: what is published was measured in one run."""
    heads = [block.partition(" |")[0] for block in run.strip().split("\n\n") if block.startswith("|")]
    for head in tables:
        if f"| {head}" not in heads:
            raise ValueError(f"the run has no table {head!r}")
    return run


def main() -> None:
    run = whole(sys.stdin.read())
    for path, rewrite in ((PAGE, published), (README, excerpted)):
        path.write_text(rewrite(path.read_text(encoding="utf-8"), run), encoding="utf-8")


if __name__ == "__main__":
    main()
