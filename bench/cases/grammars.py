"""Grammars of 20 tools: of new tools, another one of the same tools, and one that is found again.

The times of xgrammar with them, beside its own tags, are in tests/engines/real/built_in_tags.py: xgrammar needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import harmonystream as hs
from bench.clock import now
from bench.report import Row, figure
from harmonystream import grammars
from harmonystream.tools import Tools

FORMATS = {"harmony": "Harmony", "kimi_k2": "Kimi K2, JSON in tags", "glm": "GLM-4.5, keys and values in tags"}
MOST_AGAIN = 2  # µs
MANY = 1000


def tool(number: int) -> dict[str, Any]:
    properties = {
        f"city_{number}": {"type": "string", "description": f"City {number}"},
        f"days_{number}": {"type": "integer"},
        "unit": {"enum": ["c", "f"]},
        "more": {"type": "array", "items": {"type": "string"}},
    }
    required = [f"city_{number}"]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": f"tool_{number}", "strict": True, "parameters": schema}}


def least(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = now()
        work()
        times.append(now() - started)
    return min(times) / 1e3


def measured(rounds: int) -> Iterator[Row]:
    tools = [tool(number) for number in range(20)]
    known, numbers = Tools(*tools), count()

    def first(format: str) -> str:
        grammars.forget()
        return hs.grammar(format, tools, choice="required").structural_tag()

    def another(format: str) -> str:
        return hs.grammar(format, tools, choice="required", answer={"const": next(numbers)}).structural_tag()

    def again(format: str) -> None:
        for _ in range(MANY):
            hs.grammar(format, known, choice="required").structural_tag()

    for format, name in FORMATS.items():
        yield figure(f"A structural tag of 20 tools, {name}: first", least(partial(first, format), rounds), "µs")
        yield figure(f"A structural tag of 20 tools, {name}: another", least(partial(another, format), rounds), "µs")
        again(format)
        found = least(partial(again, format), rounds) / MANY
        yield figure(f"A structural tag of 20 tools, {name}: found again", found, "µs", at_most=MOST_AGAIN)
