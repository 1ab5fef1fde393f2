"""The pages about migrating and clients: settings load, flags are there, and the official clients run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import ENV
from gateways import serving

from harmonystream.cli import main
from harmonystream.gateway import app
from harmonystream.gateway.generating.demo import demo_model
from harmonystream.gateway.operating.keys import line_of
from harmonystream.gateway.settings import load

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "gateway-migrating.md").read_text("utf-8")
CLIENTS = (DOCS / "clients.md").read_text("utf-8")


def block(page: str, language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_settings_do_what_litellms_did(tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml")
    before = yaml.safe_load(block(PAGE, "yaml"))
    (tmp_path / "gateway.toml").write_text(block(PAGE, "toml"), "utf-8")
    (tmp_path / "keys.txt").write_text(line_of("me", "secret") + "\n", "utf-8")
    monkeypatch.setenv("VLLM_KEY", "k")
    made = load(tmp_path / "gateway.toml")
    (model,) = made.models
    params = [one["litellm_params"] for one in before["model_list"]]
    assert {one["model_name"] for one in before["model_list"]} == {model.name}
    assert {one["model"] for one in params} == {f"hosted_vllm/{model.family}"}
    assert [f"{engine.url}/v1" for engine in model.engines] == [one["api_base"] for one in params]
    assert model.sampling == {"temperature": params[0]["temperature"]}
    assert (made.limits.retries, made.limits.total) == tuple(before["router_settings"].values())
    assert made.limits.concurrent == before["general_settings"]["max_parallel_requests"]


def test_the_settings_for_production_load(tmp_path):
    (tmp_path / "gateway.toml").write_text(block((DOCS / "gateway-production.md").read_text("utf-8"), "toml"), "utf-8")
    line = line_of("team-a", "secret") + " models=gpt-oss-20b tokens_per_minute=100000 concurrent=8\n"
    (tmp_path / "keys.txt").write_text(line, "utf-8")
    made = load(tmp_path / "gateway.toml")
    assert line.split(" ", 2)[2].strip() in (DOCS / "gateway-production.md").read_text("utf-8")
    assert made.keys.quota("team-a", made.limits.quota) == (8, 100_000)
    served = app(made.models, keys=made.keys, limits=made.limits).state.gateway
    assert served.names("team-a") == ["gpt-oss-20b"]
    assert (made.workers, made.store) == (2, "valkeys://store.internal:6380")


def test_the_flags_are_there(capsys):
    assert main(["serve", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    rows = [line.split("|")[2] for line in PAGE.splitlines() if line.startswith("| `--")]
    named = set(re.findall(r"`(--[a-z-]+)", " ".join(rows)))
    assert len(named) > 4
    assert named <= known


OURS = "<!-- not run here: tests/gateway/test_app_documented.py runs it against the gateway -->\n```python\n"
SNIPPETS = [part.split("```\n", 1)[0] for part in CLIENTS.split(OURS)[1:]]


def test_the_official_clients_snippets_run(tmp_path):
    assert len(SNIPPETS) == 2
    with serving(app([demo_model(delay=0)])) as url:
        (tmp_path / "snippets.py").write_text("\n".join(SNIPPETS).replace("http://localhost:8000", url), "utf-8")
        command = [sys.executable, "-W", "error", str(tmp_path / "snippets.py")]
        done = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 0)
    lines = done.stdout.splitlines()
    assert "get_forecast" in lines[0]
    assert lines[1] == "['reasoning', 'message', 'function_call']"
    assert lines[2:] == ["['thinking', 'text', 'tool_use']", "['thinking', 'text']"]
