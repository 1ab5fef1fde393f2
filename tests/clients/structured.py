"""Serves what clients of structured output ask for: one forecast or several, as a call or as JSON.

Its argument is the port. The engine is a recording, so nothing constrains it: its answers have the form that the
clients ask for.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import harmonystream as hs
from harmonystream.engines import Recorded, Sampling
from harmonystream.gateway import Model, app
from harmonystream.gateway.operating.server import serve

ONE = {"city": "成都", "day": "tomorrow", "hourly": False}
TWO = {"tasks": [ONE, {"city": "Rome", "day": "today", "hourly": True}]}
VOCAB = hs.vocab.o200k_harmony()


def turn(thought: str, said: str) -> dict[str, Any]:
    text = f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>{said}"
    return {"ids": VOCAB.encode(text, control=True)}


def call(value: Any) -> str:
    arguments = json.dumps(value, ensure_ascii=False)
    return f"commentary to=functions.get_forecast <|constrain|>json<|message|>{arguments}<|call|>"


def answer(value: Any) -> str:
    return f"final<|message|>{json.dumps(value, ensure_ascii=False)}<|return|>"


class Forecasts(Recorded):
    """Four generations; which one is played follows from the prompt, and from the form that the answer must have."""

    def __init__(self) -> None:
        super().__init__(
            [
                turn("A call for one.", call(ONE)),
                turn("A call for two.", call(TWO)),
                turn("JSON.", answer(ONE)),
                turn("JSON.", answer(TWO)),
            ]
        )

    def preferred(self, prompt: Any, sampling: Sampling) -> int:
        several = "tasks" in prompt.text or "tasks" in json.dumps(dict(sampling.extra))
        return 2 * ("namespace functions" not in prompt.text) + several

    def form_fields(self, form: Any) -> dict[str, Any]:
        return {"response_format": form}


if __name__ == "__main__":
    serve(app([Model("recorded", Forecasts(), family="gpt-oss")]), "127.0.0.1", int(sys.argv[1]))
