"""The three APIs over real HTTP, with the official clients, before an engine that speaks vLLM's contract."""

from __future__ import annotations

import json

import pytest
from gateways import ANSWER, ASKED, CALL, GPT_OSS, TOOLS, gateway, script_of, serving
from wire_server import Clients

import harmonystream as hs
from harmonystream.engines import Recorded
from harmonystream.gateway import app
from harmonystream.gateway.generating.demo import DEMO_NAME, demo_model

APIS = ("chat", "responses", "messages")


@pytest.fixture(scope="module")
def answering():
    with gateway(script_of(ANSWER)) as made, made.clients() as clients:
        yield made, clients


@pytest.fixture(scope="module")
def calling():
    with gateway(script_of(CALL)) as made, made.clients() as clients:
        yield made, clients


def summary_of(api, response):
    """(reasoning, content, calls, finish, (prompt tokens, completion tokens)) of a whole response."""
    usage = response["usage"]
    if api == "chat":
        (choice,) = response["choices"]
        message = choice["message"]
        calls = [(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls") or ()]
        counts = usage["prompt_tokens"], usage["completion_tokens"]
        return message.get("reasoning"), message.get("content"), calls, choice["finish_reason"], counts
    counts = usage["input_tokens"], usage["output_tokens"]
    blocks = response["output" if api == "responses" else "content"]
    found = {block["type"]: block for block in blocks}
    if api == "responses":
        calls = [(b["name"], b["arguments"]) for b in blocks if b["type"] == "function_call"]
        content = found["message"]["content"][0]["text"] if "message" in found else None
        return found["reasoning"]["summary"][0]["text"], content, calls, response["status"], counts
    calls = [(b["name"], json.dumps(b["input"])) for b in blocks if b["type"] == "tool_use"]
    return found["thinking"]["thinking"], found.get("text", {}).get("text"), calls, response["stop_reason"], counts


ENDS = {"chat": ("stop", "tool_calls"), "responses": ("completed",) * 2, "messages": ("end_turn", "tool_use")}


@pytest.mark.parametrize("api", APIS)
def test_an_answer_is_the_same_streamed_and_not(answering, api):
    _, clients = answering
    expected = ("Hello", "Hi there!", [], ENDS[api][0])
    assert summary_of(api, clients.at_once(api, GPT_OSS))[:4] == expected
    streamed = clients.assembled(api, GPT_OSS)
    if api != "chat":  # whose usage comes only if it is asked for
        assert summary_of(api, streamed)[:4] == expected
    assert "Hi there!" in json.dumps(streamed)


@pytest.mark.parametrize("api", APIS)
def test_the_usage_is_the_engines(answering, api):
    made, _ = answering
    response = made.post(api).json()
    assert summary_of(api, response)[4] == (9, 14)


@pytest.mark.parametrize("api", APIS)
def test_a_call_arrives_with_its_arguments(calling, api):
    made, _ = calling
    response = made.post(api, tools=TOOLS[api]).json()
    assert summary_of(api, response)[2:4] == ([("add", '{"a": 1}')], ENDS[api][1])


def test_the_engine_gets_ids_and_what_stops_it(answering):
    made, _ = answering
    made.post("chat", temperature=0.5, seed=7, top_k=3, max_tokens=77)
    sent = made.sent()
    assert sent["model"] == "m"
    assert all(type(tid) is int for tid in sent["prompt"])
    assert sent["stop_token_ids"] == [199999, 200002, 200012]
    assert sent["return_token_ids"] is True
    assert (sent["temperature"], sent["seed"], sent["top_k"], sent["max_tokens"]) == (0.5, 7, 3, 77)


def test_the_system_prompt_and_the_tools_are_in_the_prompt(calling):
    made, _ = calling
    made.post("messages", tools=TOOLS["messages"], system="Be brief.")
    vocab = hs.vocab.o200k_harmony()
    text = b"".join(map(vocab.token_bytes, made.sent()["prompt"])).decode()
    assert "# Instructions\n\nBe brief." in text
    assert "type add = (_: {\n" in text


def test_tokens_are_counted(calling):
    made, clients = calling
    asked = {"messages": [{"role": "user", "content": "What?"}], "tools": TOOLS["messages"]}
    counted = clients.anthropic.messages.count_tokens(model=GPT_OSS, **asked).input_tokens
    made.post("messages", **asked)
    assert counted == len(made.sent()["prompt"])
    refused = made.http.post("/v1/messages/count_tokens", json={"model": GPT_OSS})
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")


def test_streams_are_event_streams_and_have_ids(answering):
    made, _ = answering
    with made.http.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as response:
        text = "".join(response.iter_text())
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-request-id"].startswith("req_")
    assert text.endswith("data: [DONE]\n\n")


CHAT = {"model": GPT_OSS, "messages": [{"role": "user", "content": "?"}]}


def test_several_choices(answering):
    made, clients = answering
    whole = made.post("chat", n=3).json()
    assert [choice["message"]["content"] for choice in whole["choices"]] == ["Hi there!"] * 3
    assert whole["usage"]["completion_tokens"] == 42
    assert whole["usage"]["prompt_tokens"] == 9
    chunks = clients.openai.chat.completions.create(**CHAT, n=2, stream=True)
    texts = {0: "", 1: ""}
    for one in chunks:
        for choice in one.choices:
            texts[choice.index] += choice.delta.content or ""
    assert texts == {0: "Hi there!", 1: "Hi there!"}


def test_stop_strings_end_the_answer_in_the_content_alone(answering):
    made, _ = answering
    whole = made.post("chat", stop=["el", " there"]).json()
    assert whole["choices"][0]["message"]["content"] == "Hi"
    assert whole["choices"][0]["message"]["reasoning"] == "Hello"
    assert whole["usage"]["prompt_tokens"] == len(made.sent()["prompt"])
    assert "stop" not in made.sent()
    message = made.post("messages", stop_sequences=[" there"]).json()
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", " there")


def test_a_length_is_a_length():
    with gateway(script_of("<|channel|>final<|message|>Hi", "length")) as made:
        assert made.post("chat").json()["choices"][0]["finish_reason"] == "length"
        assert made.post("responses").json()["incomplete_details"] == {"reason": "max_output_tokens"}
        assert made.post("messages").json()["stop_reason"] == "max_tokens"


@pytest.fixture(scope="module")
def demo():
    with serving(app([demo_model(delay=0)])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            yield clients


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_without_an_engine_a_recording_is_served(demo, api):
    whole = demo.at_once(api, DEMO_NAME)
    assert summary_of(api, whole)[2][0][0] == "get_forecast"


def test_the_recording_in_messages(demo):
    with demo.anthropic.messages.stream(model=DEMO_NAME, **{**ASKED["messages"], "max_tokens": 500}) as events:
        message = events.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.content[2].input == {"city": "成都", "day": "tomorrow", "hourly": False}


def test_the_recording_goes_on_after_a_result(demo):
    asked = [{"role": "user", "content": "Rain?"}]
    first = demo.openai.chat.completions.create(model=DEMO_NAME, messages=asked).choices[0]
    assert first.finish_reason == "tool_calls"
    result = {"role": "tool", "tool_call_id": first.message.tool_calls[0].id, "content": "rain"}
    second = demo.openai.chat.completions.create(model="gpt-oss", messages=[*asked, first.message, result]).choices[0]
    assert (second.finish_reason, second.message.content) == ("stop", hs.parse(Recorded().turns[1]["ids"]).content)


def test_the_models_are_listed_for_both_clients(demo):
    assert [one.id for one in demo.openai.models.list()] == [DEMO_NAME, "gpt-oss", "recorded"]
    assert [one.id for one in demo.anthropic.models.list()] == [DEMO_NAME, "gpt-oss", "recorded"]
    assert demo.openai.models.retrieve(DEMO_NAME).id == DEMO_NAME
    with pytest.raises(Exception, match=f"There is no model 'no' here. The models are gpt-oss, {DEMO_NAME}, recorded."):
        demo.openai.models.retrieve("no")
