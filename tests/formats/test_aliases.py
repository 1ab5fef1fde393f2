"""The names that vLLM, SGLang and Ollama have for their parsers."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.formats.aliases import ALIASES


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_an_alias_is_a_row_s_other_name(alias, name):
    assert alias not in hs.formats.names()
    assert name in hs.formats.names()
    assert format_of(alias) is format_of(name)


def test_a_parser_takes_it_and_says_the_row():
    parser = hs.Parser("qwen3_xml", tools=["f"])
    assert parser.format == "qwen3_coder"
    parser.feed_text("<tool_call>\n<function=f>\n</function>")
    assert hs.Parser.from_bytes(parser.to_bytes(), tools=["f"]).finish("stop")[-1].reason == "tool_calls"
    assert hs.parse("<think>Hm</think>Hi", "deepseek_r1").reasoning == "Hm"


OLLAMA = {
    "hermes": "qwen3 qwen3-thinking qwen3-vl-instruct qwen3-vl-thinking",
    "qwen3_coder": "qwen3-coder qwen3.5 ornith nemotron-3-nano",
    "mistral": "ministral",
    "harmony": "harmony",
    "deepseek": "cogito deepseek3",
    "olmo3": "olmo3 olmo3-think",
    "functiongemma": "functiongemma",
    "glm": "glm-4.7 glm-ocr",
    "gemma4": "gemma4 gemma4-no-thinking",
    "lfm2": "lfm2 lfm2-thinking",
    "poolside_v1": "laguna poolside-v1",
    "cohere": "cohere",
}


@pytest.mark.parametrize(("name", "row"), [(name, row) for row, names in OLLAMA.items() for name in names.split()])
def test_ollama_s_names(name, row):
    assert hs.Parser(name).format == row


@pytest.mark.parametrize("name", ["passthrough", "glimmer"])
def test_ollama_s_names_that_no_row_replaces(name):
    with pytest.raises(hs.errors.FormatError, match=f"^no row reads what the parser '{name}' reads: "):
        hs.Parser(name)


def test_a_parser_takes_the_name_of_a_model():
    assert hs.Parser("Qwen/Qwen3-8B").format == "hermes"
    with pytest.raises(hs.errors.FormatError, match=r"^no format is known for the model 'acme/Model-1'"):
        hs.Parser("acme/Model-1")


@pytest.mark.parametrize(("name", "meant"), [("herms", "hermes"), ("seed_os", "seed_oss"), ("pythonik", "pythonic")])
def test_an_unknown_name_is_refused_with_a_guess(name, meant):
    with pytest.raises(hs.errors.FormatError, match=f"^unknown format '{name}'; did you mean '{meant}'"):
        hs.Parser(name)
