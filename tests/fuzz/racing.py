"""Random cases of the threads target: python -m fuzz.racing SECONDS [SEED]. tsan.sh runs it under ThreadSanitizer."""

from __future__ import annotations

import random
import sys
import time

from fuzz import threads


def run(seconds: float, seed: int) -> int:
    """How many cases were run."""
    chosen, end, cases = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        threads.check(**threads.decode(chosen.randbytes(8), chosen.randbytes(chosen.randrange(40, 120))))
        cases += 1
    return cases


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"{run(float(sys.argv[1]), seed)} cases of threads, seed {seed}: nothing found")
