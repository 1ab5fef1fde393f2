"""The soak of the gateway, for some seconds: nothing is wrong, and what it looks at has happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import harmonystream as hs
from bench.gateway_soak.clients import asked, read
from bench.gateway_soak.engine import WORDS, events

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="it looks at /proc")
def test_nothing_is_wrong_after_some_seconds():
    options = ["--seconds", "4", "--streams", "24", "--kill-every", "1.5", "--markdown"]
    command = [sys.executable, "-m", "bench.gateway_soak", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    rows = dict(line.strip("| ").split(" | ") for line in lines[2:])
    assert rows["wrong"] == "0"
    for name in ("whole", "ended with engine_error", "hostile connections", "engines killed"):
        assert int(rows[name]) > 0, name


def chat(*deltas, end="[DONE]"):
    lines = [f'data: {{"choices": [{{"delta": {{"content": "{delta}"}}}}]}}' for delta in deltas]
    return "\n\n".join([*lines, f"data: {end}", ""])


def test_another_streams_bytes_and_a_missing_end_are_seen():
    assert read("chat", chat(" n7 é n", "8 é")) == ({7: 1, 8: 1}, True)
    assert read("chat", chat(" n7 é", end='{"choices": []}')) == ({7: 1}, False)
    assert read("responses", 'data: {"type": "response.completed"}\n') == ({}, True)
    assert read("messages", 'data: {"type": "message_delta"}\n') == ({}, False)
    assert read("messages", "") == ({}, False)


def test_an_answer_says_its_number():
    *chunks, done = events(3)
    assert done == b"data: [DONE]\n\n"
    choices = [json.loads(chunk.removeprefix(b"data: "))["choices"][0] for chunk in chunks]
    ids = [tid for choice in choices for tid in choice["token_ids"]]
    assert hs.parse(ids).content == " n3 é" * WORDS
    assert {choice["finish_reason"] for choice in choices[:-1]} == {None}
    assert asked("responses", 3)["input"] == "number 3"
