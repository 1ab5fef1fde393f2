"""A round's calls: the ids that they get, and which of them the conversation keeps."""

from __future__ import annotations

import asyncio

import harmonystream as hs
from harmonystream.agent.deadline import Deadline
from harmonystream.agent.generation import Generation
from harmonystream.agent.history import CallIds
from harmonystream.agent.round import Round
from harmonystream.agent.runs import Repeats, ToolRuns
from harmonystream.engines import Finished, Sampling
from harmonystream.formats import format_of
from harmonystream.tools import Tool, Tools


def test_calls_are_numbered_through_and_cut_ones_are_left_out():
    async def main() -> Round:
        tools = Tools(Tool("f", "", {"type": "object"}, lambda **given: given), "mine")
        parser = hs.Parser("hermes", tools=tools.schemas("chat"))
        prompt = hs.prompts.Prompt("", None, format_of("hermes"))
        generation = Generation(lambda: None, parser, prompt, Sampling(), Deadline(None))
        asked = [{"tool_calls": [{"id": str(number)} for number in range(5)]}]
        turn = Round(2, generation, ToolRuns(tools, tools, Repeats(2), 2), CallIds(asked))
        for text in ('<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', '<tool_call>{"name": "mine", '):
            turn.take(text)
        turn.take('"arguments": {}}</tool_call><tool_call>{"name": "f", "arguments": {"x"')
        turn.take(Finished("length"))
        ran = [type(event).__name__ async for event in turn.run_tools(Deadline(None))]
        assert ran == ["ToolRunStart", "ToolRunEnd"]
        return turn

    turn = asyncio.run(main())
    assert [call.id for call in turn.calls] == ["call_5", "call_6"]
    said, result = turn.messages
    assert [call["id"] for call in said["tool_calls"]] == ["call_5", "call_6"]
    assert (result["tool_call_id"], result["content"]) == ("call_5", '{"x": 1}')
    assert [call.id for call in turn.runs.handed_back] == ["call_6"]
