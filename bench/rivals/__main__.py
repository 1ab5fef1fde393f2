"""`python -m bench.rivals`: every format, as one table. Exit code 1 if a floor is missed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence

from bench import report
from bench.clock import pin
from bench.rivals import table
from bench.rivals.measure import framed, measured, ours_alone
from bench.rivals.rows import Row
from bench.rivals.side import Side, interpreter
from bench.rivals.streams import SIZES
from bench.rows import Figure

MODULES = {"vLLM": "with_vllm", "SGLang": "with_sglang"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rivals", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 even if a floor is missed")
    parser.add_argument("--rounds", type=int, default=31, help="rounds of each stream, of which the median counts")
    parser.add_argument("--seconds", type=float, default=2.0, help="for the rounds of one stream; three count anyway")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="lengths of the arguments, in tokens")
    parser.add_argument("--frames", action="store_true", help="only the table of SSE bytes")
    parser.add_argument(
        "--rivals",
        metavar="PYTHON",
        default=os.environ.get("HARMONYSTREAM_BENCH_RIVALS"),
        help="has vLLM and SGLang (default: $HARMONYSTREAM_BENCH_RIVALS, or the one that make bench-rivals installs)",
    )
    return parser.parse_args()


def rivals(python: str | None) -> tuple[list[Side], list[str]]:
    """The rivals that run, and what to say about each."""
    running, lines = [], []
    for name, module in MODULES.items():
        if python is None:
            lines.append(f"{name}: not run, since no environment has it (make bench-rivals creates one)")
            continue
        try:
            side = Side(module, python)
        except RuntimeError as error:
            lines.append(f"{name}: not run ({error})")
        else:
            running.append(side)
            lines.append(described(side))
    return running, lines


def described(side: Side) -> str:
    return f"{side.name} {side.version}: in a process of its own, {side.python}"


def show(head: Sequence[str], made: Iterable[Row], markdown: bool) -> list[Row]:
    """Prints them as a table, and their names as they come."""
    rows = []
    for row in made:
        rows.append(row)
        print(f"{row.name}, {row.tokens:,}", file=sys.stderr, flush=True)
    print(report.table(head, map(table.row_cells, rows), markdown), end="\n\n", flush=True)
    return rows


def main() -> int:
    asked = arguments()
    core = pin()
    running, about = rivals(interpreter(asked.rivals))
    ours = Side("ours")
    print(report.machine(core)[0], described(ours), *about, sep="\n", end="\n\n", flush=True)
    sides, versions = [ours, *running], {side.name: side.version for side in running}
    rows: list[Row] = []
    figures: list[Figure] = []
    if not asked.frames:
        rows += show(table.head(versions), measured(sides, asked.sizes, asked.rounds, asked.seconds), asked.markdown)
    head = table.head(versions, table.FRAMED, ["vLLM"])
    rows += show(head, framed(sides, 1000, asked.rounds, asked.seconds), asked.markdown)
    if not asked.frames:
        figures += ours_alone(ours, 1000, asked.rounds, asked.seconds)
        print(report.table(report.FIGURE_HEAD, map(report.figure_cells, figures), asked.markdown), end="\n\n")
    for side in sides:
        side.close()
    text, good = table.summary(rows, figures)
    print(text)
    return 0 if good or asked.no_check else 1


if __name__ == "__main__":
    sys.exit(main())
