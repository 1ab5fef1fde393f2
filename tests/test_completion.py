"""Completions from events."""

from __future__ import annotations

import pytest
from reference_completion import collected

import harmonystream as hs
from harmonystream.completion import Collector

TEXT = '<think>Hm.</think>On it.<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call> Done.<|im_end|>'


@pytest.mark.parametrize("size", [1, 7, len(TEXT)])
def test_the_events_of_a_stream_are_what_parse_says_of_it(size):
    parser = hs.Parser("hermes")
    events = [event for at in range(0, len(TEXT), size) for event in parser.feed_text(TEXT[at : at + size])]
    assert collected([*events, *parser.finish("stop")], parser) == hs.parse(TEXT, "hermes", finish_reason="stop")


def test_a_collector_can_be_asked_before_the_end():
    collector = Collector()
    parser = hs.Parser("hermes")
    collector.add(parser.feed_text(TEXT[:40]))
    assert ("".join(collector.reasoning), "".join(collector.content), collector.calls) == ("Hm.", "On it.", [])
    collector.add(parser.feed_text(TEXT[40:]))
    assert collector.calls == [hs.ToolCall(0, "f", '{"a": 1}', None, "function", True, True)]
    assert collector.finish_reason is None


def test_arguments_as_a_dict():
    assert hs.parse(TEXT, "hermes").tool_calls[0].parsed_arguments == {"a": 1}
    assert hs.ToolCall(0, "f", "no", None, "function", True, False).parsed_arguments == {"raw": "no"}
