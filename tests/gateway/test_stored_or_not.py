"""`store` in a response: it is true where the response can be asked for afterwards, and false where it cannot."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext

import pytest
from gateways import ANSWER, chunk, gateway, ids_of, script_of
from upstream import DROP, Upstream
from valkey import needs_valkey, valkey

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.requests.responses_api import not_stored

HALF = ids_of("<|channel|>final<|message|>Half")


def last_of(text):
    """The response in the last event of a stream."""
    return json.loads(text.rstrip().rpartition("data: ")[2])["response"]


def asked(made, stream):
    """A response, streamed or not, and whether it can be asked for."""
    answer = made.post("responses", stream=stream, input="x" * 200)
    response = last_of(answer.text) if stream else answer.json()
    found = made.http.get(f"/v1/responses/{response['id']}")
    assert found.status_code in (200, 404)
    if found.status_code == 200:
        assert found.json() == response
    return response, found.status_code == 200


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("limits", "stored"),
    [({}, True), ({"stored": 0}, False), ({"stored_bytes": 500}, False), ({"stored_per_key": 1}, True)],
)
@pytest.mark.parametrize("shared", [False, pytest.param(True, marks=needs_valkey)])
def test_a_response_says_whether_it_is_stored(stream, limits, stored, shared, tmp_path):
    with valkey(tmp_path) if shared else nullcontext() as store:
        options = {"limits": Limits(**limits), **({"store": store.url} if shared else {})}
        with gateway(script_of(ANSWER), app_options=options) as made:
            response, found = asked(made, stream)
    assert (response["status"], response["store"], found) == ("completed", stored, stored)


@needs_valkey
@pytest.mark.parametrize("stream", [False, True])
def test_a_store_that_goes_while_an_answer_is_made_is_no_promise(stream, tmp_path, monkeypatch):
    with valkey(tmp_path) as store:

        async def kill():
            await asyncio.to_thread(store.kill)

        script = script_of(ANSWER)
        options = {"store": store.url, "limits": Limits(store_wait=0.5)}
        with gateway([*script[:5], kill, *script[5:]], app_options=options) as made:
            answer = made.post("responses", stream=stream)
            response = last_of(answer.text) if stream else answer.json()
            assert (response["status"], response["store"]) == ("completed", False)
            assert response["output"][-1]["content"][0]["text"] == "Hi there!"


def test_a_stream_that_fails_is_not_stored():
    with gateway(Upstream([*(chunk([tid]) for tid in HALF), DROP]), app_options={"limits": Limits(retries=0)}) as made:
        response, found = asked(made, True)
    assert (response["status"], response["store"], found) == ("failed", False, False)


def test_only_the_last_frame_changes_and_only_its_own_word():
    kept = 'event: a\ndata: {"response":{"store":true}}\n\n'
    schema = {"properties": {"store": True}, "text": 'é "store":true \ud800'}
    last = {"type": "response.completed", "response": {"store": True, "tools": [schema]}, "sequence_number": 3}
    data = json.dumps(last, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
    frames = (kept + f"event: response.completed\ndata: {data}\n\n").encode()
    assert not_stored(frames) == frames.replace(b'{"store":true,"tools"', b'{"store":false,"tools"')
