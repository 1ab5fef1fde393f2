"""The files beside docs/gateway.md: settings that load, and a board that asks for metrics that there are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from command import ENV

from harmonystream.gateway.keys import line_of
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


def test_the_pod_of_the_kubernetes_example_starts(tmp_path):
    """Its command, with its settings, where there is no engine: it lives, is not ready, and asks for a key."""
    yaml = pytest.importorskip("yaml")
    config, deployment, service = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text("utf-8"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["harmonystream"]
    assert container["args"] == ["serve", "--config", "/etc/gateway/gateway.toml"]
    settings = (
        config["data"]["gateway.toml"].replace("/etc/keys/", "").replace("http://vllm:8000", "http://127.0.0.1:9")
    )
    (tmp_path / "gateway.toml").write_text(settings.replace("port = 8000", "port = 0"), "utf-8")
    (tmp_path / "keys.txt").write_text(line_of("me", "secret") + "\n", "utf-8")
    command = [sys.executable, "-m", "harmonystream", "serve", "--config", str(tmp_path / "gateway.toml")]
    with subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True) as process:
        try:
            port = next(re.findall(r"http://0\.0\.0\.0:(\d+)", line) for line in process.stderr if "http://" in line)[0]
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}") as http:
                paths = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")]
                assert [http.get(path).status_code for path in paths] == [200, 503]
                assert http.get("/v1/models").status_code == 401
                assert http.get("/v1/models", headers={"x-api-key": "secret"}).status_code == 200
        finally:
            process.terminate()
    assert service["spec"]["selector"] == deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["containerPort"] == 8000


def test_the_dockerfile_installs_an_extra_that_there_is_and_runs_a_command_that_there_is():
    lines = (FOLDER / "Dockerfile").read_text("utf-8").replace("\\\n", "").splitlines()
    steps = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    assert [word for word, _ in steps] == ["FROM", "RUN", "USER", "EXPOSE", "ENTRYPOINT"]
    found = dict(steps)
    extras = pytest.importorskip("tomllib").loads((FOLDER.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    (wanted,) = re.findall(r"'harmonystream\[(\w+)\]'", found["RUN"])
    assert wanted in extras["optional-dependencies"]
    assert found["RUN"].endswith(f"useradd --system {found['USER']}")
    assert json.loads(found["ENTRYPOINT"]) == ["harmonystream", "serve", "--config", "/etc/gateway.toml"]


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
