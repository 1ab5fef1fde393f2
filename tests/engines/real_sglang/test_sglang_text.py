"""The parsers of text, which SGLang's routes for text ask, and which say where reasoning ends."""

from __future__ import annotations

import pytest

pytest.importorskip("sglang")

from host_scenarios import FORMATS, TOOLS
from wire_scenarios import SCENARIOS, write

CALLING = "preamble and three calls"
THINKING = "reasoning and content"


@pytest.fixture(scope="module", autouse=True)
def loaded(server):
    server("qwen3")


def function_parser(format):
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser

    return FunctionCallParser([Tool(**tool) for tool in TOOLS], f"harmonystream_{format}")


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "harmony"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_calls_in_text(format, size):
    text = write(format, SCENARIOS[CALLING])
    normal, calls = function_parser(format).parse_non_stream(text)
    assert [call.name for call in calls] == ["f", "g", "f"] or len(calls) == 3
    parser = function_parser(format)
    content, arguments = "", {}
    for at in range(0, len(text), size):
        more, items = parser.parse_stream_chunk(text[at : at + size])
        content += more
        for item in items:
            arguments[item.tool_index] = arguments.get(item.tool_index, "") + item.parameters
    more, items = parser.parse_stream_end()
    assert (content + more, list(arguments.values())) == (normal, [call.parameters for call in calls])
    assert function_parser(format).has_tool_call(text) and not function_parser(format).has_tool_call("Hi.")


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_reasoning_in_text(forced, size):
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    text = "<think>\nHm.\n</think>\n\n<tool_call>\n{}"
    for given in (text, text.removeprefix("<think>\n")) if forced else (text,):
        whole = ReasoningParser("harmonystream_hermes", force_reasoning=forced).parse_non_stream(given)
        parser = ReasoningParser("harmonystream_hermes", force_reasoning=forced)
        pieces = [parser.parse_stream_chunk(given[at : at + size]) for at in range(0, len(given), size)]
        pieces.append(parser.parse_stream_end())
        said = tuple("".join(piece[at] for piece in pieces) for at in (0, 1))
        assert whole == said == ("Hm.", "<tool_call>\n{}")


def test_a_grammar_waits_for_the_end_of_reasoning(server):
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    host = server("qwen3")
    made = host.manager.tokenizer
    detector = ReasoningParser("harmonystream", tokenizer=made).detector
    assert detector.get_think_end_token_ids(made) == made.encode("</think>", add_special_tokens=False)
    assert (detector.think_start_token, detector.think_end_token) == ("<think>", "</think>")


def test_a_name_without_a_model_needs_a_format():
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    with pytest.raises(ValueError, match="without a model, name the format"):
        ReasoningParser("harmonystream")
