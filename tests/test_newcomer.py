"""The programs of examples/newcomer, run: what somebody writes in the first hour, from the pages alone."""

from __future__ import annotations

import asyncio
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from upstream import Upstream, serving

import harmonystream as hs

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "newcomer"


def program(name: str) -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / name), run_name="newcomer")


def test_an_endpoint_around_raw_ids():
    pytest.importorskip("fastapi")
    body = {"messages": [{"role": "user", "content": "Umbrella?"}], "tools": [{"name": "get_forecast"}]}
    with TestClient(program("raw_ids_server.py")["app"]) as client:
        whole = client.post("/v1/chat/completions", json=body).json()["choices"][0]
        assert whole["finish_reason"] == "tool_calls"
        assert whole["message"]["tool_calls"][0]["function"]["name"] == "get_forecast"
        streamed = client.post("/v1/chat/completions", json=body | {"stream": True}).text
        assert "umbrella" not in streamed and streamed.endswith("data: [DONE]\n\n")
        for wrong, why in (
            ({}, "messages is missing"),
            ({"messages": [{"role": "usr"}]}, "role"),
            ({"messages": 7}, ""),
        ):
            answer = client.post("/v1/chat/completions", json=wrong)
            assert answer.status_code == 400 and why in answer.json()["error"]["message"]
    with TestClient(program("raw_ids_server.py")["app"]) as client:  # a request without tools: nothing is a call
        choice = client.post("/v1/chat/completions", json={"messages": body["messages"]}).json()["choices"][0]
        assert choice["finish_reason"] == "stop" and not choice["message"].get("tool_calls")


def test_qwen3_behind_vllm(capsys):
    texts = ["<think>\nRain?\n</think>\n\nLet me look.\n<tool", '_call>\n{"name": "get_forecast", "arguments": {"ci']
    texts.append('ty": "Bergen"}}\n</tool_call>')
    script = [{"choices": [{"index": 0, "text": text}]} for text in texts]
    script += [{"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}, b"data: [DONE]\n\n"]

    async def run() -> dict[str, Any]:
        upstream = Upstream(script)
        async with serving(upstream) as url:
            await program("qwen3_behind_vllm.py")["main"](url, "Will it rain in Bergen?")
        return upstream.requests[-1][1]

    sent = asyncio.run(run())
    assert sent["prompt"].startswith("<|im_start|>system\n# Tools\n") and sent["prompt"].endswith("assistant\n")
    assert capsys.readouterr().out == 'Rain?Let me look.\nget_forecast {"city": "Bergen"}\n[tool_calls]\n'


def test_rows_for_a_trainer(tmp_path, monkeypatch, capsys):
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("sys.argv", ["training_rows.py", str(tmp_path / "rows.parquet")])
    runpy.run_path(str(FOLDER / "training_rows.py"), run_name="__main__")
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    vocab = hs.vocab.o200k_harmony()
    for row, said in zip(rows, (["Polite.", "Gladly."], ["functions.multiply", '{"a": 6, "b": 7}', "It is 42."])):
        assert len(row["ids"]) == len(row["labels"]) == len(row["mask"]) and row["error"] is None
        learnt = b"".join(vocab.token_bytes(tid) for tid, on in zip(row["ids"], row["mask"]) if on).decode()
        assert all(text in learnt for text in said) and "Tea?" not in learnt and "6 * 7" not in learnt
        assert [bool(on) for on in row["mask"]] == [label != hs.Region.SUPPRESSED for label in row["labels"]]
    assert (rows[2]["ids"], rows[2]["mask"]) == (None, None) and "role is 'nobody'" in rows[2]["error"]
    assert "role is 'nobody'" in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "written"), [("y", True), ("n", False)])
def test_an_agent_that_asks(tmp_path, monkeypatch, capsys, typed, written):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["agent_with_approval.py"])
    monkeypatch.setattr("builtins.input", lambda question: typed)
    runpy.run_path(str(FOLDER / "agent_with_approval.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert (tmp_path / "note.txt").exists() == written
    assert ("write_note gave written" in said) == written and said.endswith("That is done.\n")


def test_a_format_of_one_s_own_in_the_gateway():
    body = {"messages": [{"role": "user", "content": "Rain?"}], "tools": [json.loads(TOOL)]}
    with TestClient(program("own_format_gateway.py")["app"], base_url="http://localhost") as client:
        message = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert message["reasoning"] == "Look."
    assert message["tool_calls"][0]["function"] == {"name": "get_forecast", "arguments": '{"city": "Bergen"}'}


TOOL = '{"type": "function", "function": {"name": "get_forecast", "parameters": {"type": "object", "properties": {}}}}'
