"""Start-up and memory. The functions that take numbers run in new processes (bench/worker.py)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from array import array
from collections.abc import Iterator
from statistics import median
from typing import Any

import harmonystream as hs
from bench.clock import medians
from bench.report import Row, figure
from bench.worker import ROOT, Worker

PARSERS, MILLION = 100_000, 1_000_000


def in_new_process(function: str, *arguments: Any) -> Any:
    with Worker("cases.memory") as new:
        return new.call(function, *arguments)


# --- in a new process -----------------------------------------------------------------------------------------------


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


def growth(parser: hs.Parser, opening: list[int], ids: list[int], n: int) -> tuple[int, int, int]:
    """A parser's bytes; what it and Python's allocator, and what the process grow while it reads n tokens."""
    feed = parser.feed
    feed(opening)
    seen = array("q", [0] * 4)  # made beforehand: noting a figure allocates nothing that lasts

    def note(at: int) -> None:
        seen[at], seen[at + 1] = sys.getsizeof(parser), tracemalloc.get_traced_memory()[0]

    def read(times: int) -> None:
        for _ in range(times):
            for tid in ids:
                feed(tid)

    tracemalloc.start()
    read(2)  # the vocabulary's cache of strings fills
    before = resident()
    note(0)
    read(n // len(ids))
    note(2)
    tracemalloc.stop()
    return seen[0], seen[2] - seen[0] + seen[3] - seen[1], resident() - before


def harmony_growth(opening: list[int], ids: list[int], n: int) -> tuple[int, int, int]:
    return growth(hs.Parser(), opening, ids, n)


def soak(opening: list[int], ids: list[int], n: int) -> int:
    """What the process grows while n short responses begin and end in a batch; a tenth of them come before."""
    from bench.cases.batch import begun
    from bench.cases.emitters import EMITTERS

    batch, answer = hs.batch.Batch(capacity=4), array("i", [*opening, *ids])
    apis = [*EMITTERS]

    def say(times: int) -> None:
        for number in range(times):
            slot = begun(batch, apis[number % len(apis)])
            batch.feed_sse([slot], answer, [0, len(answer)])
            batch.finish(slot, "stop")

    say(n // 10 + 1)
    before = resident()
    say(n)
    return resident() - before


def tag_growth(n: int) -> dict[str, dict[str, tuple[int, int, int]]]:
    """Of every format, while it reads content and the arguments of a call."""
    from bench.cases import blocks

    def read(stream: blocks.Blocks) -> tuple[int, int, int]:
        return growth(stream.parser(), stream.before, stream.blocks[0], n)

    kinds = {"content": blocks.content, "arguments": blocks.call}
    return {kind: {name: read(make(name)) for name in blocks.NAMES} for kind, make in kinds.items()}


# --- rows -----------------------------------------------------------------------------------------------------------


def sizes(n: int, scale: float = 1.0) -> Iterator[Row]:
    """n: the length of the streams; a test takes a smaller `scale`."""
    from bench import streams

    size, taken = in_new_process("parser_sizes", int(PARSERS * scale))
    yield figure("a parser, by sys.getsizeof", size, "B", at_most=1024)
    if taken:
        # malloc of the C library adds 8 bytes to a block, and rounds up to 16.
        yield figure("a parser, by the memory of a process with 100,000", taken, "B", at_most=1040)
    for name, work in (
        ("analysis", streams.prose(n)),
        ("arguments", streams.code_in_arguments(n)),
        ("a header that never ends", streams.endless_header(n)),
    ):
        _, grown, process = in_new_process("harmony_growth", work.opening, work.body, int(MILLION * scale))
        note = f"the whole process: {process:,} B"
        yield figure(f"growth after a million tokens of {name}", grown, "B", at_most=0, note=note)
    answer = streams.prose(16)
    grown = in_new_process("soak", answer.opening, answer.body, int(MILLION * scale))
    yield figure("growth after a million short responses in a batch, of the process", grown, "B", at_most=MILLION)


def tag_sizes(scale: float = 1.0) -> Iterator[Row]:
    kinds = in_new_process("tag_growth", int(64 * 1024 * scale))
    largest = max(size for found in kinds.values() for size, _, _ in found.values())
    yield figure("a parser of a tag format, by sys.getsizeof: the largest", largest, "B", at_most=1344)
    for kind, found in kinds.items():
        most = max(found, key=lambda name: found[name][1])
        note = f"`{most}`; the whole process: {max(process for _, _, process in found.values()):,} B"
        title = f"growth after 64k tokens of {kind}, of all tag formats the most"
        yield figure(title, found[most][1], "B", at_most=0, note=note)


def spent_by_children() -> float:
    """Milliseconds of the processor that this process's children have used; the time if the platform does not count."""
    try:
        import resource
    except ImportError:
        return time.perf_counter_ns() / 1e6
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def process_milliseconds(code: str) -> float:
    """With the modules' bytecode on the disk, as installed packages have it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = spent_by_children()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    return spent_by_children() - before


def start_up(rounds: int) -> Iterator[Row]:
    cold = median(in_new_process("cold_load") for _ in range(rounds))
    yield figure("cold load of the embedded vocabulary", cold, "ms", at_most=60)
    runs = {code: lambda code=code: process_milliseconds(code) for code in ("pass", "import harmonystream")}
    empty, imported = medians(runs, 2 * rounds, seconds=8).values()
    note = f"interpreter {empty:.0f} ms"
    yield figure("import harmonystream, beyond the interpreter", imported - empty, "ms", at_most=30, note=note)
