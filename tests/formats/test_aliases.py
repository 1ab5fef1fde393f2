"""The names that vLLM and SGLang have for their parsers."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.formats.aliases import ALIASES


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_an_alias_is_a_row_s_other_name(alias, name):
    assert alias not in hs.formats()
    assert name in hs.formats()
    assert format_of(alias) is format_of(name)


def test_a_parser_takes_it_and_says_the_row():
    parser = hs.Parser("qwen3_xml", tools=["f"])
    assert parser.format == "qwen3_coder"
    parser.feed_text("<tool_call>\n<function=f>\n</function>")
    assert hs.Parser.from_bytes(parser.to_bytes(), tools=["f"]).finish("stop")[-1].reason == "tool_calls"
    assert hs.parse("<think>Hm</think>Hi", "deepseek_r1").reasoning == "Hm"
