"""`python -m bench.outcomes`: outputs of each family, read by all sides; the differences go into data and a page.

`--page` writes the tables of docs/outcomes.md from the data alone.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from itertools import groupby
from random import Random
from typing import Any

from bench.rivals.sides import interpreter_in
from bench.worker import Worker

from .counts import RENDERED, Counted
from .families import FAMILIES
from .outcome import outcome_of
from .outputs import Output, outputs
from .page import DATA, publish
from .with_harmonystream import pieces_of, read

MODULES = {"vLLM": "with_vllm", "SGLang": "with_sglang"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench.outcomes", description=__doc__)
    parser.add_argument("--outputs", type=int, default=10_000, help="of each family; half of them are mutated")
    parser.add_argument("--family", nargs="+", default=list(FAMILIES), choices=list(FAMILIES), metavar="NAME")
    parser.add_argument("--page", action="store_true", help="only write the page from the data that there are")
    given = os.environ.get("HARMONYSTREAM_BENCH_RIVALS")
    parser.add_argument("--vllm", metavar="PYTHON", default=given, help="an interpreter that has vLLM")
    parser.add_argument("--sglang", metavar="PYTHON", default=given, help="an interpreter that has SGLang")
    return parser.parse_args()


def batches(name: str, count: int) -> Iterator[list[Output]]:
    """The outputs, those of a request's tools together."""
    made = outputs(FAMILIES[name], name, count)
    yield from (list(some) for _, some in groupby(made, key=lambda output: output.tools))


def compared(name: str, count: int, sides: dict[str, Worker]) -> Counted:
    """The counts of a family."""
    able = [side for side in sides if side in FAMILIES[name].parsers]
    counted, number = Counted(), 0
    for batch in batches(name, count):
        asked = [[output.text, output.thinks] for output in batch]
        answers = {side: sides[side].call("read", name, batch[0].tools, asked) for side in able}
        for at, output in enumerate(batch):
            ours = read(name, output, pieces_of(Random(number), output.text))
            number += 1
            counted.add(output, ours, {side: [*map(outcome_of, answers[side][at])] for side in able})
    return counted


def keep_examples(known: dict[str, list[str]], name: str, found: dict[str, list[str]]) -> None:
    """One example of each class, the shortest: the family, the column, the output, what is right, and what it gives."""
    for key in [key for key, example in known.items() if example[0] == name]:
        del known[key]
    for key, example in found.items():
        if key not in known or len(example[1]) < len(known[key][2]):
            known[key] = [name, *example]


def written(data: dict[str, Any]) -> str:
    """JSON with a line for each family and each example."""

    def lines(rows: dict[str, Any]) -> str:
        return ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(rows[name], ensure_ascii=False)}" for name in sorted(rows)
        )

    parts = [f'"{part}": {{\n{lines(data[part])}\n }}' for part in ("versions", "families", "examples")]
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def main() -> None:
    asked = arguments()
    if not asked.page:
        pythons = {"vLLM": asked.vllm, "SGLang": asked.sglang}
        found = {side: interpreter_in(".venv-bench-rivals", python) for side, python in pythons.items()}
        missing = [side for side, python in found.items() if python is None]
        if missing:
            raise SystemExit(f"{' and '.join(missing)}: no environment has it (make bench-rivals creates one)")
        sides = {side: Worker(f"outcomes.{MODULES[side]}", str(found[side])) for side in found}
        data = json.loads(DATA.read_text(encoding="utf-8")) if DATA.is_file() else {"families": {}, "examples": {}}
        data["versions"] = {side: worker.call("about") for side, worker in sides.items()}
        for name in asked.family:
            counted = compared(name, asked.outputs, sides)
            row = data["families"][name] = counted.data()
            keep_examples(data["examples"], name, counted.examples)
            print(name, json.dumps(row["same"][RENDERED]), flush=True)
            DATA.write_text(written(data), encoding="utf-8")
        for worker in sides.values():
            worker.close()
    publish()


if __name__ == "__main__":
    main()
