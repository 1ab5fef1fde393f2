"""Start-up and memory, each measured in new processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter_ns
from typing import Any

from bench import official, ours, streams
from bench.clock import medians
from bench.rows import Figure

PARSERS = 100_000
MILLION = 1_000_000


def child(name: str, *arguments: Any) -> Any:
    command = [sys.executable, "-m", "bench.child", name]
    given = json.dumps(arguments)
    done = subprocess.run(command, cwd=streams.ROOT, input=given, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def spent_by_children() -> float:
    """Milliseconds of the processor that this process's children have used, where the platform tells; else the time."""
    try:
        import resource
    except ImportError:
        return perf_counter_ns() / 1e6
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def process_milliseconds(code: str) -> float:
    before = spent_by_children()
    subprocess.run([sys.executable, "-c", code], cwd=streams.ROOT, check=True)
    return spent_by_children() - before


def start_up(rounds: int) -> Iterator[Figure]:
    load = median(child("cold_load") for _ in range(rounds))
    yield Figure("cold load of the embedded vocabulary", load, "ms", at_most=60)
    took = medians(
        {
            "empty": lambda: process_milliseconds("pass"),
            "import": lambda: process_milliseconds("import harmonystream"),
        },
        2 * rounds,
        seconds=8,
    )
    name = "import harmonystream, beyond the interpreter"
    yield Figure(name, took["import"] - took["empty"], "ms", at_most=30, note=f"interpreter {took['empty']:.0f} ms")


def memory(n: int, scale: float = 1.0) -> Iterator[Figure]:
    """n: the length of the streams; a test takes a smaller `scale`."""
    size, taken = child("parser_sizes", int(PARSERS * scale))
    yield Figure("a parser, by sys.getsizeof", size, "B", at_most=1024)
    if taken:
        yield Figure("a parser, by the memory of a process with 100,000", taken, "B", at_most=1024)
    for name, work in (
        ("analysis", streams.prose(n)),
        ("arguments", streams.code_in_arguments(n)),
        ("a header that never ends", streams.endless_header(n)),
    ):
        own, traced, process = child("growth", work.opening, work.ids, int(MILLION * scale))
        note = f"the whole process: {process:,} B"
        yield Figure(f"growth after a million tokens of {name}", own + traced, "B", at_most=0, note=note)


def new_parsers(rounds: int) -> Iterator[Figure]:
    encoding = streams.encoding()
    contenders = {"ours": lambda: ours.new_parsers(1000), "newest": lambda: official.new_parsers(encoding, 10)}
    took = medians(contenders, rounds)
    note = f"openai-harmony's newest: {took['newest'] / 1000:.0f} µs"
    yield Figure("a new Parser on a loaded vocabulary", took["ours"] / 1000, "µs", at_most=2, note=note)
