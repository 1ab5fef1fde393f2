"""What every script here says: a line of JSON per client and API, of a conversation with examples/fastapi_server.py.

The recorded model thinks, says that it will look, calls get_forecast, and, given a result, answers.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

URL = sys.argv[1] if len(sys.argv) > 1 else ""
QUESTION = "Should I take an umbrella tomorrow?"
RESULT = '{"morning": "drizzle"}'
ARGUMENTS = {"city": "成都", "day": "tomorrow", "hourly": False}
ANSWER = "要带伞 🌂"
THOUGHT = "80 % chance of rain"  # of the second turn

called: list[Any] = []


def get_forecast(city: str, day: str, hourly: bool) -> str:
    """The forecast of a day.

    Args:
        city: its name
        day: today or tomorrow
        hourly: hour by hour
    """
    called.append({"city": city, "day": day, "hourly": hourly})
    return RESULT


def report(client: str, api: str, package: str, converse: Callable[[], tuple[str, str | None]]) -> None:
    """Runs a conversation, which gives the answer and the reasoning that the client shows; None: it shows none."""
    called.clear()
    row = {"client": client, "version": version(package), "api": api, "call": False, "answer": False, "note": ""}
    try:
        answer, reasoning = converse()
        row["call"], row["answer"] = called == [ARGUMENTS], ANSWER in answer
        row["reasoning"] = None if reasoning is None else THOUGHT in reasoning
    except Exception as error:  # a row of the table, and the whole of it for whoever looks
        traceback.print_exc()
        row["note"] = f"{type(error).__name__}: {error}"[:120]
    print(json.dumps(row, ensure_ascii=False), flush=True)
