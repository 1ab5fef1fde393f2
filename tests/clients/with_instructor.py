"""instructor: a validated model, one that grows while it is streamed, and several of them, in each mode."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import anthropic
import instructor
import openai
from instructor import Mode
from pydantic import BaseModel
from report import QUESTION, URL

OPENAI = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
ANTHROPIC = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)


class Forecast(BaseModel):
    city: str
    day: str
    hourly: bool


ONE = Forecast(city="成都", day="tomorrow", hourly=False)
TWO = [ONE, Forecast(city="Rome", day="today", hourly=True)]


def one(client: Any, asked: dict[str, Any]) -> bool:
    made = client.create(response_model=Forecast, **asked)
    return isinstance(made, Forecast) and made.model_dump() == ONE.model_dump()


def partial(client: Any, asked: dict[str, Any]) -> bool:
    """Does it grow, and end as it should?"""
    seen = [made.model_dump() for made in client.create_partial(response_model=Forecast, **asked)]
    return any(made["city"] and made["hourly"] is None for made in seen) and seen[-1] == ONE.model_dump()


def several(client: Any, asked: dict[str, Any]) -> bool:
    return list(client.create_iterable(response_model=Forecast, **asked)) == TWO


CHECKS: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "create": one,
    "create_partial": partial,
    "create_iterable": several,
}


def report(api: str, mode: Mode, client: Any, **more: Any) -> None:
    """A line of JSON: which checks hold."""
    row = {"client": "instructor", "version": version("instructor"), "api": api, "mode": mode.name, "note": ""}
    asked = {"model": "recorded", "messages": [{"role": "user", "content": QUESTION}], "max_retries": 0, **more}
    for name, holds in CHECKS.items():
        try:
            row[name] = holds(client, asked)
        except Exception as error:  # a cell of the table, and the whole of it for whoever looks
            traceback.print_exc()
            row[name] = False
            row["note"] = row["note"] or f"{name}: {type(error).__name__}: {error}"[:120]
    print(json.dumps(row, ensure_ascii=False), flush=True)


for mode in (Mode.TOOLS, Mode.TOOLS_STRICT, Mode.JSON, Mode.JSON_SCHEMA, Mode.MD_JSON):
    report("Chat Completions", mode, instructor.from_openai(OPENAI, mode=mode))
report("Responses", Mode.RESPONSES_TOOLS, instructor.from_openai(OPENAI, mode=Mode.RESPONSES_TOOLS))
for mode in (Mode.ANTHROPIC_TOOLS, Mode.ANTHROPIC_JSON):
    report("Messages", mode, instructor.from_anthropic(ANTHROPIC, mode=mode), max_tokens=999)
