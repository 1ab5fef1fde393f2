"""Streams with token ids or log probabilities move after every piece, and their states are checked field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streams import chunkings
from wire_server import APIS

import harmonystream as hs
from harmonystream.emit.common.envelope import pack, unpack

# <|channel|>analysis<|message|>雨伞<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>; 伞 is two ids
IDS = [200005, 35644, 200008, 53307, 2809, 252, 200007, 200006, 173781, 200005, 17196, 200008, 13225, 200002]
MAKES = {
    "ids": ("chat", {"token_ids": True}, False),
    "ids and logprobs": ("chat", {"token_ids": True, "reasoning_field": None}, True),
    "nothing kept": ("chat", {"token_ids": True, "keep_text": False}, True),
    "logprobs": ("chat", {}, True),
    "logprobs of responses": ("responses", {}, True),
    "logprobs of responses, nothing kept": ("responses", {"keep_text": False}, True),
}


def entries(ids: list[int]) -> list[dict[str, Any]]:
    other = [{"token": "x", "logprob": -3.5, "bytes": [120]}]
    return [{"token": str(one), "logprob": -one / 7, "bytes": None, "top_logprobs": other} for one in ids]


def again(stream: Any) -> Any:
    return type(stream).from_bytes(stream.to_bytes(key=b"k"), key=b"k")


def end(stream: Any) -> bytes:
    last: bytes = stream.flush("stop") if stream._ends_whole else stream.finish("stop")
    return last


@pytest.mark.parametrize("name", MAKES)
def test_it_says_the_same_after_every_move(name):
    api, options, logprobs = MAKES[name]
    for pieces in chunkings(IDS):
        stays, moves = (APIS[api].stream_of(hs.Parser(), **options) for _ in range(2))
        assert moves.start() == stays.start()
        for piece in pieces:
            moves = again(moves)
            given = (piece, entries(piece)) if logprobs else (piece,)
            assert moves.feed(*given) == stays.feed(*given)
        moves = again(moves)
        assert end(moves) == end(stays)
        if options.get("keep_text", True):
            assert moves.response() == stays.response()


def test_dicts_move_too():
    stays, moves = (APIS["chat"].stream_of(hs.Parser(), token_ids=True) for _ in range(2))
    assert moves.events() == stays.events()
    for one in IDS:
        moves = again(moves)
        assert moves.events([one], logprobs=entries([one])) == stays.events([one], logprobs=entries([one]))
    assert again(moves).events(finish=True, reason="stop") == stays.events(finish=True, reason="stop")


def test_logprobs_are_text_beside_the_state():
    """Of a stream that keeps none, the state does not grow with them."""
    sizes = {}
    for keep in (True, False):
        stream = APIS["chat"].stream_of(hs.Parser(start="answer"), token_ids=True, keep_text=keep)
        stream.start()
        stream.feed([13225] * 500, entries([13225] * 500))
        sizes[keep] = len(stream.to_bytes())
    assert sizes[False] < 1024 < 30_000 < sizes[True]


CHANGES: list[tuple[str, str, Any]] = [
    ("chat", "ids", [[1, -1]]),
    ("chat", "ids", [[2, 7], [1, 7]]),
    ("chat", "ids", [[1]]),
    ("chat", "ids", [["1", 7]]),
    ("chat", "waiting", [1 << 40]),
    ("chat", "waiting", {}),
    ("chat", "sent_ids", ["7"]),
    ("chat", "logprobs", [[1, 7]]),
    ("chat", "sent", [7]),
    ("chat", "next", -1),
    ("chat", "more", 1),
    ("responses", "logprobs", [[1, {"token": "x"}]]),
    ("responses", "logprobs", [[1, {"token": "x", "logprob": -1, "top_logprobs": 3}]]),
    ("responses", "text", [{"token": "x", "logprob": -1, "top_logprobs": [{"token": "y"}]}]),
    ("responses", "text", 7),
    ("responses", "next", True),
    ("responses", "more", 1),
]


@pytest.mark.parametrize(("api", "field", "value"), CHANGES)
def test_each_field_is_checked(api, field, value):
    stream = APIS[api].stream_of(hs.Parser())
    stream.start()
    stream.feed(IDS[:13], entries(IDS[:13]))
    saved = unpack(stream.to_bytes())
    state = json.loads(saved.state)
    state["tokens"][field] = value
    with pytest.raises(ValueError, match="not a usable emitter state"):
        type(stream).from_bytes(pack(saved._replace(state=json.dumps(state).encode())))
