"""What is counted and logged of requests, and what is not."""

from __future__ import annotations

import json
import logging
import time

import pytest
from gateways import ANSWER, CALL, GPT_OSS, TOOLS, gateway, script_of
from prometheus_client.parser import text_string_to_metric_families


def samples(made):
    text = made.http.get("/metrics").text
    families = text_string_to_metric_families(text)
    return {
        (s.name.removeprefix("harmonystream_"), *sorted(s.labels.values())): s.value
        for f in families
        for s in f.samples
    }


def settled(made):
    """The metrics once all requests have ended."""
    assert made.settled()
    return samples(made)


@pytest.fixture
def logged(caplog):
    caplog.set_level(logging.INFO, "harmonystream.gateway")
    return lambda: [json.loads(record.getMessage()) for record in caplog.records if record.levelname == "INFO"]


def test_an_answer_is_counted_and_logged(logged):
    with gateway(script_of(ANSWER)) as made:
        answer = made.post("chat", stream=True, messages=[{"role": "user", "content": "a SECRET question"}])
        answer.read()
        found = settled(made)
        assert found["requests_total", "200", "chat", GPT_OSS] == 1
        assert found["outcomes_total", "chat", "ok", GPT_OSS] == 1
        assert found["finishes_total", "chat", GPT_OSS, "stop"] == 1
        assert found["tokens_total", "chat", "completion", GPT_OSS] == 14
        assert found["tokens_total", "chat", GPT_OSS, "reasoning"] == 1
        assert found["tokens_total", "chat", GPT_OSS, "prompt"] > 60
        assert found["time_to_first_token_seconds_count", "chat", GPT_OSS] == 1
        assert found["time_per_output_token_seconds_count", "chat", GPT_OSS] == 1
        assert found["request_duration_seconds_count", "chat", GPT_OSS] == 1
        assert found["requests_running",] == 0
    (line,) = logged()
    assert line["request"] == answer.headers["x-request-id"]
    assert (line["status"], line["outcome"], line["finish"], line["completion_tokens"]) == (200, "ok", "stop", 14)
    assert (line["model"], line["api"], line["stream"], line["deviations"]) == (GPT_OSS, "chat", True, {})
    assert "SECRET" not in json.dumps(line)


@pytest.mark.parametrize(
    ("asked", "error"),
    [({"messages": []}, "invalid_request_error"), ({"n": 999}, "invalid_value")],
)
def test_the_log_names_why_a_request_was_refused(asked, error, logged):
    with gateway([]) as made:
        assert made.post("chat", **asked).status_code == 400
        assert made.settled()
    (line,) = logged()
    assert line["error"] == error


@pytest.mark.parametrize("api", TOOLS)
def test_a_stream_that_fails_has_no_reason_of_the_model(api, logged):
    begun = script_of(CALL.removesuffix("1}<|call|>"), "stop")[:-2]  # without the engine's reason
    with gateway([*begun, {"error": {"message": "out of memory"}}]) as made:
        made.post(api, stream=True, tools=TOOLS[api]).read()
        found = settled(made)
    for name, label in (("outcomes_total", "failed"), ("finishes_total", "error")):
        assert found[(name, *sorted((api, label, GPT_OSS)))] == 1
    assert found["tool_calls_total", "complete", GPT_OSS] == 0
    assert [(line["outcome"], line["finish"]) for line in logged()] == [("failed", "error")]


def test_calls_and_deviations_are_counted_by_what_became_of_them():
    cut = CALL.removesuffix("1}<|call|>")
    with gateway(script_of(CALL)) as made:
        made.post("chat", tools=TOOLS["chat"])
        assert settled(made)["tool_calls_total", "complete", GPT_OSS] == 1
    with gateway(script_of(cut, "length")) as made:
        made.post("chat", tools=TOOLS["chat"])
        found = settled(made)
        assert found["tool_calls_total", "cut", GPT_OSS] == 1
        assert found["tool_calls_total", "complete", GPT_OSS] == 0
    with gateway(script_of("<|channel|>finale<|message|>Hi<|return|>")) as made:
        made.post("chat")
        assert settled(made)["deviations_total", "misspelt-channel", GPT_OSS] == 1


def test_no_label_has_what_a_client_says(logged):
    with gateway(script_of(ANSWER, "an odd reason")) as made:
        made.post("chat", model="EVIL")
        made.http.get("/EVIL")
        made.http.post("/v1/chat/completions", content=b"EVIL")
        made.post("chat")
        text = made.http.get("/metrics").text
        assert "EVIL" not in text
        assert "odd" not in text
    assert [line["outcome"] for line in logged()][:3] == ["refused"] * 3
    assert "EVIL" not in json.dumps(logged())


def test_the_ids_of_requests():
    with gateway(script_of(ANSWER)) as made:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        body = {"messages": [{"role": "user", "content": "?"}]}
        headers = {"x-request-id": "my-1", "traceparent": trace, "authorization": "Bearer theirs"}
        answer = made.http.post("/v1/chat/completions", json=body, headers=headers)
        assert answer.headers["x-request-id"] == answer.headers["request-id"] == "my-1"
        sent = {name.lower(): value for name, value in made.engines[0].headers[-1].items()}
        assert (sent["x-request-id"], sent["traceparent"]) == ("my-1", trace)
        assert "authorization" not in sent
        bad = {"x-request-id": "a b", "traceparent": "nonsense"}
        answer = made.http.post("/v1/chat/completions", json=body, headers=bad)
        assert answer.headers["x-request-id"].startswith("req_")
        assert "traceparent" not in {name.lower() for name in made.engines[0].headers[-1]}


def test_a_client_that_goes_is_counted_as_gone(logged):
    with gateway([*script_of(ANSWER)[:5], 30.0]) as made:
        body = {"model": GPT_OSS, "messages": [{"role": "user", "content": "?"}], "stream": True}
        with made.http.stream("POST", "/v1/chat/completions", json=body) as response:
            next(response.iter_bytes())
        found = settled(made)
        assert found["outcomes_total", "chat", "gone", GPT_OSS] == 1
        deadline = time.monotonic() + 10
        while not made.engines[0].gone and time.monotonic() < deadline:
            time.sleep(0.005)
        assert made.engines[0].gone == 1
    assert logged()[-1]["outcome"] == "gone"


@pytest.mark.parametrize("stream", [False, True])
def test_a_log_has_contents_only_if_the_settings_ask_for_them(caplog, stream):
    caplog.set_level("INFO", "harmonystream.gateway")
    asked = {"messages": [{"role": "user", "content": "a secret\ud800"}], "stream": stream}
    for contents in (False, True):
        caplog.clear()
        with gateway(script_of(ANSWER), app_options={"log_contents": contents}) as made:
            assert made.http.post("/v1/chat/completions", content=json.dumps(asked)).status_code == 200
            assert made.settled()
        (line,) = [json.loads(record.getMessage()) for record in caplog.records if "{" in record.getMessage()]
        assert ("asked" in line, "answered" in line) == (contents, contents)
        assert ("secret" in caplog.text, "Hi there!" in caplog.text) == (contents, contents)
    assert json.loads(line["asked"]) == asked
    assert line["answered"]["choices"][0]["message"]["content"] == "Hi there!"
