"""Where in a stream a grammar holds, and the example that constrains arguments alone."""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path

import jsonschema_rs
import pytest
from grammar_walks import vocab_of

import harmonystream as hs
from harmonystream.regions import GrammarAt, Region

HERMES = (
    '<think>a</think>Hi <tool_call>\n{"name": "g", "arguments": {"a": 1}}\n</tool_call>\n'
    "<tool_call>\n<function=f>\n<parameter=a>\n3\n</parameter>\n</function>\n</tool_call>"
)
HARMONY = (
    "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary to=functions.f "
    '<|constrain|>json<|message|>{"a": 1}<|call|>'
)


def places(text: str, format: str) -> list[GrammarAt]:
    """Those of a stream that is read byte by byte, each once."""
    parser = hs.Parser(format, tools=["f", "g"]) if format == "hermes" else hs.Parser(format, vocab_of(format)[0])
    found: list[GrammarAt] = []
    for byte in text.encode():
        parser.feed_text(bytes([byte]))
        if not found or parser.grammar_at() is not found[-1]:
            found.append(parser.grammar_at())
    return found


def test_the_tools_whose_arguments_come() -> None:
    for format, text, tools in (("hermes", HERMES, ["g", "f"]), ("harmony", HARMONY, ["f"])):
        found = places(text, format)
        assert [one.tool for one in found if one.region is Region.ARGUMENTS] == tools
        assert all(one.tool is None for one in found if one.region is not Region.ARGUMENTS)
        assert Region.REASONING in [one.region for one in found]


def test_one_object_while_nothing_changes() -> None:
    parser = hs.Parser("hermes")
    assert parser.grammar_at() == (parser.region, None)
    for _ in range(3):
        parser.feed_text("some text ")
        assert parser.grammar_at() is parser.grammar_at()
    parser.reset()
    parser.feed_text("<think>a")
    assert parser.grammar_at() == (Region.REASONING, None)
    copy = parser.fork()
    assert copy.grammar_at() == parser.grammar_at()


@pytest.mark.parametrize("seed", range(3))
def test_the_example(seed: int) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "constrained_arguments.py"))
    random.seed(seed)
    (call,) = example["answer"]().tool_calls
    assert call.complete
    assert jsonschema_rs.is_valid(example["SCHEMA"], json.loads(call.arguments))
