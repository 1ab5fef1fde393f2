"""`background` of Responses: the response is asked for while it is made, by any gateway, and may be cancelled."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import ExitStack, contextmanager
from hashlib import sha256

import pytest
from gateways import ANSWER, JSON, chunk, gateway, ids_of, script_of
from upstream import DROP, HANG, Upstream
from valkey import needs_valkey, valkey

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating.keys import Keys
from harmonystream.gateway.operating.state import LocalState

HALF = [chunk([tid]) for tid in ids_of("<|channel|>final<|message|>Half")]


class Gate:
    """A step of an engine's script, which waits until it is opened."""

    def __init__(self):
        self._open = threading.Event()
        self.open = self._open.set

    async def __call__(self):
        while not self._open.is_set():
            await asyncio.sleep(0.01)


def until(holds, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def begun(made, **more):
    answer = made.post("responses", background=True, **more)
    assert answer.status_code == 200, answer.text
    response = answer.json()
    assert (response["status"], response["background"], response["output"]) == ("in_progress", True, [])
    return response


def ended(made, id):
    def look():
        response = made.http.get(f"/v1/responses/{id}").json()
        return response if response["status"] != "in_progress" else None

    return until(look)


@contextmanager
def two(url, *scripts, **limits):
    with ExitStack() as stack:
        options = {"store": url, "limits": Limits(**limits)}
        yield [stack.enter_context(gateway(script, app_options=options)) for script in scripts]


def test_a_response_is_made_after_its_request():
    gate, script = Gate(), script_of(ANSWER)
    with gateway([*script[:6], gate, *script[6:]]) as made:
        first = begun(made, metadata={"a": "b"})
        now = made.http.get(f"/v1/responses/{first['id']}")
        assert now.json() == first
        assert "made_by" not in now.text
        early = made.post("responses", previous_response_id=first["id"])
        assert (early.status_code, early.json()["error"]["code"]) == (400, "previous_response_not_complete")
        gate.open()
        response = ended(made, first["id"])
        assert (response["status"], response["background"], response["store"]) == ("completed", True, True)
        assert response["output"][-1]["content"][0]["text"] == "Hi there!"
        assert response["metadata"] == {"a": "b"}
        assert made.post("responses", previous_response_id=first["id"]).status_code == 200
        again = made.http.post(f"/v1/responses/{first['id']}/cancel")
        assert (again.status_code, again.json()) == (200, response)
        assert "event: response.completed" in made.http.get(f"/v1/responses/{first['id']}?stream=true").text
        assert made.settled()


def test_a_response_that_is_cancelled_or_deleted_ends_its_generation():
    engine = Upstream([*HALF, HANG])
    with gateway(engine) as made:
        first, other = begun(made), begun(made)
        until(lambda: len(engine.requests) == 2)
        cancelled = made.http.post(f"/v1/responses/{first['id']}/cancel").json()
        assert (cancelled["status"], cancelled["id"]) == ("cancelled", first["id"])
        assert made.http.delete(f"/v1/responses/{other['id']}").status_code == 200
        until(lambda: engine.gone == 2)
        assert made.settled()
        assert made.http.get(f"/v1/responses/{first['id']}").json() == cancelled
        assert made.http.get(f"/v1/responses/{other['id']}").status_code == 404
        assert made.http.post("/v1/responses/resp_none/cancel", headers=JSON).status_code == 404


def test_a_response_whose_engine_fails_has_failed():
    with gateway([*HALF, DROP], app_options={"limits": Limits(retries=0)}) as made:
        response = ended(made, begun(made)["id"])
        assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
        assert "http" not in response["error"]["message"]
        assert made.settled()


@pytest.mark.parametrize(
    ("more", "param"),
    [({"store": False}, "store"), ({"stream": True}, "stream"), ({"model": "none"}, "model"), ({"input": 5}, "input")],
)
def test_what_cannot_be_made_in_the_background_is_refused_at_once(more, param):
    with gateway(script_of(ANSWER)) as made:
        refused = made.post("responses", background=True, **more)
        assert (refused.status_code // 100, refused.json()["error"]["param"]) == (4, param)
        assert made.settled()


def test_a_gateway_that_stores_nothing_refuses_it():
    with gateway(script_of(ANSWER), app_options={"limits": Limits(stored=0)}) as made:
        refused = made.post("responses", background=True)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")
    with gateway(script_of(ANSWER), app_options={"limits": Limits(stored_bytes=10)}) as made:
        assert made.post("responses", background=True).status_code == 400
        assert made.settled()


def test_a_response_that_is_not_in_the_background_cannot_be_cancelled():
    with gateway(script_of(ANSWER)) as made:
        id = made.post("responses").json()["id"]
        refused = made.http.post(f"/v1/responses/{id}/cancel")
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "response_id")


def test_it_counts_for_the_limits_until_it_ends():
    gate = Gate()
    limits = Limits(concurrent_per_key=1)
    with gateway([gate, *script_of(ANSWER)], app_options={"limits": limits}) as made:
        first = begun(made)
        assert made.post("responses", background=True).status_code == 429
        gate.open()
        assert ended(made, first["id"])["status"] == "completed"
        until(lambda: made.post("responses").status_code == 200)


def test_nobody_else_sees_or_cancels_it():
    gate = Gate()

    keys = Keys({sha256(key.encode()).hexdigest(): key for key in ("ann", "bob")})
    with gateway([gate, *script_of(ANSWER)], app_options={"keys": keys}) as made:
        ann, bob = ({"authorization": f"Bearer {key}"} for key in ("ann", "bob"))
        body = {"input": "?", "background": True, "model": next(iter(made.own.models))}
        id = made.http.post("/v1/responses", json=body, headers=ann).json()["id"]
        assert made.http.get(f"/v1/responses/{id}", headers=bob).status_code == 404
        assert made.http.post(f"/v1/responses/{id}/cancel", headers=bob).status_code == 404
        assert made.http.post(f"/v1/responses/{id}/cancel").status_code == 401
        gate.open()
        until(lambda: made.http.get(f"/v1/responses/{id}", headers=ann).json()["status"] == "completed")


def test_a_gateway_that_stops_lets_it_end():
    gate = Gate()
    limits = Limits(drain=10)
    state = LocalState(limits)
    engine = Upstream([gate, *script_of(ANSWER)])
    with gateway(engine, app_options={"store": state, "limits": limits}) as made:
        id = begun(made)["id"]
        until(lambda: engine.requests)
        threading.Timer(0.3, gate.open).start()
    assert state.store.response("", id)[1]["status"] == "completed"


@needs_valkey
def test_another_gateway_shows_and_cancels_it(tmp_path):
    gate, hang = Gate(), Upstream([*HALF, HANG])
    with valkey(tmp_path) as store, two(store.url, [gate, *script_of(ANSWER)], hang) as (one, other):
        first = begun(one)
        assert other.http.get(f"/v1/responses/{first['id']}").json() == first
        gate.open()
        assert ended(other, first["id"])["status"] == "completed"
        second = begun(other)
        until(lambda: hang.requests)
        assert one.http.post(f"/v1/responses/{second['id']}/cancel").json()["status"] == "cancelled"
        until(lambda: hang.gone == 1)
        assert other.settled()
        assert one.http.get(f"/v1/responses/{second['id']}").json()["status"] == "cancelled"


@needs_valkey
def test_if_its_gateway_is_gone_it_has_failed(tmp_path):
    with valkey(tmp_path) as store, two(store.url, [HANG], script_of(ANSWER)) as (one, other):
        id = begun(one)["id"]
        asyncio.run(_forget(store.url, one.own.state.me))  # as if it had been killed ten seconds ago
        response = other.http.get(f"/v1/responses/{id}").json()
        assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
        one.http.post(f"/v1/responses/{id}/cancel")
        assert one.settled()


async def _forget(url, name):
    from redis.asyncio import Redis

    async with Redis.from_url(url) as client:
        assert await client.zrem("harmonystream:alive", name) == 1


def test_a_worker_that_has_ended_is_not_alive(tmp_path):
    async def main():
        alone, shared = LocalState(Limits()), LocalState(Limits(), tmp_path)
        gone = os.fork()
        if not gone:
            os._exit(0)
        os.waitpid(gone, 0)
        names = str(os.getpid()), str(os.getppid()), str(gone), "x"
        assert [await shared.is_alive(name) for name in names] == [True, True, False, False]
        assert [await alone.is_alive(name) for name in names] == [True, False, False, False]

    asyncio.run(main())
