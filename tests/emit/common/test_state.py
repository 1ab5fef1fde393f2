"""JSON in a state from outside is refused with ValueError, or makes a stream that works."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_server import APIS

import harmonystream as hs
from harmonystream.emit.common.envelope import Saved, pack, unpack
from harmonystream.emit.common.state import State, json_object

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
        found.append(unpack(stream.to_bytes()))
    return found


def changed(saved: Saved, *, state: bytes | None = None, options: bytes | None = None) -> bytes:
    options, state = saved.options if options is None else options, saved.state if state is None else state
    return pack(saved._replace(options=options, state=state))


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


@pytest.mark.parametrize(
    "text", ["[1]", "{", '{"a": NaN}', '{"a": 1e999}', '{"a":' + "[" * 300 + "]" * 300 + "}", "\xff"]
)
def test_what_is_no_object_of_json(text):
    saved, data = SAVED["chat"][0], text.encode("latin-1")
    for altered in (changed(saved, state=data), changed(saved, options=data)):
        with pytest.raises(ValueError, match="not a usable emitter state"):
            hs.ChatStream.from_bytes(altered)


def test_fields_are_taken_once():
    state = State(json_object(b'{"a": 1, "b": "x"}'))
    assert (state.count("a"), state.text("b"), state.text("c")) == (1, "x", "")
    state.end()


@pytest.mark.parametrize("api", APIS)
def test_its_own_states_revive(api):
    assert all(revive(api, pack(saved)) for saved in SAVED[api])


@pytest.mark.parametrize("api", APIS)
def test_changed_bytes_do_no_harm(api):
    dice = random.Random(7)
    for _ in range(1500):
        data = bytearray(pack(dice.choice(SAVED[api])))
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
    state, others = json.loads(saved.state), json.loads(other.state)
    options, constructors = json.loads(saved.options), ["model", *OPTIONS[api]]
    for name in data.draw(st.lists(st.sampled_from(sorted({*state, *others, *MORE})), min_size=1, max_size=3)):
        how = data.draw(st.integers(0, 3))
        if how == 0:
            state.pop(name, None)
        elif how == 1 and name in others:
            state[name] = others[name]
        else:
            state[name] = data.draw(values)
    if data.draw(st.booleans()):
        options[data.draw(st.sampled_from(constructors))] = data.draw(values)
    revive(api, changed(saved, state=json.dumps(state).encode(), options=json.dumps(options).encode()))


MORE = ("open", "filter", "texts", "blank")
OPTIONS = {
    "chat": (
        "reasoning_field",
        "preamble_field",
        "tool_choice",
        "parallel_tool_calls",
        "include_usage",
        "extra",
        "taken",
    ),
    "responses": ("request", "reasoning", "container_id", "extra", "taken", "created"),
    "messages": ("usage", "thinking", "signature", "tool_choice", "text_key", "extra", "taken", "hooks"),
}


def test_unknown_fields_are_refused():
    saved = SAVED["chat"][0]
    more = json.dumps({**json.loads(saved.state), "more": 1}).encode()
    with pytest.raises(ValueError, match="unknown fields: more"):
        hs.ChatStream.from_bytes(changed(saved, state=more))
    with pytest.raises(ValueError, match="its options are not this emitter's"):
        hs.ChatStream.from_bytes(changed(saved, options=b'{"model": "m", "more": 1}'))
