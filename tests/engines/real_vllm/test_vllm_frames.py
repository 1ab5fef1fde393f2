"""Chat Completions and Messages with the frames of our emitters."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

pytest.importorskip("vllm")

import openai
from host_scenarios import FLAT, MESSAGES, TOOLS, Contents, ids_of, played, scenarios
from test_vllm_derender import post
from vllm_answers import chat_stream, expected, messages, responses
from wire_scenarios import SCENARIOS, write

WHOLE = [("qwen3", "hermes"), ("gpt_oss", "harmony")]
CASES = [(family, format, name) for family, format in WHOLE for name in scenarios(format)]
CALLING = "preamble and three calls"


def raw(server: Any, **more: Any) -> list[dict[str, Any]]:
    """The chunks of a stream."""
    status, body = post(server, "/v1/chat/completions", {"model": "tiny", "messages": MESSAGES, "stream": True, **more})
    assert status == 200
    *frames, end = body.decode().split("\n\n")[:-1]
    assert end == "data: [DONE]"
    return [json.loads(frame.removeprefix("data: ")) for frame in frames]


@pytest.mark.parametrize(("family", "format", "name"), CASES)
def test_chat_says_what_the_parser_says(server, family, format, name):
    host, scenario = server(family, "frames"), scenarios(format)[name]
    play = played(format, scenario)
    for size in (1, 3):
        host.play(play.ids, finish=play.finish, at_once=size)
        said, usage = chat_stream(host)
        want = expected(host, play.ids, reason=play.finish)
        assert said._replace(content="", reasoning="") == want._replace(content="", reasoning="")
        assert (said.reasoning.replace("\n\n", ""), said.content.replace("\n\n", "")) == (
            want.reasoning.replace("\n\n", ""),
            want.content.replace("\n\n", ""),
        )
        assert usage.completion_tokens == len(play.ids)


@pytest.mark.parametrize(("family", "format", "name"), CASES)
def test_messages_say_what_the_parser_says(server, family, format, name):
    """Also where vLLM's own events would make the client raise."""
    host, scenario = server(family, "frames"), scenarios(format)[name]
    play = played(format, scenario)
    host.play(play.ids, finish=play.finish)
    said, want = messages(host), expected(host, play.ids)
    texts = [each.replace("\n\n", "").strip() for each in (said.reasoning, said.content, want.reasoning, want.content)]
    assert texts[:2] == texts[2:]  # two messages are two blocks
    assert [call[0] for call in said.calls] == [call[0] for call in want.calls]


def test_the_frames_are_ours(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, write("hermes", SCENARIOS[CALLING]), stops=True))
    chunks = raw(host, tools=TOOLS)
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert set(chunks[1]) == {"id", "object", "created", "model", "system_fingerprint", "choices"}
    assert len({chunk["created"] for chunk in chunks}) == 1
    ids = [c["id"] for k in chunks for c in k["choices"][0]["delta"].get("tool_calls", ()) if "id" in c]
    assert len(ids) == 3 and all(each.startswith("call_") for each in ids)


@pytest.mark.parametrize("size", [1, 4])
def test_stop_strings_choices_and_hidden_parts(server, size):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "<think>\nHm.\n</think>\n\nOne, two. STOP here", stops=False), at_once=size)
    said, _ = chat_stream(host, stop=["STOP"])
    assert said == Contents("Hm.", "One, two. ", (), "stop")
    last = raw(host, stop=["STOP"])[-1]["choices"][0]
    assert (last["finish_reason"], last["stop_reason"]) == ("stop", "STOP")
    assert chat_stream(host, extra_body={"include_reasoning": False})[0].reasoning == ""
    chunks = raw(host, n=2, stream_options={"include_usage": True})
    for index in (0, 1):
        texts = [c["delta"].get("content") or "" for k in chunks for c in k["choices"] if c["index"] == index]
        assert "".join(texts) == "One, two. STOP here"
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] % 2 == 0
    assert chunks[-1]["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0


def test_every_tool_choice(server):
    host = server("qwen3", "frames")
    ids = ids_of(host.family, write("hermes", SCENARIOS[CALLING]), stops=True)
    host.play(ids)
    named = {"type": "function", "function": {"name": "f"}}
    reasons = {"auto": "tool_calls", "required": "tool_calls", "none": "stop"}
    for choice in ("auto", "required", named, "none"):
        said, _ = chat_stream(host, tool_choice=choice)
        want = expected(host, ids)
        reason = "stop" if choice == named else reasons[choice]
        assert (said.calls, said.reason) == (() if choice == "none" else want.calls, reason)
    assert len(chat_stream(host, parallel_tool_calls=False)[0].calls) == 1


def test_what_is_left_to_vllm_is_streamed_by_it_and_logged_once(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "Hi", stops=True))
    for _ in range(2):
        assert raw(host, return_token_ids=True)[1]["choices"][0]["token_ids"]
    assert host.log().count("vLLM streams requests with return_token_ids") == 1
    continuous = {"include_usage": True, "continuous_usage_stats": True}
    assert all(chunk["usage"] for chunk in raw(host, stream_options=continuous))


def test_a_request_that_the_engine_cannot_take_is_refused(server):
    host = server("qwen3", "frames")
    client = openai.OpenAI(base_url=f"{host.url}/v1", api_key="-", max_retries=0)
    with client, pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=10**9, stream=True)


def test_the_error_of_an_engine_ends_a_stream(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "Hi there", stops=False), finish="error")
    chunks = raw(host)
    assert "error" in chunks[-1] and chunks[-1]["error"]["message"]
    request = urllib.request.Request(f"{host.url}/health")
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200


RESPONSES = [(*row, name) for row in WHOLE for name in ("reasoning and content", CALLING, "empty arguments")]


@pytest.mark.parametrize(("family", "format", "name"), [*RESPONSES, ("qwen3", "hermes", "cut in arguments")])
def test_responses_say_what_the_parser_says(server, family, format, name):
    host, scenario = server(family, "frames"), scenarios(format)[name]
    play = played(format, scenario)
    for size in (1, 3):
        host.play(play.ids, finish=play.finish, at_once=size)
        said, want = responses(host, streams=True), expected(host, play.ids, reason=play.finish)
        assert (said.reasoning, said.content.strip(), said.calls) == (want.reasoning, want.content.strip(), want.calls)
        assert said.reason == ("incomplete" if play.finish == "length" else "completed")


def test_the_events_of_responses_are_ours(server):
    host = server("qwen3", "frames")
    ids = ids_of(host.family, write("hermes", SCENARIOS[CALLING]), stops=True)
    host.play(ids)
    body = {"model": "tiny", "input": "Go!", "tools": FLAT, "store": False, "stream": True, "temperature": 0.5}
    status, answer = post(host, "/v1/responses", body)
    assert status == 200
    frames = [frame.split("\ndata: ") for frame in answer.decode().split("\n\n")[:-1]]
    events = [json.loads(data) for _, data in frames]
    assert [name for name, _ in frames] == [f"event: {event['type']}" for event in events]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    whole = events[-1]["response"]
    assert (events[0]["type"], events[-1]["type"]) == ("response.created", "response.completed")
    assert (whole["temperature"], len(whole["tools"]), whole["id"]) == (0.5, len(FLAT), events[0]["response"]["id"])
    assert whole["usage"]["output_tokens"] == len(ids) and whole["usage"]["output_tokens_details"]["reasoning_tokens"]


def test_responses_that_are_left_to_vllm_are_logged_once(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "Hi", stops=True))
    for _ in range(2):
        assert responses(host, streams=True, extra_body={"enable_response_messages": True}).content == "Hi"
    assert host.log().count("vLLM streams Responses with enable_response_messages") == 1


def test_the_error_of_an_engine_ends_a_stream_of_responses(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "Hi there", stops=False), finish="error")
    body = {"model": "tiny", "input": "Go!", "store": False, "stream": True}
    status, answer = post(host, "/v1/responses", body)
    assert status == 200 and "response.failed" in answer.decode().split("\n\n")[-2]
