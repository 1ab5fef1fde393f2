"""One generation: its items, its end, what it counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted import Scripted

import harmonystream as hs
from harmonystream.agent.deadline import Deadline
from harmonystream.agent.generation import Generation
from harmonystream.engines import Finished

IDS = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]


async def read(script: list[Any], format: str = "harmony") -> tuple[Generation, list[Any]]:
    engine = Scripted(script)
    generation = Generation(lambda: engine.generate(None, None), hs.Parser(format), 3, Deadline(None))
    events: list[Any] = []
    with generation:
        async for item in generation.items():
            events += generation.take(item)
    if not generation.ended:
        events += generation.finish()
    await generation.close()
    await generation.close()  # once more does nothing
    assert engine.closed == 1
    return generation, events


@pytest.mark.parametrize("size", [1, 3, 100])
def test_events_and_texts_are_the_parser_s(size):
    items = [IDS[at : at + size] for at in range(0, len(IDS), size)]
    generation, events = asyncio.run(read([*items, Finished("stop")]))
    parser = hs.Parser()
    expected = [event for item in items for event in parser.feed(item)] + list(parser.finish("stop"))
    assert events == expected
    assert (generation.reasoning, generation.content, generation.reason) == ("Hello", "Hi!", "stop")


def test_without_an_end_the_reason_is_the_parser_s():
    generation, _ = asyncio.run(read(IDS))
    assert generation.reason == hs.parse(IDS).finish_reason
    assert generation.failure is None


@pytest.mark.parametrize(
    ("script", "format", "count"), [(IDS, "harmony", 13), (["a", "bc"], "hermes", 2), ([], "hermes", 0)]
)
def test_tokens_are_counted_where_the_engine_does_not(script, format, count):
    generation, _ = asyncio.run(read(script, format))
    assert generation.usage == {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": 3 + count}
