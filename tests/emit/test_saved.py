"""A state from outside is refused with ValueError, or makes a stream that works; a signed one is refused if altered."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_server import APIS

import harmonystream as hs
from harmonystream.emit.saved import Saved, packed, unpacked

VOCAB = hs.vocab.o200k_harmony()
KEY = b"nobody knows"
PIECES = (
    "<|channel|>analysis<|message|>Look",
    " it up.<|end|><|start|>assistant to=functions.f<|channel|>commentary<|message|>",
    '{"a": [1, "x',
    '"]}<|call|><|start|>assistant<|channel|>final<|message|>So',
)


def states(api: str) -> list[Saved]:
    stream = APIS[api].stream_of(hs.Parser())
    stream.start()
    found = []
    for piece in PIECES:
        stream.feed_text(piece)
        found.append(unpacked(stream.to_bytes(), None))
    return found


SAVED = {api: states(api) for api in APIS}
KINDS = {"chat": hs.ChatStream, "responses": hs.ResponsesStream, "messages": hs.MessagesStream}


def revive(api: str, data: bytes) -> bool:
    """Is it a stream? Then it reads and ends like any other."""
    try:
        stream: Any = KINDS[api].from_bytes(data)
    except ValueError:
        return False
    text = "<|end|><|start|>assistant to=functions.g<|channel|>commentary<|message|>{}<|call|>" + PIECES[0]
    try:
        stream.feed_text(text) if not stream.parser.finished else b""
    except ValueError:  # its parser has failed in strict mode, has finished, or reads ids
        return True
    json.dumps(stream.response())
    stream.finish("stop", None)
    json.dumps(stream.response())
    assert stream.ended
    return True


@pytest.mark.parametrize("api", APIS)
def test_it_is_refused_if_any_byte_is_altered(api):
    saved = SAVED[api][1]
    data = packed(saved, KEY)
    assert unpacked(data, KEY) == saved
    for at in range(len(data)):
        altered = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        with pytest.raises(ValueError):
            unpacked(altered, KEY)
    for size in range(len(data)):
        with pytest.raises(ValueError):
            unpacked(data[:size], KEY)
    with pytest.raises(ValueError):
        unpacked(data + b"\0", KEY)


def test_keys():
    saved = SAVED["chat"][0]
    signed, plain = packed(saved, KEY), packed(saved, None)
    assert len(signed) == len(plain) + 32
    with pytest.raises(ValueError, match="not signed with this key"):
        unpacked(signed, b"another")
    with pytest.raises(ValueError, match="not signed with this key"):
        unpacked(plain, KEY)
    with pytest.raises(ValueError, match="is signed: pass the key"):
        unpacked(signed, None)
    with pytest.raises(ValueError):
        unpacked(signed[:-32], None)
    for key in ("text", b"", 5):
        with pytest.raises(TypeError, match="key is bytes"):
            packed(saved, key)


def test_what_is_no_state():
    with pytest.raises(TypeError, match="takes bytes, not str"):
        unpacked("text", None)
    for data in (b"", b"HSE", b"HSP" + bytes(60)):
        with pytest.raises(ValueError, match="does not begin like one"):
            unpacked(data, None)
    data = bytearray(packed(SAVED["chat"][0], None))
    data[3] = 2
    with pytest.raises(ValueError, match="has version 2; this release reads version 1"):
        unpacked(data, None)


@pytest.mark.parametrize(
    "text", ["[1]", "{", '{"a": NaN}', '{"a": 1e999}', '{"a":' + "[" * 300 + "]" * 300 + "}", "\xff"]
)
def test_a_rest_that_is_no_object_of_json(text):
    saved = SAVED["chat"][0]
    data = packed(saved._replace(state={}), None)
    body = text.encode("latin-1")
    data = data[:-2] + body
    head = bytearray(data)
    head[18:22] = len(body).to_bytes(4, "little")
    with pytest.raises(ValueError, match="not a usable emitter state"):
        unpacked(bytes(head), None)


@pytest.mark.parametrize("api", APIS)
def test_its_own_states_revive(api):
    assert all(revive(api, packed(saved, None)) for saved in SAVED[api])


@pytest.mark.parametrize("api", APIS)
def test_changed_bytes_do_no_harm(api):
    dice = random.Random(7)
    for _ in range(1500):
        data = bytearray(packed(dice.choice(SAVED[api]), None))
        for _ in range(dice.randrange(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        revive(api, bytes(data))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4) | st.sampled_from(["reasoning", "content", "arguments", "text", "function_call", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.sampled_from([*APIS]), st.integers(0, 3), st.data())
def test_hostile_fields_do_no_harm(api, number, data):
    """Any field may be any JSON, and fields may be missing, or be those of another moment."""
    saved, other = SAVED[api][number], data.draw(st.sampled_from(SAVED[api]))
    names = sorted({*saved.state, *other.state, "open", "filter", "texts", "blank"})
    state = dict(saved.state)
    for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        how = data.draw(st.integers(0, 3))
        if how == 0:
            state.pop(name, None)
        elif how == 1 and name in other.state:
            state[name] = other.state[name]
        else:
            state[name] = data.draw(values)
    made = json.dumps(state).encode()
    head = bytearray(packed(saved._replace(state={}), None))
    head[18:22] = len(made).to_bytes(4, "little")
    revive(api, bytes(head[:-2]) + made)


def test_unknown_fields_are_refused():
    saved = SAVED["chat"][0]
    with pytest.raises(ValueError, match="unknown fields: more"):
        hs.ChatStream.from_bytes(packed(saved._replace(state={**saved.state, "more": 1}), None))
