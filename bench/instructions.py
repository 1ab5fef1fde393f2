"""A loop for callgrind to count: `feed(id)` on plain tokens, with as little else as possible (docs/benchmarks.md)."""

from __future__ import annotations

import harmonystream as hs
from bench import streams

TIMES = 100


def main() -> None:
    work = streams.prose(2048)
    parser = hs.Parser()
    parser.feed(work.opening)
    parser.feed(work.ids)
    feed = parser.feed
    for _ in range(TIMES):
        for tid in work.ids:
            feed(tid)
    print(f"{TIMES * len(work.ids)} tokens: divide what callgrind collected by this")


if __name__ == "__main__":
    main()
