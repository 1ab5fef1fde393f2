"""`python -m bench`: every case, as one table. Exit code 1 if a floor is missed."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import version

from bench import fresh, growth, limits, ratios, report, text_mode
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


def main() -> int:
    asked = arguments()
    core = pin()
    old, about_old = old_release(interpreter(asked.old))
    print(*report.machine(core), about_old, sep="\n", end="\n\n", flush=True)
    compared: list[Ratio] = list(ratios.measured(asked.tokens, asked.rounds, old))
    head = [title.format(newest=version("openai-harmony"), old=VERSION) for title in report.RATIO_HEAD]
    print(report.table(head, map(report.ratio_cells, compared), asked.markdown), end="\n\n", flush=True)
    if old is not None:
        old.close()
    figures: list[Figure] = [
        *growth.measured(asked.tokens // 2, asked.rounds),
        *text_mode.measured(asked.tokens, asked.rounds),
        *fresh.new_parsers(asked.rounds),
        *fresh.memory(asked.tokens, asked.scale),
        *fresh.start_up(max(1, asked.rounds // 4)),
        *limits.measured(asked.tokens, asked.rounds),
    ]
    print(report.table(report.FIGURE_HEAD, map(report.figure_cells, figures), asked.markdown), end="\n\n")
    rows: list[Ratio | Figure] = [*compared, *figures]
    print(report.summary(rows))
    return 1 if not asked.no_check and any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
