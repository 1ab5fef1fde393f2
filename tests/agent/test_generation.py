"""One generation: its items, its end, what it counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted import Scripted

import harmonystream as hs
from harmonystream.agent.deadline import Deadline
from harmonystream.agent.generation import Generation
from harmonystream.engines import Finished, Sampling
from harmonystream.formats import format_of

IDS = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]


async def read(script: list[Any], format: str = "harmony", max_tokens: int = 4096) -> tuple[Generation, list[Any]]:
    engine = Scripted(script)
    row = format_of(format)
    prompt = hs.prompts.Prompt("", [1, 2, 3], row, hs.Parser(format).stop_ids, tuple(row.stops))
    sampling = Sampling(max_tokens=max_tokens)
    generation = Generation(lambda: engine.generate(None, None), hs.Parser(format), prompt, sampling, Deadline(None))
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


@pytest.mark.parametrize("prompt", [9, None, "many"])
def test_what_an_engine_does_not_count_is_counted(prompt):
    generation, _ = asyncio.run(read([*IDS, Finished("stop", {"prompt_tokens": prompt, "kind": "x"})]))
    read_of_it = 9 if prompt == 9 else 3
    counted = {"prompt_tokens": read_of_it, "completion_tokens": 13, "total_tokens": read_of_it + 13}
    assert generation.usage == {**counted, "kind": "x"}


@pytest.mark.parametrize(
    ("script", "format", "count"), [(IDS, "harmony", 13), (["a", "bc"], "hermes", 2), ([], "hermes", 0)]
)
def test_tokens_are_counted_where_the_engine_does_not(script, format, count):
    generation, _ = asyncio.run(read(script, format))
    assert generation.usage == {"prompt_tokens": 3, "completion_tokens": count, "total_tokens": 3 + count}


MORE = [200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("end", [(), (Finished("stop", {"completion_tokens": 13}),), (Finished(),)])
def test_what_comes_after_a_stop_is_not_read(size, end):
    """Some engines do not know the stop tokens of a model."""
    ids = [*IDS, *MORE]
    items = [ids[at : at + size] for at in range(0, len(ids), size)]
    generation, events = asyncio.run(read([*items, *end]))
    assert (generation.content, generation.reason) == ("Hi!", "stop")
    parser = hs.Parser()
    assert events == [event for item in cut(items, 13) for event in parser.feed(item)] + list(parser.finish("stop"))


def cut(items: list[list[int]], most: int) -> list[list[int]]:
    made: list[list[int]] = []
    for item in items:
        made.append(item[: most - sum(map(len, made))])
    return [item for item in made if item]


def test_in_text_too_where_markers_always_count():
    text = "<|channel|>final<|message|>Hi!<|ret"
    for rest in (["urn|>", "more"], ["urn|>more<|start|>assistant"]):
        generation, _ = asyncio.run(read([text, *rest, Finished()]))
        assert (generation.content, generation.reason) == ("Hi!", "stop")
    generation, _ = asyncio.run(read(["It ends with <|im_end|>", ", you see."], "hermes"))
    assert generation.content == "It ends with <|im_end|>, you see."


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("most", [1, 4, 11])
def test_an_engine_that_ignores_the_limit_is_held_to_it(size, most):
    items = [IDS[at : at + size] for at in range(0, len(IDS), size)]
    generation, _ = asyncio.run(read([*items, Finished("stop")], max_tokens=most))
    assert (generation.parser.usage.total, generation.reason) == (most, "length")


@pytest.mark.parametrize(("piece", "times"), [("a", 4 * 16), ("a" * 40, 4), ("a" * 16, 4), ("a" * 8, 8)])
def test_of_text_the_limit_is_a_loose_one(piece, times):
    generation, _ = asyncio.run(read([piece] * 100, "hermes", max_tokens=4))
    assert (generation.content, generation.reason) == (piece * times, "length")
