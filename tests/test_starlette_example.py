"""examples/fastapi_server.py: the official clients converse with it through all three APIs."""

from __future__ import annotations

import http.client
import importlib.util
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import ENV
from wire_server import anthropic_client, openai_client, serving

EXAMPLE = Path(__file__).parent.parent / "examples" / "fastapi_server.py"
RESULT = '{"morning": "drizzle"}'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    spec = importlib.util.spec_from_file_location("fastapi_server", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SECONDS_PER_TOKEN = 0
    with serving(module.app) as address:
        yield address


def check(call: tuple[str, str], answer: str) -> None:
    assert call == ("get_forecast", '{"city": "成都", "day": "tomorrow", "hourly": false}')
    assert answer.startswith("要带伞 🌂")
    assert answer.endswith("is at its best in such weather.")


def test_chat(url):
    with openai_client(url) as client:
        messages: list[Any] = [{"role": "user", "content": "Rain?"}]
        with client.chat.completions.stream(model="recorded", messages=messages) as stream:
            message = stream.get_final_completion().choices[0].message
        assert message.tool_calls
        [call] = message.tool_calls
        messages += [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": RESULT},
        ]
        whole = client.chat.completions.create(model="recorded", messages=messages)
    check((call.function.name, call.function.arguments), str(whole.choices[0].message.content))
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 118


def test_responses(url):
    with openai_client(url) as client:
        with client.responses.stream(model="recorded", input="Rain?") as stream:
            first = stream.get_final_response()
        [call] = [item for item in first.output if item.type == "function_call"]
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": RESULT}
        with client.responses.stream(model="recorded", input=[result]) as stream:
            check((call.name, call.arguments), stream.get_final_response().output_text)


def test_messages(url):
    with anthropic_client(url) as client:
        messages: list[Any] = [{"role": "user", "content": "Rain?"}]
        with client.messages.stream(model="recorded", max_tokens=999, messages=messages) as stream:
            first = stream.get_final_message()
        [call] = [block for block in first.content if block.type == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
        messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        with client.messages.stream(model="recorded", max_tokens=999, messages=messages) as stream:
            check((call.name, json.dumps(call.input, ensure_ascii=False)), stream.get_final_text())


def test_it_runs_with_one_command_and_is_as_short_as_promised():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 60
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, str(EXAMPLE), str(port)], env=ENV, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while True:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            try:
                client.request("POST", "/v1/messages", '{"stream": true}')
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        response = client.getresponse()  # while it speaks, as with curl -N
        assert response.status == 200
        assert response.readline() == b"event: message_start\n"
        client.close()
        response.close()
    finally:
        server.terminate()
        server.wait(timeout=10)
