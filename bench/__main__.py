"""`python -m bench`: every case, as one table. Exit code 1 if a floor is missed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from bench import (
    batch,
    emitters,
    fresh,
    growth,
    limits,
    parallel,
    ratios,
    report,
    sse,
    tag_measure,
    tag_memory,
    tag_report,
    tag_streams,
    text_mode,
)
from bench.clock import pin
from bench.old_release import VERSION, OldRelease, interpreter
from bench.rows import Figure, Ratio


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--no-check", action="store_true", help="exit with 0 even if a floor is missed")
    parser.add_argument("--rounds", type=int, default=101, help="rounds of each case, of which the median counts")
    parser.add_argument("--tokens", type=int, default=2048, help="length of the streams (at least 64)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of the cases that make 100,000 parsers or read a million tokens"
    )
    parser.add_argument("--verbose", action="store_true", help="print each worst case of the tag formats as well")
    parser.add_argument(
        "--tags",
        nargs="*",
        metavar="FORMAT",
        choices=tag_streams.NAMES,
        help="only these tag formats' tables, or all of them (default: those and everything else)",
    )
    parser.add_argument(
        "--old",
        metavar="PYTHON",
        default=os.environ.get("HARMONYSTREAM_BENCH_OLD"),
        help=f"has openai-harmony {VERSION} (default: $HARMONYSTREAM_BENCH_OLD, or the one that make bench installs)",
    )
    return parser.parse_args()


def old_release(python: str | None) -> tuple[OldRelease | None, str]:
    """The older rival, and what to say about it."""
    if python is None:
        return None, f"openai-harmony {VERSION}: not measured, since no environment has it (make bench creates one)"
    try:
        old = OldRelease(python)
    except (OSError, RuntimeError) as error:
        return None, f"openai-harmony {VERSION}: not measured ({error})"
    return old, f"openai-harmony {old.version}: in a process of its own"


def show(head: Sequence[str], rows: Iterable[Sequence[str]], markdown: bool) -> None:
    print(report.table(head, rows, markdown), end="\n\n", flush=True)


def tag_formats(asked: argparse.Namespace) -> list[Figure]:
    """Prints the tables of the tag formats; what they say, as figures."""
    names, block = asked.tags or tag_streams.NAMES, asked.tokens // 2
    common = list(tag_measure.common(names, block, asked.rounds))
    show(tag_report.COMMON_HEAD, map(tag_report.common_cells, common), asked.markdown)
    worst = [list(tag_measure.worst(name, block, asked.rounds)) for name in names]
    show(tag_report.WORST_HEAD, map(tag_report.worst_cells, worst), asked.markdown)
    missed = [case for cases in worst for case in cases if asked.verbose or not case.met]
    if missed:
        show(tag_report.CASE_HEAD, map(tag_report.case_cells, missed), asked.markdown)
    figures = [*tag_measure.text_mode(block, asked.rounds), *tag_memory.measured()]
    show(tag_report.FIGURE_HEAD, map(report.figure_cells, figures), asked.markdown)
    return [*tag_report.figures(common, worst), *figures]


def harmony(asked: argparse.Namespace, old: OldRelease | None) -> list[Ratio | Figure]:
    """Prints the tables of Harmony, and of what is the same for all formats; what they say."""
    compared: list[Ratio] = [
        *ratios.measured(asked.tokens, asked.rounds, old),
        *sse.measured(asked.tokens, asked.rounds, old),
    ]
    head = [title.format(newest=version("openai-harmony"), old=VERSION) for title in report.RATIO_HEAD]
    show(head, map(report.ratio_cells, compared), asked.markdown)
    costs = emitters.measured(asked.tokens, asked.rounds)
    show(emitters.HEAD, map(emitters.cells, costs), asked.markdown)
    figures: list[Figure] = [
        *growth.measured(asked.tokens // 2, asked.rounds),
        *text_mode.measured(asked.tokens, asked.rounds),
        *fresh.new_parsers(asked.rounds),
        *fresh.memory(asked.tokens, asked.scale),
        *fresh.start_up(max(1, asked.rounds // 4)),
        *sse.linear(asked.tokens // 2, asked.rounds),
        *batch.measured(asked.rounds),
        *parallel.measured(),
        *limits.measured(asked.tokens, asked.rounds),
    ]
    show(report.FIGURE_HEAD, map(report.figure_cells, figures), asked.markdown)
    return [*compared, *figures]


def main() -> int:
    asked = arguments()
    core = pin()
    old, about_old = old_release(interpreter(asked.old))
    print(*report.machine(core), about_old, sep="\n", end="\n\n", flush=True)
    rows: list[Ratio | Figure] = [] if asked.tags is not None else harmony(asked, old)
    if old is not None:
        old.close()
    rows += tag_formats(asked)
    print(report.summary(rows))
    return 1 if not asked.no_check and any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
