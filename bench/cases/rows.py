"""What is done once for each response, or for each row of a data set."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import Case

TIMES = 100


def row() -> array[int]:
    """376 tokens: reasoning, and a call."""
    reasoning, _ = streams.prose_block(180)
    arguments, _ = streams.code_block(176, True)
    parts = streams.ANALYSIS, reasoning, "<|end|><|start|>assistant" + streams.CALL, arguments, "<|call|>"
    ids = [tid for part in parts for tid in (streams.harmony_ids(part) if isinstance(part, str) else part)]
    return array("i", ids)


def each(name: str, work: Callable[[Any], Any], given: Any) -> Case:
    """One call, TIMES times."""
    return Case(name, lambda: work, [given] * TIMES, TIMES, 1)


def cases() -> Iterator[tuple[Case, float]]:
    """Each case with its floor, in microseconds."""
    ids = row()
    yield each(f"parse(int32 buffer): {len(ids)} tokens, a call", hs.parse, ids), 4
