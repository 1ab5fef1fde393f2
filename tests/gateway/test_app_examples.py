"""The files beside docs/gateway.md: settings that load, and a board that asks for metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harmonystream.gateway.metrics import Metrics
from harmonystream.gateway.settings import load

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "gateway"


def test_the_settings_load():
    made = load(FOLDER / "gateway.toml")
    assert [model.name for model in made.models] == ["gpt-oss-20b"]
    assert made.limits.concurrent == 256


def test_the_settings_in_the_kubernetes_example_load(tmp_path):
    yaml = pytest.importorskip("yaml")
    documents = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text("utf-8")))
    assert [one["kind"] for one in documents] == ["ConfigMap", "Deployment", "Service"]
    settings = documents[0]["data"]["gateway.toml"].replace('keys = "/etc/keys/keys.txt"\n', "")
    (tmp_path / "gateway.toml").write_text(settings, "utf-8")
    made = load(tmp_path / "gateway.toml")
    grace = documents[1]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert made.limits.drain + 5 < grace


def test_the_board_asks_for_metrics_and_labels_that_there_are():
    board = json.loads((FOLDER / "grafana.json").read_text("utf-8"))
    metrics = Metrics()
    labels = {}
    for family in vars(metrics).values():
        for name in (family._name,) if hasattr(family, "_name") else ():
            for suffix in ("", "_total", "_bucket"):
                labels[name + suffix] = set(family._labelnames) | ({"le"} if suffix == "_bucket" else set())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) >= 10
    for expression in asked:
        (name,) = re.findall(r"harmonystream_\w+", expression)
        assert name in labels, name
        for group in re.findall(r"by \(([^)]*)\)", expression):
            assert set(group.split(", ")) <= labels[name], expression
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
