"""Gateways that share a real Valkey or Redis, as their clients see them."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager

import pytest
from gateways import ANSWER, GPT_OSS, JSON, gateway, script_of
from valkey import needs_valkey, valkey

import harmonystream as hs
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating import redis_state

pytestmark = needs_valkey


@contextmanager
def two(url, **limits):
    with ExitStack() as stack:
        options = {"store": url, "limits": Limits(**limits)}
        yield [stack.enter_context(gateway(script_of(ANSWER), app_options=options)) for _ in range(2)]


def until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def asked(made):
    return b"".join(map(hs.vocab.o200k_harmony().token_bytes, made.sent()["prompt"])).decode()


def test_a_conversation_goes_on_at_another_gateway(tmp_path):
    with valkey(tmp_path) as store, two(store.url, concurrent_per_key=5) as (one, other):
        last = None
        for turn in range(4):
            made = (one, other)[turn % 2]
            more = {} if last is None else {"previous_response_id": last}
            answer = made.post("responses", input=f"turn {turn}", stream=False, **more)
            assert answer.status_code == 200, answer.text
            last = answer.json()["id"]
        assert [f"turn {turn}<" in asked(other) for turn in range(4)] == [True] * 4
        item = answer.json()["output"][-1]["id"]
        one.post("responses", input=[{"type": "item_reference", "id": item}, {"role": "user", "content": "Go"}])
        assert "<|channel|>final<|message|>Hi there!" in asked(one)
        assert one.http.get(f"/v1/responses/{last}").json()["id"] == last
        assert len(one.http.get(f"/v1/responses/{last}/input_items?limit=100").json()["data"]) == 4 + 3 * 2
        assert "harmonystream_stored_responses 5.0" in one.http.get("/metrics").text
        until(lambda: one.http.get("/health/ready").json().get("gateways") == 2)
        assert other.http.delete(f"/v1/responses/{last}").status_code == 200
        assert one.http.get(f"/v1/responses/{last}").status_code == 404
        unknown = one.post("responses", previous_response_id=last)
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "previous_response_not_found")
        many = [{"type": "item_reference", "id": f"msg_{at}"} for at in range(1001)]
        assert one.post("responses", input=many).status_code == 400


def test_answers_go_on_without_the_store_and_say_so(tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO")
    monkeypatch.setattr(redis_state, "BEAT", 0.1)
    with valkey(tmp_path) as store, two(store.url, store_wait=0.3, tokens_per_minute=10**6) as (one, other):
        kept = one.post("responses").json()["id"]
        store.kill()
        whole = one.post("responses")  # the first one finds out
        assert (whole.status_code, whole.json()["store"]) == (200, False)
        assert "not stored" in whole.headers["warning"]
        gone = {"status": "ok", "store": "unavailable"}
        until(lambda: all(made.http.get("/health/ready").json() == gone for made in (one, other)))
        stream = one.post("responses", stream=True)
        assert (stream.status_code, stream.text.count('"store":false') > 0) == (200, True)
        assert "not stored" in stream.headers["warning"]
        for api in ("chat", "messages"):
            answer = one.post(api)
            assert (answer.status_code, "warning" in answer.headers) == (200, False)
        for refused in (one.post("responses", previous_response_id=kept), one.http.get(f"/v1/responses/{kept}")):
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")
        assert one.http.get("/metrics").status_code == 200
        store.start()
        until(lambda: all(made.http.get("/health/ready").json()["store"] == "ok" for made in (one, other)))
        again = other.post("responses", previous_response_id=kept)
        assert (again.status_code, again.json()["store"], "warning" in again.headers) == (200, True, False)
    assert caplog.text.count("the store is not there") == 2
    assert caplog.text.count("the store answers again") == 2


def test_a_gateway_starts_without_its_store(tmp_path, monkeypatch):
    monkeypatch.setattr(redis_state, "BEAT", 0.1)
    with valkey(tmp_path) as store:
        store.kill()
        with two(store.url, store_wait=0.3) as (one, _):
            assert one.post("responses").status_code == 200
            store.start()
            until(lambda: one.http.get("/health/ready").json()["store"] == "ok")
            kept = one.post("responses").json()
            assert one.http.get(f"/v1/responses/{kept['id']}").json() == kept


def test_a_slow_store_costs_an_answer_its_wait_and_no_more(tmp_path):
    with valkey(tmp_path) as store, two(store.url, store_wait=0.3) as (one, _):
        one.post("responses")
        with store.paused():
            began = time.monotonic()
            answers = [one.post("responses", stream=stream) for stream in (True, False, True, False, True)]
            assert time.monotonic() - began < 2.5
        assert [answer.status_code for answer in answers] == [200] * 5
        assert all('"output"' in answer.text for answer in answers)


@pytest.mark.parametrize("limit", [{"concurrent_per_key": 2}, {"tokens_per_minute": 20}])
def test_limits_hold_for_both(tmp_path, limit):
    hangs = [*script_of(ANSWER)[:3], 30.0]
    with valkey(tmp_path) as store, ExitStack() as stack:
        script = hangs if "concurrent_per_key" in limit else script_of(ANSWER)
        options = {"store": store.url, "limits": Limits(**limit)}
        one, other = (stack.enter_context(gateway(script, app_options=options)) for _ in range(2))
        if "tokens_per_minute" in limit:
            assert one.post("chat").status_code == 200
            until(lambda: other.post("chat").status_code == 429)
            return
        body = {"stream": True, "model": GPT_OSS, "messages": [{"role": "user", "content": "?"}]}
        with ExitStack() as held:
            for made in (one, other):
                stream = held.enter_context(made.http.stream("POST", "/v1/chat/completions", json=body, headers=JSON))
                assert stream.status_code == 200
            for made in (one, other):
                refused = made.post("chat")
                assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
        until(lambda: not one.own.state.open() and not other.own.state.open())
        with one.http.stream("POST", "/v1/chat/completions", json=body, headers=JSON) as stream:
            assert stream.status_code == 200
