"""SGLang reads outputs as its chat server calls its parsers, with and without streaming.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import Any

from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

from bench.rivals.with_sglang import chained

from .families import FAMILIES
from .tokens import deltas, message, patience

logging.disable(logging.CRITICAL)


def about() -> str:
    return version("sglang")


def read(name: str, tools: list[Any], outputs: list[list[Any]]) -> list[list[Any]]:
    """[streamed, whole] of each output, which is [text, whether the model thinks]."""
    declared = [Tool(**tool) for tool in tools]
    return [[guarded(way, name, declared, *output) for way in (streamed, whole)] for output in outputs]


def guarded(way: Any, name: str, tools: list[Any], text: str, thinks: bool) -> list[Any]:
    try:
        calls, reasoning = FAMILIES[name].parsers["SGLang"]
        thought = reasoning and ReasoningParser(reasoning, True, thinks, tool_call_parser_active=True)
        with patience():
            made: list[Any] = way(name, thought, FunctionCallParser(tools, calls), text)
            return made
    except Exception as error:
        return message("", "", [], f"{type(error).__name__}: {error}".splitlines()[0][:200])


def streamed(name: str, thought: Any, tools: Any, text: str) -> list[Any]:
    step, end = chained(thought, tools)
    reasoning, content, calls = "", "", dict[int, list[str]]()
    results = [step(piece) for piece, _ in deltas(name, text)]
    for thoughts, answer, made in (*results, *end()):
        reasoning += thoughts or ""
        content += answer or ""
        for call in made:
            one = calls.setdefault(call.tool_index, ["", ""])
            one[0] += call.name or ""
            one[1] += call.parameters or ""
    return message(reasoning, content, [calls[index] for index in sorted(calls)])


def whole(name: str, thought: Any, tools: Any, text: str) -> list[Any]:
    reasoning, rest = thought.parse_non_stream(text) if thought else ("", text)
    if not tools.has_tool_call(rest or ""):
        return message(reasoning, rest, [])
    content, calls = tools.parse_non_stream(rest)
    return message(reasoning, content, [[call.name, call.parameters] for call in calls])
