"""bench/gateway_rivals.py: what LiteLLM's engine sends, and what is said where LiteLLM is not installed."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from openai.types.chat import ChatCompletionChunk

from bench import gateway_rivals


def test_without_litellm_there_is_no_comparison(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gateway_rivals, "LITELLM", tmp_path / "litellm")
    monkeypatch.setattr(sys, "argv", ["bench.gateway_rivals"])
    gateway_rivals.main()
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"LiteLLM's proxy is not at {tmp_path / 'litellm'}: no comparison\n")


def test_its_engine_sends_as_many_chunks_as_the_gateways():
    *made, end = gateway_rivals.chat_chunks(40)
    chunks = [ChatCompletionChunk.model_validate(json.loads(chunk.removeprefix(b"data: "))) for chunk in made]
    assert len(made) == len(gateway_rivals.chunks(40, 1)) - 1
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(made) - 1) + ["stop"]
    texts = [chunk.choices[0].delta.content for chunk in chunks[:-1]]
    assert len(set(texts)) == len(texts)  # LiteLLM ends a stream that repeats itself
    assert end == b"data: [DONE]\n\n"


PROXY = """#!{python}
import json, sys
sys.path[:0] = {path}
from bench.gateway_rivals import chat_chunks
from bench.server import send_script
import asyncio, socket
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
settings = json.load(open(given["--config"]))
assert settings["model_list"][0]["litellm_params"]["api_base"].endswith("/v1")
listening = socket.create_server((given["--host"], int(given["--port"])))
print(f"http://127.0.0.1:{{given['--port']}}", flush=True)
asyncio.run(send_script(listening, chat_chunks(40), 0.0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a clock of another process")
def test_it_measures_both(monkeypatch, capsys, tmp_path):
    """With a proxy that answers by itself in the place of LiteLLM's."""
    proxy = tmp_path / "litellm"
    root = str(Path(gateway_rivals.__file__).parents[1])
    proxy.write_text(PROXY.format(python=sys.executable, path=[root, *os.environ.get("PYTHONPATH", "").split(":")]))
    proxy.chmod(proxy.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(gateway_rivals, "LITELLM", proxy)
    monkeypatch.setattr(sys, "argv", ["bench.gateway_rivals", "--tokens=40", "--streams", "2", "--rounds=1"])
    gateway_rivals.main()
    head, row = capsys.readouterr().out.strip().splitlines()
    assert head.split("  ")[0] == "streams at a time"
    assert row.split()[0] == "2" and row.endswith("×")
