"""Messages begins no text block with white space alone, which clients send back and the API then refuses. The
writer holds it, and the reference says the same.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import random_streams
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import to_ids
from tag_streams import tokens
from wire_frames import described

import harmonystream as hs

HEAD = "<|start|>assistant<|channel|>"
PARTS = {  # of Harmony
    "space": " ",
    "lines": "\n\n",
    "odd space": "\u2003\u00a0\x1c\u3000\u1680\u0085",
    "text": "Hi",
    "text and space": "So \n",
    "answer": f"<|end|>{HEAD}final<|message|>",
    "preamble": f"<|end|>{HEAD}commentary<|message|>",
    "thinking": f"<|end|>{HEAD}analysis<|message|>",
    "call": f'<|end|>{HEAD}commentary to=functions.f <|constrain|>json<|message|>{{"a": "x"}}<|call|>',
    "open call": f'<|end|>{HEAD}commentary to=functions.f <|constrain|>json<|message|>{{"a": ',
}
TAGS = {  # of hermes
    "space": " ",
    "lines": "\n\n",
    "text": "Hello",
    "thinking": "<think>\nHello\n</think>",
    "open thinking": "<think>",
    "call": '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>',
    "half a call": '<tool_call>\n{"name": "f", "argum',
}
HERMES = tokens("hermes")
OPTIONS: tuple[dict[str, Any], ...] = (
    *({}, {"thinking": False}, {"signature": ""}, {"tool_choice": "none"}, {"usage": {"input_tokens": 5}}),
    *({"keep_text": False}, {"keep_text": False, "signature": ""}),
)
Make = Callable[[], hs.Parser]


def harmony(parts: Sequence[str]) -> list[int]:
    begin = "<|channel|>final<|message|>"
    return to_ids((begin + "".join(PARTS[part] for part in parts)).encode())


def hermes(parts: Sequence[str]) -> list[int]:
    return HERMES.encode("".join(TAGS[part] for part in parts).encode())


def hermes_parser(trim: Any = "seams") -> hs.Parser:
    return hs.Parser("hermes", HERMES.vocab, trim=trim, check_stops=False)


def stream_of(parser: hs.Parser, **options: Any) -> Any:
    return hs.MessagesStream(parser, id="msg_1", model="m", **options)


def moved(stream: Any, vocab: hs.Vocab) -> Any:
    return hs.MessagesStream.from_bytes(stream.to_bytes(), vocab)


def compare(make: Make, ids: list[int], reason: str | None, **options: Any) -> None:
    """The frames of each token, and the response, without anybody who looks."""
    stream, reference = stream_of(make(), **options), described(stream_of(make(), **options))
    assert stream.start() == reference.start()
    for tid in ids:
        assert stream.feed(tid) == reference.feed(tid)
    assert stream.finish(reason) == reference.finish(reason)
    if stream._keeps_text:
        assert stream.response() == stream.response() == reference.response()


def compare_looking(make: Make, ids: list[int], reason: str | None, **options: Any) -> None:
    """Somebody asks for the response, moves the stream, or ends it, at every place."""
    reference = described(stream_of(make(), **options))
    told, responses = [reference.start()], []
    for tid in ids:
        responses.append(reference.response())
        told.append(reference.feed(tid))
    responses.append(reference.response())
    last, whole = reference.finish(reason), reference.response()
    for at, how in itertools.product(range(len(ids) + 1), ("response", "moved", "both", "error")):
        stream = stream_of(make(), **options)
        made = [stream.start(), *map(stream.feed, ids[:at])]
        if how in ("response", "both"):
            assert stream.response() == responses[at]
        if how in ("moved", "both"):
            stream = moved(stream, stream.parser.vocab)
        if how == "error":
            broken = described(stream_of(make(), **options))
            broken.start()
            broken.feed(ids[:at])
            assert stream.error("odd") == broken.error("odd")
            assert stream.response() == broken.response()
            continue
        made += map(stream.feed, ids[at:])
        assert made == told
        assert (stream.finish(reason), stream.response()) == (last, whole)


def short_sequences(parts: Sequence[str]) -> list[tuple[str, ...]]:
    """All of up to three parts with white space among them."""
    found = [some for n in range(1, 4) for some in itertools.product(parts, repeat=n)]
    return [some for some in found if {"space", "lines", "odd space", "text and space"} & {*some}]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "plain")
def test_white_space_anywhere(options: dict[str, Any]) -> None:
    for parts in short_sequences([*PARTS]):
        compare(hs.Parser, harmony(parts), "stop", **options)
    for parts in short_sequences([*TAGS]):
        for trim in ("seams", "none"):
            compare(lambda trim=trim: hermes_parser(trim), hermes(parts), None, **options)  # type: ignore[misc]


@pytest.mark.parametrize("reason", ["stop", "length", None, "odd"])
def test_ends_after_white_space(reason: str | None) -> None:
    for parts in short_sequences([*PARTS]):
        if parts[-1] in ("space", "lines", "odd space"):
            compare(hs.Parser, harmony(parts), reason)


@pytest.mark.parametrize("first", PARTS)
def test_looking_at_white_space_anywhere(first: str) -> None:
    for rest in itertools.product(("space", "odd space"), PARTS):
        compare_looking(hs.Parser, harmony([first, *rest]), "stop")


@pytest.mark.parametrize("first", TAGS)
def test_looking_at_white_space_between_tags(first: str) -> None:
    for rest in itertools.product(("space", "lines"), TAGS):
        compare_looking(lambda: hermes_parser("none"), hermes([first, *rest]), "stop")


@settings(max_examples=settings.default.max_examples // 2)
@given(
    st.lists(st.sampled_from([*PARTS, "space", "lines", "odd space"]), max_size=12),
    st.sampled_from(OPTIONS),
    st.sampled_from(random_streams.FINISHES),
    random_streams.seeds,
)
def test_random_white_space(parts: list[str], options: dict[str, Any], reason: str | None, seed: int) -> None:
    """In pieces of any length, by itself and in a batch."""
    dice, ids = random.Random(seed), harmony(parts)
    stream, slotted = (stream_of(hs.Parser(), **options) for _ in range(2))
    reference = described(stream_of(hs.Parser(), **options))
    assert stream.start() == slotted.start() == reference.start()
    batch = hs.batch.Batch(capacity=1)
    batch.add(slotted)
    while ids:
        size = dice.randrange(1, 5)
        piece, ids = ids[:size], ids[size:]
        expected = reference.feed(piece)
        assert stream.feed(piece) == expected
        assert [*batch.feed_sse([0], piece, [0, len(piece)])] == [expected]
        if stream._keeps_text and dice.random() < 0.1:
            assert slotted.response() == stream.response() == reference.response()
        elif dice.random() < 0.1:
            stream = moved(stream, stream.parser.vocab)
    assert stream.finish(reason) == batch.finish(0, reason) == reference.finish(reason)
    if slotted._keeps_text:
        assert stream.response() == slotted.response() == reference.response()


def test_white_space_alone_is_no_block() -> None:
    """Without these two, everything above might be equal and wrong."""
    stream = stream_of(hs.Parser())
    stream.start()
    assert stream.feed(harmony(["space", "lines", "odd space"])) == b""
    assert b"content_block" not in stream.finish("stop")
    assert stream.response()["content"] == []


def test_a_block_begins_with_the_white_space_before_its_text() -> None:
    stream = stream_of(hs.Parser())
    stream.start()
    made = b"".join(map(stream.feed, harmony(["space", "lines", "text", "space"])))
    assert made.count(b"event: content_block_start") == 1
    assert rb'"text":" \n\nHi"' in made
    stream.finish("stop")
    assert [block["text"] for block in stream.response()["content"]] == [" \n\nHi "]
