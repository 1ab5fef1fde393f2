"""bench/gateway_rivals.py: what LiteLLM's engine sends, and what is said where a rival is not installed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from openai.types.chat import ChatCompletionChunk

from bench import gateway_rivals
from bench.wire import chat_chunks, chunks


def test_its_engine_sends_as_many_chunks_as_the_gateways():
    *made, end = chat_chunks(40)
    read = [ChatCompletionChunk.model_validate(json.loads(chunk.removeprefix(b"data: "))) for chunk in made]
    assert len(made) == len(chunks(40, 1)) - 1
    assert [chunk.choices[0].finish_reason for chunk in read] == [None] * (len(made) - 1) + ["stop"]
    texts = [chunk.choices[0].delta.content for chunk in read[:-1]]
    assert len(set(texts)) == len(texts)  # LiteLLM ends a stream that repeats itself
    assert end == b"data: [DONE]\n\n"


# In the place of LiteLLM's proxy and of vLLM's interpreter: a server that answers by itself.
STAND_IN = """#!{python}
import asyncio, socket, sys
sys.path[:0] = {path}
from bench.wire import chat_chunks, send_script
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert "--config" in given or given["-m"] == "bench.rivals.vllm_server", given
with socket.create_server(("127.0.0.1", int(given.get("--port", 0)))) as listening:
    print(f"http://127.0.0.1:{{listening.getsockname()[1]}}", flush=True)
    asyncio.run(send_script(listening, chat_chunks(40), 0.0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a clock of another process")
@pytest.mark.parametrize("there", [("LITELLM", "VLLM"), ("VLLM",), ()], ids="+".join)
def test_it_measures_what_is_there(monkeypatch, capsys, tmp_path, there):
    for name in ("LITELLM", "VLLM"):
        monkeypatch.setattr(gateway_rivals, name, tmp_path / name)
    for name in there:
        root = str(Path(gateway_rivals.__file__).parents[1])
        path = [root, *os.environ.get("PYTHONPATH", "").split(":")]
        (tmp_path / name).write_text(STAND_IN.format(python=sys.executable, path=path))
        (tmp_path / name).chmod(0o700)
    command = ["bench.gateway_rivals", "--tokens=40", "--streams", "2", "--rounds=1", "--markdown"]
    monkeypatch.setattr(sys, "argv", command)
    gateway_rivals.main()
    out, err = capsys.readouterr()
    streams, ours, *others = [cell.strip() for cell in out.splitlines()[2].split("|")[1:-1]]
    assert (streams, ours.endswith("µs")) == ("2", True)
    assert [one.endswith("µs") for one in others[:2]] == [name in there for name in ("LITELLM", "VLLM")]
    assert [one.endswith("×") for one in others[2:]] == [name in there for name in ("LITELLM", "VLLM")]
    assert err.count(f"is not at {tmp_path}") == 2 - len(there)
