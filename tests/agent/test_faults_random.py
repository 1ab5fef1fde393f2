"""Loops with random options, engines and tools, left at random moments: whatever happens, nothing is left behind."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import Any

import pytest
from loops import TEXT, USER, end_of
from scripted import Scripted, call
from test_faults import Leaks, other_tasks

from harmonystream.agent import agent_loop
from harmonystream.engines import EngineError, Finished
from harmonystream.tools import Context, Tool, Tools

FORM = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PIECES = [
    "Hi ",
    '{"n": ',
    "1}",
    "<think>",
    "</think>",
    "<tool_call>",
    call("quick"),
    call("slow"),
    call("mine"),
    "x" * 50,
]


def engine(chance: random.Random) -> Scripted:
    def script() -> list[Any]:
        items: list[Any] = []
        for _ in range(chance.randint(0, 6)):
            items.append(chance.choice(PIECES) if chance.random() < 0.7 else 0.0)
        last = chance.choice([None, Finished("stop"), Finished("length"), EngineError("gone"), ValueError("x"), 5])
        return [*items, *(() if last is None else (last,))]

    made = Scripted(*(script() for _ in range(chance.randint(1, 4))))
    if chance.random() < 0.5:
        made.form_fields = lambda form: {"form": form}  # type: ignore[attr-defined]
    return made


def tools(chance: random.Random, running: list[int]) -> Any:
    async def slow(context: Context[Any], **given: Any) -> str:
        running.append(1)
        try:
            for _ in range(chance.randint(0, 5)):
                await asyncio.sleep(0)
            if chance.random() < 0.2:
                raise chance.choice([ValueError("x"), KeyboardInterrupt(), asyncio.CancelledError(), SystemExit()])
        finally:
            running.pop()
        return chance.choice(["same", str(chance.random())])

    def quick(**given: Any) -> int:
        return 1

    loose = {"type": "object"}
    options = {"early": chance.random() < 0.5, "stealth": chance.random() < 0.1}
    mine = [Tool("slow", "", loose, slow, **options), Tool("quick", "", loose, quick, early=True), "mine"]
    return chance.choice([None, mine, Tools(*mine[: chance.randint(0, 3)])])


def options(chance: random.Random) -> dict[str, Any]:
    return {
        "tool_choice": chance.choice(["auto", "auto", "none", "required", "slow"]),
        "answer": chance.choice([None, FORM]),
        "max_rounds": chance.randint(0, 3),
        "max_repeats": chance.randint(0, 2),
        "max_tokens": chance.choice([None, 1, 20]),
        "timeout": chance.choice([None, None, 0.01]),
        "sampling": {"max_tokens": chance.choice([1, 5, 100])},
        "system": chance.choice([None, "Be brief."]),
        "context": 1,
    }


async def leave(seed: int) -> None:
    chance = random.Random(seed)
    running: list[int] = []
    made, events = engine(chance), []
    steps = chance.choice([None, chance.randint(0, 60)])
    most = chance.choice([None, chance.randint(1, 12)])

    async def consume() -> None:
        given = options(chance)
        async with aclosing(agent_loop(made, USER, tools=tools(chance, running), **given, **TEXT)) as source:
            async for event in source:
                events.append(event)
                if chance.random() < 0.2:
                    await asyncio.sleep(0)
                if len(events) == most:
                    return
        if events:
            end_of(events)

    task = asyncio.create_task(consume())
    if steps is not None:
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        assert steps is not None
    except ValueError as error:
        assert "tool_choice" in str(error)  # a tool that is not there
    for _ in range(400):
        if not other_tasks():
            break
        await asyncio.sleep(0.005)
    assert not other_tasks()
    assert not running
    assert made.closed == len(made.prompts)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_a_loop_leaves_nothing_wherever_it_is_left(first):
    leaks = Leaks()
    for seed in range(first, first + 50):
        asyncio.run(leave(seed))
    leaks.check()
