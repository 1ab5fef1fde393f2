"""An LMDeploy whose names have changed: nothing is replaced, and the log says why."""

from __future__ import annotations

import logging
import sys

import pytest

pytest.importorskip("lmdeploy")

import scripted_lmdeploy  # noqa: F401  what makes LMDeploy's modules importable
from lmdeploy.serve.parsers.response_parser import ResponseParserManager

from harmonystream.integrations import lmdeploy as plugin
from harmonystream.integrations.lmdeploy.table import NAMES


@pytest.mark.parametrize("how", ["a name of the table", "a name of no table"])
def test_the_parsers_are_lmdeploys(how, monkeypatch, caplog):
    monkeypatch.setattr(plugin.HOST, "_known", {})
    if how == "a name of the table":
        gone = {"parsers": (NAMES["parsers"][0]._replace(path="lmdeploy.gone"),)}
        monkeypatch.setattr(plugin.HOST, "_features", gone)
    else:
        monkeypatch.delattr("harmonystream.integrations.lmdeploy.parsers", raising=False)
        monkeypatch.setitem(sys.modules, "harmonystream.integrations.lmdeploy.parsers", None)
    monkeypatch.setattr(logging.getLogger("lmdeploy"), "propagate", True)
    replaced = []
    monkeypatch.setattr(ResponseParserManager, "register_module", lambda *args, **more: replaced.append(args))
    with caplog.at_level(logging.WARNING, "lmdeploy.harmonystream"):
        plugin.register()
    assert replaced == []
    said = {each.getMessage() for each in caplog.records if each.name == "lmdeploy.harmonystream"}
    assert len(said) == 1 and "parsers: LMDeploy's own" in said.pop()
