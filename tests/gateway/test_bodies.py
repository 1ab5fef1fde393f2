"""Bodies of requests are bounded in size and in time."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request

from harmonystream.gateway.bodies import DEEPEST, Json, read_json
from harmonystream.gateway.refused import Refused


def read(*pieces, most=100, seconds=5.0, headers=()):
    """Reads pieces; a float is slept."""
    left = list(pieces)

    async def receive():
        while isinstance(left[0], float):
            await asyncio.sleep(left.pop(0))
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": list(headers)}
    return asyncio.run(read_json(Request(scope, receive), most, seconds))


def status(*pieces, **options):
    with pytest.raises(Refused) as caught:
        read(*pieces, **options)
    return caught.value.status


def test_pieces_are_joined():
    assert read(b'{"a"', b": [1", b"]}") == ({"a": [1]}, 10)


def test_too_many_bytes():
    assert status(b" " * 60, b" " * 60) == 413
    assert status(b"{}", headers=[(b"content-length", b"101")]) == 413
    assert status(b"{}", headers=[(b"content-length", b"9" * 5000)]) == 413


def test_too_slow():
    assert status(b"{", 30.0, b"}", seconds=0.01) == 408


def test_nesting_is_bounded():
    def nested(levels):
        return b"[" * levels + b"{}" + b"]" * levels

    assert read(nested(DEEPEST - 1), most=1000)[1] == 2 * DEEPEST
    for levels in (DEEPEST, 400, 50_000):
        assert status(nested(levels), most=1 << 20) == 400


def test_half_a_surrogate_pair_can_be_answered():
    assert Json({"a": "\ud83d!"}).body == b'{"a":"?!"}'
