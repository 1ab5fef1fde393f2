"""`python -m bench`: every case, as tables. Exit code 1 if a floor is missed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from bench import report
from bench.cases import alone, blocks, emitters, grammars, many, memory, mixed, ratios, requests, tags, threads
from bench.clock import pin
from bench.report import Row, show
from bench.rivals.sides import Side, interpreter_in, started

OLD = "0.0.4"
TAGS_HEAD = ("tag formats, absolute", *report.ABSOLUTE[1:])
Tables = Iterator[tuple[Sequence[str], Iterable[Row]]]


def arguments() -> argparse.Namespace:
    parser = report.options("bench", __doc__, floors=True)
    parser.add_argument("--rounds", type=int, default=101, help="rounds of each case; the median counts")
    parser.add_argument("--tokens", type=int, default=2048, help="length of the streams (at least 64)")
    scaled = "of the cases that make 100,000 parsers, read a million tokens or run two threads"
    parser.add_argument("--scale", type=float, default=1.0, help=scaled)
    parser.add_argument("--verbose", action="store_true", help="print each worst case of the tag formats as well")
    parser.add_argument(
        "--tags",
        nargs="*",
        metavar="FORMAT",
        choices=blocks.NAMES,
        help="only these tag formats' tables, or all of them (default: those and everything else)",
    )
    parser.add_argument(
        "--old",
        metavar="PYTHON",
        default=os.environ.get("HARMONYSTREAM_BENCH_OLD"),
        help=f"has openai-harmony {OLD} (default: $HARMONYSTREAM_BENCH_OLD, or the one that make bench installs)",
    )
    return parser.parse_args()


def harmony(asked: argparse.Namespace, newest: Side, old: Side | None) -> Tables:
    """Harmony's tables, and of what is the same for all formats."""
    n, rounds = asked.tokens, asked.rounds
    head = [title.format(newest=newest.version, old=OLD) for title in ratios.HEAD]
    yield head, ratios.measured(n, rounds, newest, old)
    yield alone.EMITTERS_HEAD, alone.emitter_rows(n, rounds)
    cases = alone.groups(n)
    note = f"openai-harmony's newest: {newest.call('new_parsers', 100) / 1000:.0f} µs"
    new_parser = cases["parser"][0]._replace(note=note)
    yield (
        report.ABSOLUTE,
        [
            *emitters.growth(n // 2, min(rounds, 31)),
            *alone.rows([*cases["text"], new_parser, *cases["parser"][1:], *cases["engine"], *cases["rows"]], rounds),
            *memory.sizes(n, asked.scale),
            *memory.start_up(max(1, rounds // 4)),
            *alone.rows(cases["batch"], rounds),
            *requests.measured(max(3, rounds // 8)),
            *grammars.measured(max(3, rounds // 8)),
            *mixed.measured(max(3, rounds // 8)),
            *many.measured(max(3, rounds // 8), newest),
            *threads.measured(asked.scale),
            *alone.rows(cases["limits"], rounds),
        ],
    )


def tag_formats(asked: argparse.Namespace) -> Tables:
    names, block = asked.tags or blocks.NAMES, asked.tokens // 2
    yield from tags.tables(names, block, asked.rounds, asked.verbose)
    cases = alone.groups(asked.tokens)["tags"]
    yield TAGS_HEAD, [*alone.rows(cases, asked.rounds), *memory.tag_sizes(asked.scale)]


def main() -> int:
    asked = arguments()
    core = pin()
    python = interpreter_in(".venv-bench-004", asked.old)
    old, about_old = started(f"openai-harmony {OLD}", "with_openai_harmony", python, "bench")
    print(*report.machine(core), about_old, sep="\n", end="\n\n", flush=True)
    rows: list[Row] = []
    if asked.tags is None:
        with Side("with_openai_harmony") as newest:
            for head, made in harmony(asked, newest, old):
                rows += show(head, made, asked.markdown)
    if old is not None:
        old.close()
    for head, made in tag_formats(asked):
        rows += show(head, made, asked.markdown)
    return report.conclude(rows, asked)


if __name__ == "__main__":
    sys.exit(main())
