"""When tools start, and which calls are not run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harmonystream import ToolCall
from harmonystream.agent.deadline import Deadline
from harmonystream.agent.runs import Repeats, ToolRuns
from harmonystream.tools import Tool, Tools


def called(index: int, name: str = "f", arguments: str = "{}") -> ToolCall:
    return ToolCall(index, name, arguments, f"call_{index}", "function", True, True)


def repeated(repeats: Repeats, text: str, result: str | None = "same", name: str = "f") -> bool:
    """Is this call refused? If it is not, it gives the result; None: it is still running."""
    call = called(0, name, text)
    refused = repeats.add(call)
    if not refused and result is not None:
        repeats.answered(call, result)
    return refused


@pytest.mark.parametrize(("limit", "refused"), [(0, [False, True, True]), (1, [False, False, True])])
@pytest.mark.parametrize("result", ["same", None])
def test_repeats_are_counted_by_name_and_values(limit, refused, result):
    repeats = Repeats(limit)
    texts = ['{"a": 1, "b": [2]}', '{"b":[2],"a":1}', '{ "a": 1, "b": [2] }']
    assert [repeated(repeats, text, result) for text in texts] == refused
    assert not repeated(repeats, texts[0], result, "g")
    assert not repeated(repeats, '{"a": 2, "b": [2]}', result)


def test_a_call_whose_result_changes_is_not_a_repeat():
    repeats = Repeats(1)
    assert not any(repeated(repeats, "{}", f"{n} %") for n in range(50))
    assert [repeated(repeats, "{}", "49 %") for _ in range(3)] == [False, True, True]


def test_arguments_that_are_no_json_are_compared_as_text():
    repeats = Repeats(0)
    assert [repeated(repeats, text) for text in ("{oops", "{oops", "{ oops", "[" * 10**5)] == [
        False,
        True,
        False,
        False,
    ]


def test_cancelling_gives_every_run_an_end():
    async def main() -> list[Any]:
        async def hang() -> None:
            await asyncio.Event().wait()

        tools = Tools(Tool("f", "", {"type": "object"}, hang))
        runs = ToolRuns(tools, tools, Repeats(9), 1)
        assert list(runs.take(called(0))) == []
        assert list(runs.take(called(1))) == []
        starts = list(runs.start_rest())
        assert list(runs.start_rest()) == []
        await asyncio.sleep(0.01)
        await runs.cancel()
        assert runs.news
        ends = list(runs.ended())
        assert await runs.next_ended(Deadline(None)) is None
        assert all(one.result.seconds >= 0.01 for one in ends)
        return [len(starts), *(one.result.error for one in ends)]

    assert asyncio.run(main()) == [2, "cancelled", "cancelled"]
