"""What parsers of the tag formats take of memory, in a process of its own: `python -m bench.tag_memory`."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from array import array
from collections.abc import Iterator

from bench import tag_streams as streams
from bench.child import resident
from bench.rows import Figure
from bench.streams import ROOT
from bench.tag_streams import Stream


def growth(stream: Stream) -> tuple[int, int, int]:
    """A parser's bytes; what it and Python's allocator, and what the process grow while it reads the long stream."""
    parser = stream.parser()
    feed = parser.feed
    feed(stream.before)
    seen = array("q", [0] * 4)  # made beforehand: noting a figure allocates nothing that lasts

    def note(at: int) -> None:
        seen[at], seen[at + 1] = sys.getsizeof(parser), tracemalloc.get_traced_memory()[0]

    def read(blocks: slice) -> None:
        for block in stream.blocks[blocks]:
            for tid in block:
                feed(tid)

    tracemalloc.start()
    read(slice(2))  # the vocabulary's cache of strings fills
    before = resident()
    note(0)
    read(slice(2, None))
    note(2)
    tracemalloc.stop()
    return seen[0], seen[2] - seen[0] + seen[3] - seen[1], resident() - before


def measured() -> Iterator[Figure]:
    """Of every format, while it reads content and the arguments of a call."""
    command = [sys.executable, "-m", "bench.tag_memory"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, dict[str, list[int]]] = json.loads(done.stdout)
    largest = max(size for ways in found.values() for size, _, _ in ways.values())
    yield Figure("a parser of a tag format, by sys.getsizeof: the largest", largest, "B", at_most=1280)
    for what in ("content", "arguments"):
        grown = {format: ways[what] for format, ways in found.items()}
        most = max(grown, key=lambda format: grown[format][1])
        note = f"`{most}`; the whole process: {max(process for _, _, process in grown.values()):,} B"
        title = f"growth after 64k tokens of {what}, of all tag formats the most"
        yield Figure(title, grown[most][1], "B", at_most=0, note=note)


if __name__ == "__main__":
    makers = {"content": streams.content, "arguments": streams.call}
    print(json.dumps({name: {what: growth(make(name)) for what, make in makers.items()} for name in streams.NAMES}))
