"""Bodies of requests are bounded in size and in time."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace

import pytest
from gateways import ANSWER, gateway, script_of
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from harmonystream.gateway.generating.model import Served
from harmonystream.gateway.refused import Refused
from harmonystream.gateway.requests import bodies
from harmonystream.gateway.requests.bodies import DEEPEST, MOST_GROUPS, Json, read_json

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
        b"[" + b"[]," * MOST_GROUPS + b"[]]",
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
        patch.setattr("harmonystream.gateway.requests.bodies.STEPS", 0)
        assert read(data, most=1 << 20) == (expected, len(data))


STRINGS = ["a", "é", "\\n", '\\"', "\\\\", "\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\u", "\\x", "\n", '"', "y" * 5000]


@given(st.lists(st.sampled_from(STRINGS), max_size=20).map("".join))
def test_a_string_is_read_in_parts_as_in_one(inner):
    text = f'["{inner}"'

    def value(read):
        try:
            return read(f"{text}]")
        except ValueError:
            return None

    assert value(lambda given: bodies._in_steps(given, None)) == value(json.loads)


def test_no_part_of_a_string_is_long():
    text = "x" * 10_000_000 + '\\"' * 100_000 + '"'
    assert bodies._string(text, 0) == ("x" * 10_000_000 + '"' * 100_000, len(text))
    assert bodies._end_of_part(text, 0) < 1 << 22


@pytest.mark.parametrize("body", [b"", b"[", b"[1,]", b'{"a" 1}', b'"\n"', b'"\\x"', b"NaN", b"[NaN]", b"01", b"[] []"])
def test_both_parsers_refuse_the_same(body, monkeypatch):
    assert status(body) == 400
    monkeypatch.setattr("harmonystream.gateway.requests.bodies.STEPS", 0)
    assert status(body) == 400


def test_half_a_surrogate_pair_can_be_answered():
    assert Json({"a": "\ud83d!"}).body.decode() == '{"a":"\ufffd!"}'
    assert Json({"a": "\ud83d\ude00", "b": "\ude00"}).body.decode() == '{"a":"\U0001f600","b":"\ufffd"}'


def noting(inner, threads):
    """The same, which notes its thread."""

    def watched(*arguments):
        threads.append(threading.current_thread())
        return inner(*arguments)

    return watched


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_a_long_request_is_read_beside_the_event_loop(api, monkeypatch):
    threads = []
    for owner, name in ((bodies, "_value"), (Served, "prompt")):
        monkeypatch.setattr(owner, name, noting(getattr(owner, name), threads))
    with gateway(script_of(ANSWER)) as made:
        for words in (10, 20_000):
            text = "word " * words
            given = {"input": text} if api == "responses" else {"messages": [{"role": "user", "content": text}]}
            assert made.post(api, **given).status_code == 200
        first, second, *others = threads
        assert first is second  # the loop's
        assert len(others) == 2
        assert first not in others


class Tokenizer:
    """It has only the way to encode that leaves the GIL."""

    def encode_batch_fast(self, texts, add_special_tokens):
        return [SimpleNamespace(ids=[len(text)]) for text in texts]


def test_texts_are_encoded_without_the_gil(monkeypatch):
    from harmonystream.vocabs import encoders

    monkeypatch.setattr(encoders, "_tokenizer", lambda spec: Tokenizer())
    encoder = encoders.Tokenizers({"added_tokens": []})
    assert (encoder.ordinary("four"), encoder.marked("five!")) == ([4], [5])
