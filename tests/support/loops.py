"""Loops over scripted engines: how the tests run them, and what they keep of their events."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any, TypeVar

import harmonystream as hs
from harmonystream.agent import LoopEnd, RoundEnd, ToolRunEnd, ToolRunStart, agent_loop
from harmonystream.tools import Tools

USER = [{"role": "user", "content": "What is the weather?"}]
TEXT = {"format": "hermes", "template": "{{ messages | tojson }}{{ tools | tojson }}"}
"""Options of render() for a prompt that is text and easy to read."""

_E = TypeVar("_E")


async def events_of(engine: Any, tools: Tools | None = None, messages: Any = USER, **options: Any) -> list[Any]:
    options = TEXT | options
    async with aclosing(agent_loop(engine, messages, tools=tools, **options)) as events:
        return [event async for event in events]


def run(engine: Any, *args: Any, **options: Any) -> list[Any]:
    return asyncio.run(events_of(engine, *args, **options))


def of_kind(events: list[Any], kind: type[_E]) -> list[_E]:
    return [event for event in events if isinstance(event, kind)]


def end_of(events: list[Any]) -> LoopEnd:
    """The last event, after checking what is true of every loop's events."""
    end = events[-1]
    assert isinstance(end, LoopEnd)
    assert len(of_kind(events, LoopEnd)) == 1
    starts, ends = of_kind(events, ToolRunStart), of_kind(events, ToolRunEnd)
    assert {(one.round, one.call.index) for one in starts} <= {(one.round, one.call.index) for one in ends}
    assert len({(one.round, one.call.index) for one in ends}) == len(ends)
    rounds = of_kind(events, RoundEnd)
    assert [one.round for one in rounds] == list(range(1, end.rounds + 1))
    assert [message for one in rounds for message in one.messages] == list(end.messages)
    assert len(of_kind(events, hs.StreamEnd)) == len(rounds)
    return end


def shape(events: list[Any]) -> list[str]:
    """Events in short: their types, with the names of tools."""
    made = []
    for event in events:
        name = type(event).__name__
        made.append(f"{name} {event.call.name}" if isinstance(event, (ToolRunStart, ToolRunEnd)) else name)
    return made
