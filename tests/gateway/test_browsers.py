"""A page in a browser drives no gateway without keys, and what this machine alone may see stays here."""

from __future__ import annotations

import json

import pytest
from gateways import ANSWER, ASKED, GPT_OSS, gateway, script_of
from starlette.datastructures import Headers

from harmonystream.gateway.operating.keys import Keys, line_of
from harmonystream.gateway.refused import Refused
from harmonystream.gateway.requests.browsers import check_page, is_from_here

PATH = "/v1/chat/completions"
BODY = json.dumps({"model": GPT_OSS, **ASKED["chat"]})
EVIL = "https://evil.example"


def code(headers, hosts=(), origins=()):
    try:
        check_page(Headers(headers), hosts, origins)
    except Refused as refused:
        return refused.code
    return None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "127.0.0.1:8000",
        "[::1]:8000",
        "10.0.0.7",
        "gateway:8000",
        "a.localhost",
        "localhost.",
    ],
)
def test_names_that_nobody_else_can_own(host):
    assert code({"host": host}) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"]
)
def test_other_names_must_be_in_the_settings(host):
    assert code({"host": host}) == "host_not_allowed"
    assert code({"host": host}, hosts=[host.partition(":")[0]]) is None
    assert code({"host": host}, hosts=["*"]) is None


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:9000", "http://127.0.0.1", ""])
def test_other_origins_must_be_in_the_settings(origin):
    assert code({"host": "localhost:8000", "origin": origin}) == "origin_not_allowed"
    assert code({"host": "localhost:8000", "origin": origin}, origins=[origin]) is None
    assert code({"host": "localhost:8000", "origin": origin}, origins=["*"]) is None


def test_the_gateways_own_pages_may_ask():
    assert code({"host": "localhost:8000", "origin": "http://localhost:8000"}) is None
    assert code({}) is None


def test_a_page_gets_nothing():
    with gateway(script_of(ANSWER)) as made:
        for headers in ({"origin": EVIL}, {"host": "evil.example"}):
            for path in (PATH, "/v1/messages/count_tokens"):
                assert made.http.post(path, content=BODY, headers=headers).status_code == 403
            assert made.http.get("/v1/models", headers=headers).status_code == 403
        assert not made.engines[0].requests


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_json_must_say_that_it_is_json(kind):
    with gateway(script_of(ANSWER)) as made:
        answer = made.http.post(PATH, content=BODY, headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"]["code"]) == (415, "unsupported_media_type")
        for right in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"):
            assert made.http.post(PATH, content=BODY, headers={"content-type": right}).status_code == 200


def test_with_keys_any_name_will_do():
    keys = Keys({line_of("ann", "KEY").split()[1]: "ann"})
    with gateway(script_of(ANSWER), app_options={"keys": keys}) as made:
        headers = {"host": "llm.example.com", "origin": EVIL, "x-api-key": "KEY", "authorization": "Bearer placeholder"}
        assert made.http.post(PATH, content=BODY, headers=headers).status_code == 200
        refused = made.http.post(PATH, content=BODY)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


LOCAL = {"host": "localhost:8000"}


@pytest.mark.parametrize(
    ("client", "headers", "here"),
    [
        ("127.0.0.1", LOCAL, True),
        ("::1", {"host": "[::1]:8000"}, True),
        ("127.0.0.1", {**LOCAL, "origin": "http://localhost:8000"}, True),
        ("127.0.0.1", {**LOCAL, "origin": EVIL}, False),
        ("127.0.0.1", {**LOCAL, "x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {**LOCAL, "forwarded": "for=127.0.0.1"}, False),
        ("10.0.0.7", LOCAL, False),
        ("127.0.0.1", {"host": "evil.example"}, False),
        (None, LOCAL, False),
    ],
)
def test_who_is_on_this_machine(client, headers, here):
    assert is_from_here(client, Headers(headers)) is here
