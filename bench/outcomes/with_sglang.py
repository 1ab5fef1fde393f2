"""SGLang reads outputs as its chat server calls its parsers, with and without streaming.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

import logging
from functools import partial
from importlib.metadata import version
from typing import Any

from sglang.srt.entrypoints.openai.protocol import Tool
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

from bench.rivals.output import Output
from bench.rivals.with_sglang import chained, note

from .families import FAMILIES
from .tokens import deltas, guarded

logging.disable(logging.CRITICAL)


def about() -> str:
    return version("sglang")


def read(name: str, tools: list[Any], outputs: list[list[Any]]) -> list[list[Any]]:
    """[streamed, whole] of each output, which is [text, whether the model thinks]."""
    declared = [Tool(**tool) for tool in tools]
    calls, reasoning = FAMILIES[name].parsers["SGLang"]

    def parsers(thinks: bool) -> tuple[Any, Any]:
        thought = reasoning and ReasoningParser(reasoning, True, thinks, tool_call_parser_active=True)
        return thought, FunctionCallParser(declared, calls)

    return [
        [guarded(partial(parsers, thinks), partial(way, name, text)) for way in (streamed, whole)]
        for text, thinks in outputs
    ]


def streamed(name: str, text: str, parsers: tuple[Any, Any]) -> tuple[Any, ...]:
    step, end = chained(*parsers)
    output = Output()
    results = [step(piece) for piece, _ in deltas(name, text)]
    for result in (*results, *end()):
        note(output, result)
    return output.parts()


def whole(name: str, text: str, parsers: tuple[Any, Any]) -> tuple[Any, ...]:
    thought, tools = parsers
    reasoning, rest = thought.parse_non_stream(text) if thought else ("", text)
    if not tools.has_tool_call(rest or ""):
        return reasoning, rest, []
    content, calls = tools.parse_non_stream(rest)
    return reasoning, content, [[call.name, call.parameters] for call in calls]
