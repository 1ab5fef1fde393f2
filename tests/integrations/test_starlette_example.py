"""examples/fastapi_server.py: the official clients converse with it through all three APIs."""

from __future__ import annotations

import http.client
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from command import ENV
from ports import free_port
from wire_server import anthropic_client, openai_client, serving

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fastapi_server.py"
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


MESSAGES: Any = [{"role": "user", "content": "Rain?"}]
PREAMBLE = "我先查一下成都明天的天气 ☔ One moment, I am looking up the forecast."


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_without_calls(url, stream):
    with openai_client(url) as client, anthropic_client(url) as other:
        asked: Any = {"model": "recorded", "tool_choice": "none"}
        if stream:
            with client.chat.completions.stream(messages=MESSAGES, **asked) as chunks:
                [choice] = chunks.get_final_completion().choices
            with client.responses.stream(input="Rain?", **asked) as events:
                output = events.get_final_response().output
            asked = {"model": "recorded", "max_tokens": 999, "tool_choice": {"type": "none"}}
            with other.messages.stream(messages=MESSAGES, **asked) as events:
                message = events.get_final_message()
        else:
            [choice] = client.chat.completions.create(messages=MESSAGES, **asked).choices
            output = client.responses.create(input="Rain?", **asked).output
            asked = {"model": "recorded", "max_tokens": 999, "tool_choice": {"type": "none"}}
            message = other.messages.create(messages=MESSAGES, **asked)
    assert (choice.message.content, choice.message.tool_calls, choice.finish_reason) == (PREAMBLE, None, "stop")
    assert [item.type for item in output] == ["reasoning", "message"]
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.stop_reason == "end_turn"


def test_two_choices_and_their_usage(url):
    asked: Any = {"model": "recorded", "messages": MESSAGES, "n": 2}
    with openai_client(url) as client:
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as chunks:
            streamed = chunks.get_final_completion()
        whole = client.chat.completions.create(**asked)
        none = [chunk.usage for chunk in client.chat.completions.create(**asked, stream=True)]
    assert none == [None] * len(none)
    for made in (streamed, whole):
        assert [choice.index for choice in made.choices] == [0, 1]
        assert [choice.message.content for choice in made.choices] == [PREAMBLE] * 2
        ids = [call.id for choice in made.choices for call in choice.message.tool_calls or ()]
        assert len(set(ids)) == len(ids) == 2
        assert made.usage is not None
        assert made.usage.completion_tokens == 2 * 128


def post(url: str, path: str, body: bytes) -> tuple[int, Any]:
    client = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    client.request("POST", path, body)
    with client.getresponse() as response:
        found = response.status, json.loads(response.read())
    client.close()
    return found


BAD = [b"", b"{bad", b"[1]", b"\xff\xfe{", b'{"model": 5}', b'"text"']


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_bad_requests_are_refused_in_the_apis_own_words(url, path):
    for body in BAD:
        status, found = post(url, path, body)
        assert (status, found["type"], found["error"]["type"]) == (400, "error", "invalid_request_error")
        assert found["error"]["message"].startswith("Bad request: ")


def test_the_official_clients_know_a_refusal(url):
    with openai_client(url) as client:
        for n in (-1, 5, "two", 1.5):
            with pytest.raises(openai.BadRequestError, match="n is 1 to 4"):
                client.chat.completions.create(model="recorded", messages=MESSAGES, n=n)  # type: ignore[arg-type]
        model: Any = 5
        with pytest.raises(openai.BadRequestError, match="model is a str, not int") as refused:
            client.responses.create(model=model, input="?")
        assert refused.value.type == "invalid_request_error"
    with anthropic_client(url) as other, pytest.raises(anthropic.BadRequestError, match="model is a str, not int"):
        other.messages.create(model=model, messages=MESSAGES, max_tokens=9)


def test_it_runs_with_one_command_and_is_as_short_as_promised():
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 65
    port = free_port()
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
