"""Bodies of requests are bounded in size and in time."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from harmonystream.gateway.bodies import DEEPEST, Json, read_json
from harmonystream.gateway.refused import Refused

TYPE = (b"content-type", b"application/json")


def read(*pieces, most=100, seconds=5.0, headers=()):
    """Reads pieces; a float is slept."""
    left = list(pieces)

    async def receive():
        while isinstance(left[0], float):
            await asyncio.sleep(left.pop(0))
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [TYPE, *headers]}
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


def test_dense_bodies_are_bounded():
    many = 33_000_000
    for body in (
        b"[" + b"[]," * 1_000_001 + b"[]]",
        b"[" + b"1," * 4_000_001 + b"1]",
        b'["' + b"\\n" * 4_000_001 + b'"]',
    ):
        assert status(body, most=many) == 400


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.booleans(),
)
def test_both_parsers_read_the_same(value, ascii):
    data = json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    try:
        expected = json.loads(data.decode())
    except UnicodeDecodeError:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harmonystream.gateway.bodies.STEPS", 0)
        assert read(data, most=1 << 20) == (expected, len(data))


@pytest.mark.parametrize("body", [b"", b"[", b"[1,]", b'{"a" 1}', b'"\n"', b'"\\x"', b"NaN", b"[NaN]", b"01", b"[] []"])
def test_both_parsers_refuse_the_same(body, monkeypatch):
    assert status(body) == 400
    monkeypatch.setattr("harmonystream.gateway.bodies.STEPS", 0)
    assert status(body) == 400


def test_half_a_surrogate_pair_can_be_answered():
    assert Json({"a": "\ud83d!"}).body == b'{"a":"?!"}'
