"""An LMDeploy whose names have changed: our names are LMDeploy's own parsers, and the log says why."""

from __future__ import annotations

import logging
import sys

import pytest

pytest.importorskip("lmdeploy")

import scripted_lmdeploy  # noqa: F401  what makes LMDeploy's modules importable
from lmdeploy.serve.parsers.reasoning_parser import ReasoningParserManager
from lmdeploy.serve.parsers.response_parser import ResponseParserManager
from lmdeploy.serve.parsers.tool_parser import ToolParserManager

from harmonystream.integrations import lmdeploy as plugin
from harmonystream.integrations.lmdeploy.table import NAMES


@pytest.mark.parametrize("how", ["a name of the table", "a name of no table"])
def test_the_parsers_of_lmdeploy_take_the_place_of_ours(how, monkeypatch, caplog):
    monkeypatch.setattr(plugin.HOST, "_known", {})
    if how == "a name of the table":
        gone = {"parsers": (NAMES["parsers"][0]._replace(path="lmdeploy.gone"),)}
        monkeypatch.setattr(plugin.HOST, "_features", gone)
    else:
        monkeypatch.delattr("harmonystream.integrations.lmdeploy.parsers", raising=False)
        monkeypatch.setitem(sys.modules, "harmonystream.integrations.lmdeploy.parsers", None)
    monkeypatch.setattr(logging.getLogger("lmdeploy"), "propagate", True)
    managers = ToolParserManager, ReasoningParserManager, ResponseParserManager
    for manager in managers:
        others = {name: each for name, each in manager.module_dict.items() if not name.startswith("harmonystream")}
        monkeypatch.setattr(manager, "_module_dict", others)
    answers = dict(ResponseParserManager.module_dict)
    with caplog.at_level(logging.WARNING, "lmdeploy.harmonystream"):
        plugin.register()
    assert ResponseParserManager.module_dict == answers
    assert ToolParserManager.get("harmonystream_hermes") is ToolParserManager.get("qwen3")
    assert ReasoningParserManager.get("harmonystream_hermes") is ReasoningParserManager.get("default")
    assert "harmonystream_lfm2" not in ToolParserManager.module_dict  # LMDeploy refuses it at the start
    said = {each.getMessage() for each in caplog.records if each.name == "lmdeploy.harmonystream"}
    assert len(said) == 1 and "parsers: LMDeploy's own" in said.pop()
