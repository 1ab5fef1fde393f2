"""Figures in the engine's own metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import harmonystream as hs
from harmonystream.integrations import counters


def test_they_are_counted_where_prometheus_client_is():
    client = pytest.importorskip("prometheus_client")
    parser = hs.Parser()
    parser.feed_text("Hi")
    parser.finish("stop")
    assert parser.deviations
    before = {
        deviation.code: client.REGISTRY.get_sample_value("harmonystream_repairs_total", {"code": deviation.code}) or 0
        for deviation in parser.deviations
    }
    counters.count_repairs(parser)
    counters.count_stream("names")
    counters.count_error("frames")
    for code, was in before.items():
        assert client.REGISTRY.get_sample_value("harmonystream_repairs_total", {"code": code}) > was
    assert client.REGISTRY.get_sample_value("harmonystream_streams_total", {"path": "names"}) >= 1
    assert client.REGISTRY.get_sample_value("harmonystream_errors_total", {"feature": "frames"}) >= 1


def test_without_it_nothing_happens(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    counters._counter.cache_clear()
    counters.count_stream("names")
    counters._counter.cache_clear()


def test_the_board_asks_for_counters_and_labels_that_there_are():
    board = json.loads((Path(__file__).parents[2] / "examples" / "engines" / "grafana.json").read_text("utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    matches = [re.search(r"by \((\w+)\) .*harmonystream_(\w+)_total", each) for each in asked]
    found = {match[2]: match[1] for match in matches if match}
    assert found == {name: label for name, (_, label) in counters._COUNTERS.items()}
    assert len(found) == len(asked)
