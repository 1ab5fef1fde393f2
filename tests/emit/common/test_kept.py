"""Streams with keep_text=False: they say the same bytes as others, and their memory does not grow with the text."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
import random_streams as harmony
import random_tags as tags
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import random_chunks
from tag_streams import SHAPES, tokens
from wire_frames import as_dicts, described, fed
from wire_server import APIS, USAGE

import harmonystream as hs

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "chat": [{}, {"include_usage": True, "reasoning_field": "both"}, {"reasoning_field": None, "token_ids": True}],
    "responses": [{}, {"reasoning": False}, {"request": {"parallel_tool_calls": False}}],
    "messages": [{}, {"signature": ""}, {"thinking": False, "signature": str.upper}],
}
CALLBACKS = ("signature",)
MESSAGE = "<|channel|>{}<|message|>{}<|end|><|start|>assistant"
CALL = '<|channel|>commentary to=functions.f<|message|>{"a": "{}"}<|call|><|start|>assistant'


def again(stream: Any, tools: Any, options: dict[str, Any]) -> Any:
    """The stream, moved."""
    vocab = None if stream.parser.vocab.name == "none" else stream.parser.vocab
    format = None if stream.parser.format in hs.formats.names() else stream.parser.format
    callbacks = {name: options[name] for name in CALLBACKS if callable(options.get(name))}
    return type(stream).from_bytes(stream.to_bytes(), vocab, format=format, tools=tools, **callbacks)


def ended(api: str, stream: Any, reason: str | None) -> bytes:
    last: bytes = stream.flush(reason) if api == "responses" else stream.finish(reason, USAGE[api])
    return last


def check(make: Callable[[], hs.Parser], tools: Any, stream: Any, reason: str | None, seed: int) -> None:
    dice = random.Random(seed)
    pieces = random_chunks(stream, dice)
    for api, module in APIS.items():
        options = dice.choice(OPTIONS[api])
        reason = "length" if reason == "abort" and api == "chat" else reason
        keeps = module.stream_of(make(), **options)
        drops, moves, slow = (module.stream_of(make(), **options, keep_text=False) for _ in range(3))
        others = [drops, moves]
        if "token_ids" not in options:  # which the slow describer does not write
            others.append(described(slow))
        assert {one.start() for one in others} == {keeps.start()}
        for piece in pieces:
            if dice.random() < 0.5:
                others[1] = again(others[1], tools, options)
            expected = fed(keeps, piece)
            assert [fed(one, piece) for one in others] == [expected] * len(others)
        last = ended(api, keeps, reason)
        assert [ended(api, one, reason) for one in others] == [last] * len(others)


@settings(max_examples=settings.default.max_examples // 8)
@given(harmony.id_streams | harmony.byte_streams, harmony.options, harmony.seeds)
def test_harmony(stream: Any, options: Any, seed: int) -> None:
    check(options.parser, options.tools, stream, options.finish, seed)


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=settings.default.max_examples // 20)
@given(data=st.data(), vocabulary=tags.vocabularies, seed=harmony.seeds)
def test_tags(name: str, data: st.DataObject, vocabulary: str, seed: int) -> None:
    options = data.draw(tags.options(name))
    vocab = tokens(name, vocabulary).vocab
    stream: Any = data.draw(tags.texts(name) | tags.id_streams(name, vocabulary))
    check(lambda: options.parser(vocab), options.declared, stream, options.finish, seed)


@pytest.mark.parametrize("api", APIS)
def test_dicts_are_the_same(api):
    text = MESSAGE.format("analysis", "Look.") + CALL.replace("{}", "b") + MESSAGE.format("final", "Done.")
    keeps, drops = (APIS[api].stream_of(hs.Parser(), keep_text=keep) for keep in (True, False))
    assert [drops.events(), *map(drops.events, text)] == [keeps.events(), *map(keeps.events, text)]
    if api != "responses":
        assert drops.events(finish=True, reason="stop") == keeps.events(finish=True, reason="stop")


def size_of(stream: Any) -> int:
    """What grows with a response: the buffers, and what Python remembers, as bytes."""
    return sys.getsizeof(stream) + len(stream.to_bytes())


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("channel", ["analysis", "final"])
def test_text_without_an_end_takes_no_memory(api, channel):
    """But for the item that is open, where its end repeats or signs it."""
    stream = APIS[api].stream_of(hs.Parser(), keep_text=False, **({"signature": ""} if api == "messages" else {}))
    stream.start()
    for _ in range(32):
        stream.feed_text(f"<|channel|>{channel}<|message|>")
        for _ in range(8):
            stream.feed_text("word " * 2_500)
        stream.feed_text("<|end|><|start|>assistant")
    assert size_of(stream) < (900_000 if api == "responses" else 200_000)  # after 3.2 MB


@pytest.mark.parametrize("api", APIS)
def test_items_without_an_end_take_only_the_ids_of_calls(api):
    keeps, drops = (APIS[api].stream_of(hs.Parser(), keep_text=keep) for keep in (True, False))
    assert drops.start() == keeps.start()
    sizes = []
    for number in range(800):
        texts = MESSAGE.format("analysis", "Look."), MESSAGE.format("final", "Done.")
        for text in (*texts, *([CALL.replace("{}", "b")] if number % 200 == 0 else ())):
            assert drops.feed_text(text) == keeps.feed_text(text)
        if number % 200 == 199:
            sizes.append(size_of(drops))
    assert sizes[-1] - sizes[-2] < 500
    assert sizes[-1] < 200_000 < size_of(keeps)
    assert drops.flush("stop") == keeps.flush("stop")


@pytest.mark.parametrize("api", APIS)
def test_there_is_no_whole_response(api):
    stream = APIS[api].stream_of(hs.Parser(), keep_text=False)
    stream.start()
    stream.feed_text(MESSAGE.format("final", "Done."))
    with pytest.raises(ValueError, match="keep_text=False: it has no response"):
        stream.response()
    if api == "responses":
        with pytest.raises(ValueError, match="end with flush"):
            stream.finish("stop")
        with pytest.raises(ValueError, match="end with flush"):
            stream.events(finish=True)
    assert stream.error("it broke")
    assert stream.ended


def test_dicts_of_responses_end_with_their_last_event():
    stream = APIS["responses"].stream_of(hs.Parser(), keep_text=False)
    with pytest.raises(ValueError, match="end with flush"):
        as_dicts(stream, ["<|channel|>final<|message|>Done."], "stop")


@pytest.mark.parametrize("api", APIS)
def test_in_a_batch(api):
    text = MESSAGE.format("analysis", "Look up.") + CALL.replace("{}", "b") + MESSAGE.format("final", "Done.\n" * 500)
    ids = hs.vocab.o200k_harmony().encode(text, control=True)
    batch = hs.batch.Batch(capacity=2)
    streams = [APIS[api].stream_of(hs.Parser(), keep_text=keep) for keep in (True, False)]
    assert streams[0].start() == streams[1].start()
    slots = [batch.add(stream) for stream in streams]
    for tid in ids:
        kept, dropped = batch.feed_sse(slots, [tid, tid])
        assert kept == dropped
    assert sys.getsizeof(streams[1]) < sys.getsizeof(streams[0])
