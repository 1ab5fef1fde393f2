"""Adds our metrics to the engine's own /metrics, with prometheus_client, which vLLM and SGLang have."""

from __future__ import annotations

from functools import cache
from typing import Any

from .._native.stream.parser import Parser

__all__ = ["count_error", "count_repairs", "count_stream"]


def count_stream(path: str) -> None:
    """Count a stream that begins. path: "direct", "frames", "names" (our parsers, the engine's frames) or "stock"."""
    _add("streams", path)


def count_error(feature: str) -> None:
    """Count an error of ours. The engine went on without us, or a stream has ended."""
    _add("errors", feature)


def count_repairs(parser: Parser) -> None:
    """Count the repairs of an output that has ended."""
    for deviation in parser.deviations:
        _add("repairs", deviation.code)


_COUNTERS = {
    "streams": ("Streams by who wrote their frames.", "path"),
    "errors": ("Errors of harmonystream, by the feature that had them.", "feature"),
    "repairs": ("Deviations that were repaired in outputs, by their code.", "code"),
}


def _add(name: str, label: str) -> None:
    counter = _counter(name)
    if counter is not None:
        counter.labels(label).inc()


@cache
def _counter(name: str) -> Any:
    """The counter. None without prometheus_client: then nothing is counted."""
    try:
        from prometheus_client import Counter
    except ImportError:
        return None
    text, label = _COUNTERS[name]
    return Counter(f"harmonystream_{name}", text, [label])
