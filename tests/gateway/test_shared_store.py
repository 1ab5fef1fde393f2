"""Gateways that share a real Valkey or Redis, as their clients see them."""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from random import Random
from urllib.parse import quote

import pytest
from gateways import ANSWER, GPT_OSS, JSON, gateway, script_of
from valkey import needs_valkey, valkey

import harmonystream as hs
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating import redis_state
from harmonystream.gateway.operating.keys import Keys

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


def hostile_ids(random, ids):
    """Ids of another owner, and what could become them on the way to the store."""
    id = random.choice(ids)
    changed = [id, f" {id}", f"{id}\n", f"{id}\x00", id.upper(), f"../{id}", f"{id}/..", f"{id[:-1]}*", f"{id}%00", ""]
    changed += [f"{OWNERS[0]}/{id}", f'{OWNERS[0]}", "{id}', f'["{OWNERS[0]}", "{id}"]', f"{id}\ud800", "r" * 50_000]
    changed += ["*", "harmonystream:r:*"]
    return random.choice(changed)


OWNERS = "ann-of-the-tests", "bob-of-the-tests"


@pytest.mark.parametrize("seal", [None, "a seal of the tests, long enough"])
def test_one_key_reaches_changes_and_evicts_nothing_of_another(tmp_path, seal):
    random = Random(5)
    keys = Keys({sha256(key.encode()).hexdigest(): key for key in OWNERS})
    limits = Limits(stored=12, tokens_per_minute=1000, concurrent_per_key=3)
    with valkey(tmp_path) as store, ExitStack() as stack:
        state = redis_state.RedisState(store.url, limits, seal=seal)
        options = {"keys": keys, "limits": limits, "store": state}
        made = stack.enter_context(gateway(script_of(ANSWER), app_options=options))
        ann, bob = ({"authorization": f"Bearer {key}"} for key in OWNERS)
        body = {"model": next(iter(made.own.models)), "input": "a secret of ann"}

        def ask(headers, **more):
            return made.http.post("/v1/responses", content=json.dumps({**body, **more}), headers={**JSON, **headers})

        first = [ask(ann).json() for _ in range(3)]
        ids = [one["id"] for one in first] + [item["id"] for one in first for item in one["output"]]
        kept = {one["id"]: made.http.get(f"/v1/responses/{one['id']}", headers=ann).json() for one in first}

        def attack():
            id = hostile_ids(random, ids)
            told = {**bob, "x-request-id": random.choice(ids), "x-owner": OWNERS[0]}
            path = f"/v1/responses/{quote(id, safe='', errors='replace')}"
            reference = [{"type": "item_reference", "id": id}, {"role": "user", "content": "?"}]
            return random.choice(
                (
                    lambda: made.http.get(path, headers=told),
                    lambda: made.http.get(f"{path}?stream=true", headers=told),
                    lambda: made.http.get(f"{path}/input_items?limit=100", headers=told),
                    lambda: made.http.delete(path, headers=told),
                    lambda: made.http.post(f"{path}/cancel", headers=told),
                    lambda: ask(told, input="?", previous_response_id=id),
                    lambda: ask(told, input=reference),
                    lambda: ask(told, input="?", previous_response_id=[id]),
                )
            )()

        for _ in range(200):
            answer = attack()
            assert answer.status_code in (307, 400, 404, 405, 429), (answer.status_code, answer.text)
            assert "secret" not in answer.text and "Hi there!" not in answer.text
        refused = 0
        while refused < 3:  # bob uses all that he may, and stores more than there is room for
            refused += ask(bob, input="?").status_code == 429
        assert made.http.get("/health/ready").json()["store"] == "ok"
        assert ask(ann).status_code == 200
        for id, response in kept.items():
            assert made.http.get(f"/v1/responses/{id}", headers=ann).json() == response
            assert ask(ann, previous_response_id=id).status_code == 200
        said = b"".join(path.read_bytes() for path in (tmp_path / "appendonlydir").rglob("*.aof"))
    names = b" ".join(re.findall(rb"harmonystream:[^\r]*", said))
    assert len(names) > 1000
    for word in (*OWNERS, *ids):
        assert word.encode() not in (names if seal is None else said)
    assert (b"secret" in said) == (seal is None)
