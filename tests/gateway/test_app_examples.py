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
from gateways import ANSWER, gateway, script_of

from harmonystream.gateway.operating.keys import line_of
from harmonystream.gateway.operating.metrics import Metrics
from harmonystream.gateway.settings import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "gateway"


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
    pod = documents[1]["spec"]["template"]["spec"]
    asleep = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert asleep + made.limits.drain + 10 < pod["terminationGracePeriodSeconds"]


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


def steps_of_the_dockerfile():
    lines = (FOLDER / "Dockerfile").read_text("utf-8").replace("\\\n", "").splitlines()
    return [line.split(" ", 1) for line in lines if line and not line.startswith("#")]


def test_the_dockerfile_installs_an_extra_that_there_is_and_runs_a_command_that_there_is():
    steps = steps_of_the_dockerfile()
    words = "ARG FROM RUN WORKDIR COPY RUN FROM COPY RUN USER ENV EXPOSE HEALTHCHECK ENTRYPOINT"
    assert [word for word, _ in steps] == words.split()
    found = dict(steps)
    project = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (wanted,) = re.findall(r"'\.\[([\w,]+)\]'", " ".join(rest for word, rest in steps if word == "RUN"))
    assert set(wanted.split(",")) == {"gateway", "store"} <= project["optional-dependencies"].keys()
    assert f"--uid {found['USER']} " in found["RUN"]
    program, *options = json.loads(found["ENTRYPOINT"])
    assert program in project["scripts"]
    command = [sys.executable, "-m", "harmonystream", *options, "--config", "/nonexistent/gateway.toml"]
    made = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60)
    assert made.stderr == "harmonystream: /nonexistent/gateway.toml: No such file or directory\n"


def test_the_dockerfiles_context_has_what_a_build_reads():
    """And nothing that somebody has built beside it: modules of another Python would be taken for the image's."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    everything, *rules = [line for line in lines if not line.startswith("#")]
    assert everything == "*"
    kept = {rule[1:] for rule in rules if rule.startswith("!")}
    assert {"**/*.so", "**/*.c", "**/__pycache__"} <= set(rules)
    assert all((ROOT / name).exists() for name in kept)
    made = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    licenses = {pattern.partition("/")[0] for pattern in made["license-files"]}
    assert kept == {"pyproject.toml", "setup.py", made["readme"], *licenses, "harmonystream", "ext"}
    for word, source in steps_of_the_dockerfile():
        if word == "COPY":
            assert source in (". .", "--from=build /opt/gateway /opt/gateway")


def test_the_dockerfiles_check_of_health_fails_where_nothing_answers():
    program, *options = json.loads(dict(steps_of_the_dockerfile())["HEALTHCHECK"].removeprefix("CMD "))
    assert program == "python"
    code = options[1]
    assert "http://127.0.0.1:8000/health/live" in code
    with gateway(script_of(ANSWER)) as made:
        for at, status in ((made.url, 0), ("http://127.0.0.1:9", 1)):
            command = [sys.executable, "-c", code.replace("http://127.0.0.1:8000", at)]
            assert subprocess.run(command, env=ENV, capture_output=True, timeout=60).returncode == status


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
