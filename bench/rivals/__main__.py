"""`python -m bench.rivals`: every format beside vLLM and SGLang, as tables. Exit code 1 if a floor is missed."""

from __future__ import annotations

import argparse
import os
import sys

from bench import report
from bench.clock import pin
from bench.report import Row, show
from bench.rivals.measure import FRAMED, framed, head, measured
from bench.rivals.sides import Side, described, interpreter_in, started

MODULES = {"vLLM": "with_vllm", "SGLang": "with_sglang"}
SIZES = (200, 1000, 4000, 16000)


def arguments() -> argparse.Namespace:
    parser = report.options("bench.rivals", __doc__, floors=True)
    parser.add_argument("--rounds", type=int, default=31, help="rounds of each stream; the median counts")
    parser.add_argument("--seconds", type=float, default=2.0, help="for the rounds of one stream; three count anyway")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="lengths of the arguments, in tokens")
    parser.add_argument("--frames", action="store_true", help="only the table of SSE bytes")
    given = os.environ.get("HARMONYSTREAM_BENCH_RIVALS")
    where = "(default: $HARMONYSTREAM_BENCH_RIVALS, or the one that make bench-rivals installs)"
    parser.add_argument("--vllm", metavar="PYTHON", default=given, help=f"an interpreter that has vLLM {where}")
    parser.add_argument("--sglang", metavar="PYTHON", default=given, help=f"an interpreter that has SGLang {where}")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    core = pin()
    pythons = {name: interpreter_in(".venv-bench-rivals", getattr(asked, name.lower())) for name in MODULES}
    found = [started(name, module, pythons[name], "bench-rivals") for name, module in MODULES.items()]
    ours, running = Side("with_harmonystream"), [side for side, _ in found if side is not None]
    about = [line for _, line in found]
    print(report.machine(core)[0], described(ours), *about, sep="\n", end="\n\n", flush=True)
    sides, versions = [ours, *running], {side.name: side.version for side in running}
    rows: list[Row] = []
    if not asked.frames:
        rows += show(head(versions), measured(sides, asked.sizes, asked.rounds, asked.seconds), asked.markdown)
    made = framed(sides, 1000, asked.rounds, asked.seconds)
    rows += show(head(versions, FRAMED, ["vLLM"]), made, asked.markdown)
    for side in sides:
        side.close()
    return report.conclude(rows, asked)


if __name__ == "__main__":
    sys.exit(main())
