"""What is done once for each response, or for each row of a data set."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from functools import partial
from pathlib import Path
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


def definitions() -> list[dict[str, Any]]:
    """20 tools of four parameters each, new at each call, as a request brings them."""
    kinds = {"path": "string", "content": "string", "mode": "integer", "options": "object"}
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}}
    return [{"type": "function", "function": {"name": f"tool_{i}", "parameters": schema}} for i in range(20)]


def columns(ids: array[int], n: int = 2000) -> tuple[array[int], array[int]]:
    """n rows of these ids, as values and offsets."""
    return ids * n, array("i", range(0, len(ids) * n + 1, len(ids)))


def saved() -> Path:
    path = Path(tempfile.mkdtemp(), "o200k_harmony")
    atexit.register(shutil.rmtree, path.parent)
    hs.vocab.o200k_harmony().save(path)
    return path


def cases() -> Iterator[tuple[Case, float | None]]:
    """Each case with its floor, in microseconds."""
    ids, lists, tools = row(), definitions(), hs.Tools(*definitions())
    blob, (values, offsets) = hs.Parser(tools=tools).to_bytes(), columns(ids)
    rows, many = len(offsets) - 1, partial(hs.columns.parse_many, threads=1)
    for name, work, given, times, floor in (
        ("Parser(tools=Tools) with 20 tools", lambda it: hs.Parser(tools=it), tools, TIMES, 0.4),
        ("Parser(tools=[...]), a list of 20 that has been seen", lambda it: hs.Parser(tools=it), lists, TIMES, None),
        (
            "Parser.from_bytes(tools=Tools) with 20 tools",
            lambda it: hs.Parser.from_bytes(blob, tools=it),
            tools,
            TIMES,
            3,
        ),
        ("Vocab.load: 201,089 ids, mapped", hs.Vocab.load, saved(), 5, 5000),
        (f"parse(int32 buffer): {len(ids)} tokens, a call", hs.parse, ids, TIMES, 4),
    ):
        yield Case(name, lambda work=work: work, [given] * times, times, 1), floor
    yield Case("parse_many, one thread: each row of 376 tokens", lambda: many, [(values, offsets)], rows, 1), 3.5
