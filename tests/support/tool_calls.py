"""Calls of tools, and their results."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import harmonystream as hs


def call(name: str, arguments: object = "{}", id: str = "call_1") -> dict[str, Any]:
    """A call as the Chat Completions API has it."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def run(tools: hs.Tools, *calls: object, **options: Any) -> list[Any]:
    """The results of calls, from an event loop that has no other task before or after."""

    async def main() -> list[Any]:
        results = await tools.run_all(calls, **options)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return results

    return asyncio.run(main())


def error_text(result: Any) -> str:
    """The message of an error, which has one form."""
    said = json.loads(result.text)
    assert list(said) == ["error", "kind"]
    assert said["kind"] == result.error
    return said["error"]
