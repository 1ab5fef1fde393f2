"""Random walks through the grammars of all formats: python tests/fuzz/grammars.py --backend xgrammar --walks 2000

Prints a row for each format and what is wrong. It ends with status 1 if something is. `make fuzz` walks with the
backends that are installed.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from grammar_walks import BACKENDS, CHOICES, FORMATS, random_walks  # noqa: E402

OF_EACH = 8  # walks through one grammar: to compile it takes as long as several walks


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--backend", nargs="*", choices=BACKENDS, default=list(BACKENDS))
    options.add_argument("--walks", type=int, default=2000, help="of each format, backend and choice")
    options.add_argument("--seed", type=int, default=0, help="of the first grammar")
    options.add_argument("--seconds", type=float, default=float("inf"), help="of each format and backend")
    options.add_argument("--format", nargs="*", default=FORMATS)
    given, failed = options.parse_args(), 0
    print("| backend | format | walks | not ended | wrong |\n|---|---|--:|--:|--:|")
    for backend in given.backend:
        if backend != "gbnf" and find_spec(backend) is None:
            print(f"{backend} is not installed", flush=True)
            continue
        for format in given.format:
            ended, cut, faults, until = 0, 0, list[str](), time.monotonic() + given.seconds
            for seed in range(given.seed, given.seed + -(-given.walks // OF_EACH)):
                if time.monotonic() > until:
                    break
                for choice in CHOICES:
                    for made in random_walks(format, choice, backend, seed, OF_EACH, control=seed % 2 == 0):
                        ended, cut = ended + (made is not None), cut + (made is None)
                        if made is not None and made[1]:
                            faults.append(f"{choice}, seed {seed}: {made[1]}: {made[0]!r}")
            print(f"| {backend} | {format} | {ended} | {cut} | {len(faults)} |", flush=True)
            for fault in faults[:3]:
                print("    " + fault[:1000], flush=True)
            failed += len(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
