"""An SGLang whose names have changed: our names are SGLang's own parsers, and the log says why."""

from __future__ import annotations

import logging
import sys

import pytest

pytest.importorskip("sglang")

import scripted_sglang  # noqa: F401  what makes SGLang's modules importable
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

from harmonystream.integrations.sglang import plugin
from harmonystream.integrations.sglang.host import HOST
from harmonystream.integrations.sglang.table import NAMES


@pytest.fixture
def forgets(monkeypatch):
    """SGLang does not know our parsers yet, and ours have looked up nothing."""
    for owner, field in ((FunctionCallParser, "ToolCallParserEnum"), (ReasoningParser, "DetectorMap")):
        known = {name: each for name, each in getattr(owner, field).items() if not name.startswith("harmonystream")}
        monkeypatch.setattr(owner, field, known)
    monkeypatch.setattr(HOST, "_known", {})
    monkeypatch.setenv("SGLANG_PLUGINS", "harmonystream,harmonystream_frames")


def gone(feature):
    return {**NAMES, feature: (NAMES["parsers"][0]._replace(path="sglang.gone"),)}


def test_what_fits_is_ours(forgets):
    plugin.register()
    assert FunctionCallParser.ToolCallParserEnum["harmonystream_hermes"].__module__.startswith("harmonystream.")


@pytest.mark.parametrize("how", ["a name of the table", "a name of no table"])
def test_the_parsers_of_sglang_take_the_place_of_ours(forgets, how, monkeypatch, caplog):
    if how == "a name of the table":
        monkeypatch.setattr(HOST, "_features", gone("parsers"))
    else:
        monkeypatch.delattr("harmonystream.integrations.sglang.detectors")
        monkeypatch.setitem(sys.modules, "harmonystream.integrations.sglang.detectors", None)
    with caplog.at_level(logging.WARNING, "sglang.harmonystream"):
        plugin.register()
    calls, reasoning = FunctionCallParser.ToolCallParserEnum, ReasoningParser.DetectorMap
    assert calls["harmonystream_hermes"] is calls["qwen25"]
    assert reasoning["harmonystream_hermes"] is reasoning["qwen3"]
    assert "harmonystream_lfm2" not in calls  # SGLang refuses it at the start
    (record,) = [each for each in caplog.records if each.name == "sglang.harmonystream"]
    assert "parsers: SGLang's own" in record.getMessage()


def test_the_frames_are_sglangs(forgets, monkeypatch, caplog):
    monkeypatch.setattr(HOST, "_features", gone("frames"))
    with caplog.at_level(logging.WARNING, "sglang.harmonystream"):
        plugin.register()
    assert FunctionCallParser.ToolCallParserEnum["harmonystream_hermes"].__module__.startswith("harmonystream.")
    assert "frames: SGLang's own" in caplog.text and "sglang.gone cannot be imported" in caplog.text
