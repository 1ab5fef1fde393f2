"""Whatever a grammar lets through is read as complete calls of declared tools, whose arguments fit their schemas."""

from __future__ import annotations

import random
from typing import Any

import pytest
from grammar_walks import faults, walk

import harmonystream as hs

FORMATS = [name for name in hs.formats.names() if name not in ("think", "kimi_vl")]  # these call no tools
WALKS = 3
MOST = 12  # walks that are begun: some do not end in time


def tool(name: str, properties: dict[str, Any], required: list[str], strict: bool = True) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "strict": strict, "parameters": schema}}


SCALARS: dict[str, Any] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "enum": {"enum": ["dim", "full", "x y"]},
}
INNER: dict[str, Any] = {
    "list": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
}


def tools_of(dice: random.Random) -> list[dict[str, Any]]:
    """Some random tools, the last one of which takes any object."""
    made = []
    for number in range(dice.randint(1, 3)):
        kinds = dice.sample(sorted(SCALARS), dice.randint(0, 3)) + dice.sample(sorted(INNER), dice.randint(0, 1))
        dice.shuffle(kinds)
        names = {f"{kind}_{number}": (SCALARS | INNER)[kind] for kind in kinds}
        made.append(tool(f"tool_{number}", names, [name for name in names if dice.random() < 0.6]))
    return [*made, tool("free", {"text": {"type": "string"}}, [], strict=False)]


@pytest.mark.parametrize("choice", ["required", "auto", "none"])
@pytest.mark.parametrize("format", FORMATS)
def test_random_walks(format: str, choice: str) -> None:
    ended = 0
    for seed in range(MOST):
        if ended == WALKS:
            break
        dice = random.Random(f"{format} {choice} {seed}")
        tools = tools_of(dice)
        order: Any = dice.choice(["any", "declared"])
        grammar = hs.grammar(format, tools, choice=choice, parallel=dice.random() < 0.7, order=order)
        text = walk(grammar.lark(), format, dice)
        if text is not None:
            ended += 1
            assert faults(format, text, tools, choice) == [], text
    assert ended
