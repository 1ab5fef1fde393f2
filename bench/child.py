"""What only a new process can show, measured inside it: `python -m bench.child NAME < arguments.json`."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from array import array

import harmonystream as hs


def cold_load() -> float:
    """Milliseconds of the processor to load the embedded vocabulary."""
    started = time.process_time_ns()
    hs.vocab.o200k_harmony()
    return (time.process_time_ns() - started) / 1e6


def resident() -> int:
    """Bytes of memory that this process has in use; 0 where the platform does not say."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))
    except OSError:
        return 0


def parser_sizes(n: int) -> tuple[int, float]:
    """Bytes of a parser by sys.getsizeof, and by what the process grows when it makes n of them."""
    kept: list[hs.Parser | None] = [hs.Parser(), *[None] * n]
    before = resident()
    for i in range(1, n + 1):
        kept[i] = hs.Parser()
    return sys.getsizeof(kept[0]), (resident() - before) / n


def growth(opening: list[int], ids: list[int], n: int) -> tuple[int, int, int]:
    """Bytes that a parser, Python's allocator and the process grow while the parser reads n tokens."""
    parser = hs.Parser()
    parser.feed(opening)

    def read(times: int) -> None:
        for _ in range(times):
            for tid in ids:
                parser.feed(tid)

    seen = array("q", [0] * 4)  # made beforehand: noting a figure allocates nothing that lasts
    tracemalloc.start()
    read(2)  # the vocabulary's cache of strings fills
    before = resident()
    for k in (0, 2):
        read(2 if k == 0 else n // len(ids))
        seen[k] = sys.getsizeof(parser)
        seen[k + 1] = tracemalloc.get_traced_memory()[0]
    return seen[2] - seen[0], seen[3] - seen[1], resident() - before


if __name__ == "__main__":
    measurement = {"cold_load": cold_load, "parser_sizes": parser_sizes, "growth": growth}[sys.argv[1]]
    print(json.dumps(measurement(*json.load(sys.stdin))))
