"""Grammars of 20 tools: of new tools and each of its texts, another one of the same tools, and one that is found again.

The times of xgrammar with them, beside its own tags, are in tests/engines/real/built_in_tags.py: xgrammar needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from operator import methodcaller
from typing import Any

import harmonystream as hs
from bench.clock import now
from bench.report import Row, figure
from harmonystream import grammars
from harmonystream.tools import Tools

FORMATS = {"harmony": "Harmony", "kimi_k2": "Kimi K2, JSON in tags", "glm": "GLM-4.5, keys and values in tags"}
MOST_NEW, MOST_AGAIN = 300, 2  # µs
TEXTS = {"structural_tag": "structural tag", "lark": "Lark", "gbnf": "GBNF"}
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
    return least_of(lambda: None, lambda _: work(), rounds)


def least_of(prepare: Callable[[], Any], work: Callable[[Any], object], rounds: int) -> float:
    """The least time of the work, in µs. What it needs is prepared before."""
    times = []
    for _ in range(rounds):
        made = prepare()
        started = now()
        work(made)
        times.append(now() - started)
    return min(times) / 1e3


def measured(rounds: int) -> Iterator[Row]:
    tools = [tool(number) for number in range(20)]
    known, numbers = Tools(*tools), count()

    def forgotten(format: str) -> str:
        grammars.forget()
        return format

    def made_of(format: str) -> hs.grammars.Grammar:
        return hs.grammar(format, tools, choice="required")

    def new(format: str) -> hs.grammars.Grammar:
        return made_of(forgotten(format))

    def another(format: str) -> str:
        return hs.grammar(format, tools, choice="required", answer={"const": next(numbers)}).structural_tag()

    def again(format: str) -> None:
        for _ in range(MANY):
            hs.grammar(format, known, choice="required").structural_tag()

    for format, name in FORMATS.items():
        taken = least_of(partial(forgotten, format), made_of, rounds)
        yield figure(f"A grammar of 20 new tools, {name}", taken, "µs", at_most=MOST_NEW)
        for text, language in TEXTS.items():
            taken = least_of(partial(new, format), methodcaller(text), rounds)
            yield figure(f"Its {language}, {name}", taken, "µs")
        yield figure(f"A structural tag of 20 tools, {name}: another", least(partial(another, format), rounds), "µs")
        again(format)
        found = least(partial(again, format), rounds) / MANY
        yield figure(f"A structural tag of 20 tools, {name}: found again", found, "µs", at_most=MOST_AGAIN)
