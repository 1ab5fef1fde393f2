"""SGLang's parsers at work, as its chat server calls them: `ReasoningParser`, whose text goes to `FunctionCallParser`.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

from bench.clock import now
from bench.families import OF_FORMAT, TOOL
from bench.rivals.output import Output, served


class Reader:
    """Reads one stream, again and again. Its parsers take text."""

    def __init__(self, stream: dict[str, Any]) -> None:
        self._names = OF_FORMAT[stream["format"]].parsers["SGLang"]
        self._texts = stream["texts"]
        self._thinking = bool(stream["expected"]["reasoning"])

    def _parsers(self) -> tuple[Any, Any]:
        tools, reasoning = self._names
        return (
            reasoning and ReasoningParser(reasoning, True, self._thinking, tool_call_parser_active=tools is not None),
            tools and FunctionCallParser([Tool(**TOOL)], tools),
        )

    def read(self) -> float:
        """Nanoseconds per token."""
        step, end = chained(*self._parsers())
        started = now()
        for text in self._texts:
            step(text)
        end()
        return (now() - started) / len(self._texts)

    def check(self) -> tuple[Output, float]:
        """The same, noting the output."""
        step, end = chained(*self._parsers())
        output = Output()
        started = now()
        for text in self._texts:
            note(output, step(text))
        for result in end():
            note(output, result)
        return output, (now() - started) / len(self._texts)


def note(output: Output, result: tuple[str | None, str, Sequence[Any]]) -> None:
    reasoning, content, calls = result
    output.text(reasoning, content)
    for call in calls:
        output.call(call.tool_index, call.name, call.parameters)


def chained(reasoning: Any, tools: Any) -> tuple[Callable[[str], Any], Callable[[], list[Any]]]:
    """A step for each text, and one for the end. Only what a model is served with is called."""
    if reasoning is None:
        read_tools = tools.parse_stream_chunk

        def only_tools(text: str) -> Any:
            return None, *read_tools(text)

        return only_tools, lambda: [(None, *tools.parse_stream_end())]
    think = reasoning.parse_stream_chunk
    if tools is None:

        def only_reasoning(text: str) -> Any:
            return *think(text), ()

        return only_reasoning, lambda: [(*reasoning.parse_stream_end(), ())]
    read = tools.parse_stream_chunk

    def both(text: str) -> Any:
        thought, rest = think(text)
        return thought, *read(rest)

    def end() -> list[Any]:
        thought, rest = reasoning.parse_stream_end()
        return [(thought, *read(rest)), (None, *tools.parse_stream_end())]

    return both, end


about, load, again = served("SGLang", version("sglang"), Reader)
