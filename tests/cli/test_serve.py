"""`harmonystream serve`: what it refuses, and the server as a process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from command import ENV

from harmonystream.cli import main


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
    assert "needs its chat template" in refused("--engine", "http://127.0.0.1:9", "--model", "Qwen/Qwen3-8B")
    assert "nobody/knows" in refused("--engine", "http://127.0.0.1:9", "--model", "nobody/knows")
    assert "begins with http" in refused("--engine", "vllm=localhost", "--model", "gpt-oss")


def test_the_recorded_model_is_served_until_the_process_is_stopped():
    command = [sys.executable, "-m", "harmonystream", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.]+:\d+", line)))
        body = json.dumps({"messages": [{"role": "user", "content": "?"}], "max_tokens": 5}).encode()
        with urllib.request.urlopen(f"{url}/v1/chat/completions", body, timeout=20) as answer:
            assert json.load(answer)["choices"][0]["finish_reason"] == "length"
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=20)
    assert "Traceback" not in rest
