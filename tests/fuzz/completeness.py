"""What of all well-formed outputs the grammars take: python tests/fuzz/completeness.py --backend llguidance

Asks each backend's own matcher about the outputs of the corpora, and about what chat templates render. Prints a row for
each format, and each output that is refused without a reason in tests/support/well_formed.py. It ends with status 1 if
one is.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support"), str(ROOT / "tests" / "reference")]

from well_formed import TAKERS, is_taken, of_the_corpora, of_the_templates, why_refused  # noqa: E402


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--backend", nargs="*", choices=list(TAKERS), default=list(TAKERS))
    options.add_argument("--seeds", type=int, default=4, help="of the calls that templates render")
    options.add_argument("--format", nargs="*")
    given, failed = options.parse_args(), 0
    outputs = [*of_the_corpora(), *chain.from_iterable(map(of_the_templates, range(given.seeds)))]
    reasons = Counter[str]()
    print("| backend | format | outputs | taken | refused for a reason | refused |\n|---|---|--:|--:|--:|--:|")
    for backend in given.backend:
        if backend == "xgrammar" and find_spec(backend) is None:
            print(f"{backend} is not installed", flush=True)
            continue
        counts: dict[str, Counter[str]] = {}
        refused = []
        for output in outputs:
            if given.format and output.format not in given.format:
                continue
            taken = is_taken(output, backend)
            why = None if taken is not False else why_refused(output)
            kind = "none" if taken is None else "taken" if taken else "explained" if why else "refused"
            counts.setdefault(output.format, Counter())[kind] += 1
            reasons[why or ""] += 1
            refused += [output] * (kind == "refused")
        for format, found in sorted(counts.items()):
            numbers = (sum(found.values()), found["taken"], found["explained"], found["refused"])
            print(f"| {backend} | {format} | {' | '.join(map(str, numbers))} |", flush=True)
        for output in refused:
            print(f"    {output.format}, {output.where}: {output.text!r}", flush=True)
        failed += len(refused)
    for why, count in reasons.most_common():
        if why:
            print(f"{count} {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
