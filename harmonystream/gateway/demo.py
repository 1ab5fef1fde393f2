"""The model that is served where there is no engine: a recorded conversation, whatever it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from ..engines import Output, Recorded, Sampling
from .model import Model

__all__ = ["DEMO_NAME", "Demo", "demo_model"]

DEMO_NAME = "gpt-oss-demo"
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_forecast",
        "description": "The weather forecast of a place for a day.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "day": {"type": "string"}}},
    },
}


class Demo:
    """Plays the generation that fits: the first turn to a user, the next one after each result of a tool."""

    def __init__(self, delay: float = 0.02) -> None:
        self._turns = [Recorded([turn], delay=delay) for turn in Recorded().turns]

    async def generate(self, prompt: Any, sampling: Sampling) -> AsyncIterator[Output]:
        results = prompt.text.rpartition("<|start|>user")[2].count(" to=assistant")
        turn = self._turns[min(results, len(self._turns) - 1)]
        async with aclosing(turn.generate(prompt, sampling)) as items:
            async for item in items:
                yield item


def demo_model(delay: float = 0.02) -> Model:
    """delay: seconds before each token."""
    return Model(
        DEMO_NAME, Demo(delay), family="gpt-oss", context=131_072, tools=(_TOOL,), aliases=("gpt-oss", "recorded")
    )
