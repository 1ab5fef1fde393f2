"""`harmonystream serve`: what it refuses, and the server as a process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from command import ENV

from harmonystream.cli import _arguments, main, serve
from harmonystream.gateway.operating.keys import Keys


@pytest.fixture
def refused(capsys):
    def command(*args: str) -> str:
        assert main(["serve", *args]) == 2
        return capsys.readouterr().err

    return command


def test_what_cannot_be_served_is_refused_with_what_to_do(refused):
    assert "--engine needs --model" in refused("--engine", "http://127.0.0.1:9")
    assert "pass --engine" in refused("--model", "gpt-oss")
    assert "unknown engine 'ollama'" in refused("--engine", "ollama=http://127.0.0.1:9", "--model", "gpt-oss")
    assert "needs its chat template" in refused("--engine", "http://127.0.0.1:9", "--model", "Qwen/Qwen2.5-7B")
    assert "nobody/knows" in refused("--engine", "http://127.0.0.1:9", "--model", "nobody/knows")
    assert "begins with http" in refused("--engine", "vllm=localhost", "--model", "gpt-oss")


def test_a_file_of_settings_is_told_its_own_spelling_of_an_option(refused, tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[models.m]\nfamily = "nobody/knows"\n[[models.m.engines]]\nurl = "http://127.0.0.1:9"\n')
    assert 'Pass the format yourself with format = "…": one of' in refused("--config", str(file))


def test_a_template_that_writes_no_prompt_is_refused_at_the_start(refused, tmp_path):
    """Else each client would read the error, and the operator would not."""
    (tmp_path / "t.jinja").write_text("{{ raise_exception('no ' + messages[0].content) }}")
    engine = ("--engine", "http://127.0.0.1:9", "--model", "Qwen/Qwen2.5-7B", "--template", str(tmp_path / "t.jinja"))
    said = refused(*engine)
    assert "the model Qwen/Qwen2.5-7B: the prompt of one user message cannot be written: " in said
    assert "no Hello." in said


def test_the_served_models_are_printed_at_the_start(capsys, monkeypatch):
    monkeypatch.setattr("harmonystream.gateway.operating.server.serve", lambda *_: None)
    assert main(["serve", "--engine", "http://127.0.0.1:9", "--model", "gpt-oss", "--context", "9000"]) == 0
    assert re.fullmatch(
        r"harmonystream: serves gpt-oss: format harmony, a vocabulary of 201,\d{3} ids, a context of 9,000 tokens; "
        r"Completions at 127\.0\.0\.1:9; the prompt of 'Hello\.' has \d+ tokens\n",
        capsys.readouterr().err,
    )


def test_limits_and_files_that_are_wrong(refused, tmp_path):
    assert "unknown limit 'size'; known: body, " in refused("--limit", "size=1")
    assert "'x' is not a number" in refused("--limit", "concurrent=x")
    assert "concurrent is 1 or more" in refused("--limit", "concurrent=0")
    (tmp_path / "g.toml").write_text("prot = 1", "utf-8")
    assert "prot is unknown" in refused("--config", str(tmp_path / "g.toml"))
    assert "no keys" in refused("--keys", os.devnull)
    assert "--new-key needs --keys" in refused("--new-key", "ann")


def test_a_key_is_printed_once_and_kept_as_its_hash(capsys, tmp_path):
    file = tmp_path / "keys.txt"
    for name in ("ann", "bob"):
        assert main(["serve", "--keys", str(file), "--new-key", name]) == 0
        key = capsys.readouterr().out.strip()
        assert key not in file.read_text("utf-8")
        assert Keys.load(file).owner({"x-api-key": key}) == name
    file.write_text(file.read_text("utf-8").rstrip("\n"), "utf-8")  # as an editor may leave it
    assert main(["serve", "--keys", str(file), "--new-key", "last"]) == 0
    assert Keys.load(file).owner({"x-api-key": capsys.readouterr().out.strip()}) == "last"
    assert main(["serve", "--keys", str(file), "--new-key", "two words"]) == 2


@pytest.mark.parametrize(("options", "sent"), [([], "secret"), (["--engine-key", "mine"], "mine")])
def test_engines_get_the_key_of_the_option_or_of_the_environment(monkeypatch, options, sent):
    monkeypatch.setenv("HARMONYSTREAM_KEY", "secret")
    args = _arguments().parse_args(["serve", "--engine", "http://127.0.0.1:9", "--model", "gpt-oss", *options])
    (model,) = serve._settings(args).models
    assert [engine._headers["Authorization"] for engine in model.engines] == [f"Bearer {sent}"]


@pytest.mark.parametrize("more", [[], ["--log-contents"]])
def test_the_recorded_model_is_served_until_the_process_is_stopped(more):
    command = [sys.executable, "-m", "harmonystream", "serve", "--port", "0", *more]
    process = subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.]+:\d+", line)))
        body = json.dumps({"messages": [{"role": "user", "content": "?"}], "max_tokens": 5}).encode()
        asked = urllib.request.Request(f"{url}/v1/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            assert json.load(answer)["choices"][0]["finish_reason"] == "length"
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=20)
    assert "Traceback" not in rest
    assert '"outcome":' in rest
    assert ('"asked":' in rest) == bool(more)
