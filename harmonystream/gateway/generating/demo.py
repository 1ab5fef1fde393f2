"""The model for a gateway without an engine: it plays a recorded conversation, whatever it is asked."""

from __future__ import annotations

from ...engines import Recorded, Sampling
from ...engines.base import Prompt
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


class Demo(Recorded):
    """Plays the generation that fits: the first turn after a user's message, and the next one after each tool
    result.
    """

    def __init__(self, delay: float = 0.02) -> None:
        super().__init__(delay=delay)

    def preferred(self, prompt: Prompt, sampling: Sampling) -> int:
        """The number of tool results since the user's last message. The beginning of an answer is not counted."""
        results = prompt.text.rpartition("<|start|>user")[2].count(" to=assistant")
        return min(results, len(self.turns) - 1)


def demo_model(delay: float = 0.02) -> Model:
    """delay: seconds before each token."""
    return Model(
        DEMO_NAME, Demo(delay), family="gpt-oss", context=131_072, tools=(_TOOL,), aliases=("gpt-oss", "recorded")
    )
