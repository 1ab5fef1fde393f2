"""A vLLM whose names have changed: the feature is vLLM's own, the log says why, and no request fails for it."""

from __future__ import annotations

import asyncio
import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")

import vllm.platforms
from vllm.platforms.cpu import CpuPlatform

vllm.platforms._current_platform = CpuPlatform()  # the wheel for GPUs does not choose it by itself

from vllm.parser import ParserManager  # noqa: E402
from vllm.parser.abstract_parser import DelegatingParser  # noqa: E402
from vllm.reasoning import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers import ToolParserManager  # noqa: E402
from vllm.v1.engine.output_processor import RequestState  # noqa: E402

from harmonystream.integrations.vllm import names  # noqa: E402
from harmonystream.integrations.vllm.fits import HOST  # noqa: E402
from harmonystream.integrations.vllm.table import NAMES  # noqa: E402
from harmonystream_plugins import register_vllm  # noqa: E402


@pytest.fixture
def forgets(monkeypatch):
    """vLLM and ours have looked up nothing yet."""
    for manager, field in ((ToolParserManager, "tool_parsers"), (ReasoningParserManager, "reasoning_parsers")):
        kept = {name: each for name, each in getattr(manager, field).items() if not name.startswith("harmonystream")}
        monkeypatch.setattr(manager, field, kept)
    monkeypatch.setattr(HOST, "_known", {})
    names.__getattr__.cache_clear()
    register_vllm()
    yield
    names.__getattr__.cache_clear()


def composed(name: str, *, is_harmony: bool = False) -> Any:
    return ParserManager.get_parser(
        tool_parser_name=name,
        reasoning_parser_name=name,
        enable_auto_tools=True,
        model_name="tiny",
        is_harmony=is_harmony,
    )


def test_what_fits_is_ours(forgets):
    from harmonystream.integrations.vllm.unified import HarmonystreamParser

    assert issubclass(composed("harmonystream_hermes"), HarmonystreamParser)


def test_the_parsers_of_vllm_take_the_place_of_ours(forgets, monkeypatch, caplog):
    monkeypatch.delattr(DelegatingParser, "_make_tool_call_id")
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        parser = composed("harmonystream_hermes")
    stock = ToolParserManager.get_tool_parser("hermes"), ReasoningParserManager.get_reasoning_parser("qwen3")
    assert (parser.tool_parser_cls, parser.reasoning_parser_cls) == stock
    said = [record.getMessage() for record in caplog.records if record.name == "vllm.harmonystream"]
    assert [line for line in said if "parsers: vLLM's own" in line and "_make_tool_call_id is not there" in line]
    assert len(said) == 3  # and which parsers take the place of each name
    with pytest.raises(TypeError, match="has not been registered"):
        composed("harmonystream_lfm2")  # the cause says that vLLM has none of this format


def test_a_name_that_no_table_has_is_no_error_either(forgets, monkeypatch, caplog):
    monkeypatch.delattr("harmonystream.integrations.vllm.parsers")
    monkeypatch.setitem(sys.modules, "harmonystream.integrations.vllm.parsers", None)
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        parser = composed("harmonystream_hermes")
    assert parser.tool_parser_cls is ToolParserManager.get_tool_parser("hermes")
    assert "parsers: vLLM's own" in caplog.text and "ModuleNotFoundError" in caplog.text


def test_the_parser_of_gpt_oss_is_vllms(forgets, monkeypatch, caplog):
    monkeypatch.setattr(HOST, "_features", {**NAMES, "harmony": (NAMES["parsers"][0]._replace(path="vllm.gone"),)})
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        parser = composed("harmonystream_harmony", is_harmony=True)
    assert parser.tool_parser_cls is ToolParserManager.get_tool_parser("openai")
    assert "vllm.gone cannot be imported" in caplog.text


@pytest.mark.parametrize("feature", ["parsers", "frames", "frames of Responses"])
def test_the_frames_are_vllms(forgets, feature, monkeypatch, caplog):
    from harmonystream.integrations.vllm.plugin import FramesPlugin

    monkeypatch.setattr(HOST, "_features", {**NAMES, feature: (NAMES["parsers"][0]._replace(path="vllm.gone"),)})
    parser = composed("harmonystream_hermes") if feature != "parsers" else None
    chat = SimpleNamespace(parser_cls=parser, chat_completion_stream_generator="stock")
    responses = SimpleNamespace(responses_stream_generator="stock")
    state = SimpleNamespace(openai_serving_chat=chat, openai_serving_responses=responses)
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        asyncio.run(FramesPlugin().init_state(None, state, None))
    assert responses.responses_stream_generator == "stock"
    assert (chat.chat_completion_stream_generator == "stock") == (feature != "frames of Responses")
    assert f"{feature}: vLLM's own" in caplog.text


def test_streams_are_not_direct(forgets, monkeypatch, caplog):
    from harmonystream.integrations.vllm.direct import is_direct

    monkeypatch.setenv("HARMONYSTREAM_FRAMES_DIRECT", "1")
    assert is_direct()
    monkeypatch.setattr(HOST, "_known", {})
    monkeypatch.delattr(RequestState, "make_request_output")
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        assert not is_direct()
    assert "direct streams: vLLM's own" in caplog.text and "make_request_output is not there" in caplog.text


def test_derender_is_vllms(forgets, monkeypatch, caplog):
    from harmonystream.integrations.vllm.plugin import DerenderPlugin

    monkeypatch.setattr(HOST, "_features", {**NAMES, "derender": (NAMES["parsers"][0]._replace(path="vllm.gone"),)})
    plugin = DerenderPlugin()
    with caplog.at_level(logging.WARNING, "vllm.harmonystream"):
        plugin.attach_router(None)
        asyncio.run(plugin.init_state(None, SimpleNamespace(), None))
    assert "derender: vLLM's own" in caplog.text
