"""bench/gateway.py runs, and its engine's chunks are those of vLLM."""

from __future__ import annotations

import json
import re
import sys

import pytest

from bench import gateway


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_it_measures_the_gateway(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench.gateway", "--tokens=40", "--streams", "2"])
    assert gateway.main() == 0
    rows = re.findall(r"^\| 2 \| (\d+) \| [\d.]+ µs \|$", capsys.readouterr().out, re.M)
    assert rows == ["1", "8"]


def test_every_token_is_in_one_chunk():
    for size in (1, 8):
        *made, end = gateway.chunks(40, size)
        choices = [json.loads(chunk.removeprefix(b"data: "))["choices"][0] for chunk in made]
        assert [len(choice["token_ids"]) for choice in choices[:-1]] == [size] * (len(made) - 1)
        assert [choice["finish_reason"] for choice in choices] == [None] * (len(made) - 1) + ["stop"]
        assert end == b"data: [DONE]\n\n"
