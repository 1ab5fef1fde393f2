"""A loop for callgrind to count: `feed(id)` on plain tokens, with as little else as possible (docs/benchmarks.md)."""

from __future__ import annotations

import harmonystream as hs
from bench import streams
from bench.clock import feed_all

TIMES = 100


def main() -> None:
    work = streams.prose(2048)
    parser = hs.Parser()
    parser.feed(work.opening)
    parser.feed(work.body)
    feed_all(parser.feed, work.body, TIMES)
    print(f"{TIMES * len(work.body)} tokens: divide what callgrind collected by this")


if __name__ == "__main__":
    main()
