"""Engines that play a script: items, exceptions, and waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from harmonystream.engines import Finished


class Scripted:
    """An engine with a script for each generation; the last one is repeated.

    A script's items are yielded. An exception among them is raised, a float is slept, and a function is called and
    awaited. `prompts` and `samplings` are what it was asked; `closed` counts the generations whose cleanup has run.
    """

    def __init__(self, *scripts: list[Any]) -> None:
        self.scripts = scripts
        self.prompts: list[Any] = []
        self.samplings: list[Any] = []
        self.closed = 0

    async def generate(self, prompt: Any, sampling: Any) -> AsyncIterator[Any]:
        script = self.scripts[min(len(self.prompts), len(self.scripts) - 1)]
        self.prompts.append(prompt)
        self.samplings.append(sampling)
        try:
            for item in script:
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, float):
                    await asyncio.sleep(item)
                elif callable(item):
                    await item()
                else:
                    yield item
        finally:
            self.closed += 1


def call(name: str, arguments: str = "{}") -> str:
    """A call in the Hermes format."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>\n'


STOP = Finished("stop", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})


def gate() -> tuple[Callable[[], Awaitable[None]], asyncio.Event]:
    """A step of a script that waits for the event."""
    event = asyncio.Event()

    async def wait() -> None:
        await event.wait()

    return wait, event
