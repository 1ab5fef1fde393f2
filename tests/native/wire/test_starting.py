"""A response of a pattern is the one that a new emitter makes. See also test_starting_random.py."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from typing import Any

import pytest
from random_batches import APIS, OPTIONS, TIMES, Pattern
from streams import to_ids
from tag_streams import tokens

import harmonystream as hs

TURN = to_ids(
    b"<|channel|>analysis<|message|>Think \xf0\x9f\x98\x80<|end|>"
    b"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    b'{"a": "x\\n", "b": [1, 2]}<|call|><|start|>assistant<|channel|>final<|message|>Hi "you"\n<|return|>'
)


# --- one slot ---------------------------------------------------------------------------------------------------------


def pattern_of(api: str, **options: Any) -> Pattern:
    return Pattern(api, {"model": "m", **options}, hs.Parser)


def opened(batch: hs.Batch, pattern: Pattern, id: str) -> tuple[int, bytes]:
    created = {"created": 5} if TIMES[pattern.api] else {}
    slot, frames = batch.open_sse(pattern.emitter, id=id, **created)
    return slot, frames


def twin_of(pattern: Pattern, id: str) -> Any:
    time = TIMES[pattern.api]
    return pattern.alone({"id": id, **({time: 5} if time else {})})


def told(batch: hs.Batch, pattern: Pattern, id: str, reason: Any = "stop") -> list[bytes]:
    slot, frames = opened(batch, pattern, id)
    made = [frames, *(frame for tid in TURN for frame in batch.feed_sse([slot], [tid]))]
    return [*made, batch.finish(slot, reason)]


def told_alone(pattern: Pattern, id: str, reason: Any = "stop") -> list[bytes]:
    stream = twin_of(pattern, id)
    return [stream.start(), *(stream.feed(tid) for tid in TURN), stream.finish(reason)]


CASES = [
    pytest.param(api, options, id=f"{api} {' '.join(options) or 'plain'} {at}")
    for api in APIS
    for at, options in enumerate(OPTIONS[api])
    if not (api == "responses" and "keep_text" in options)  # its last event has the text
]


@pytest.mark.parametrize(("api", "options"), CASES)
def test_one_response_after_another(api: str, options: dict[str, Any]) -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of(api, **options)
    for id in ("a", "chatcmpl-b", "resp_c", "msg_d", "é", "a.b"):
        for reason in ("stop", "length", None, "odd"):
            assert told(batch, pattern, id, reason) == told_alone(pattern, id, reason)


@pytest.mark.parametrize("api", APIS)
def test_the_memory_of_one_response_is_the_next_ones(api: str) -> None:
    """Otherwise nothing here would test that it is as good as new. A stream that somebody holds stays as it is."""
    batch, pattern = hs.Batch(capacity=1), pattern_of(api)
    opened(batch, pattern, "first")
    first = batch.close(0)
    address = id(first)
    batch.add(first)
    del first
    batch.finish(0, "stop")
    opened(batch, pattern, "second")
    second = batch.close(0)
    assert (id(second), second.id) == (address, "second")
    batch.add(second)
    batch.finish(0, "stop")
    opened(batch, pattern, "third")
    assert batch.close(0) is not second


HOLDERS = {
    "the stream": lambda stream: stream,
    "its parser": lambda stream: stream.parser,
    "a weak reference": weakref.ref,
    "a method": lambda stream: stream.response,
    "another's attribute": lambda stream: {"stream": stream},
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("what", HOLDERS)
def test_a_stream_that_somebody_holds_is_not_used_again(what: str, api: str) -> None:
    batch, pattern, twin = hs.Batch(capacity=1), pattern_of(api), twin_of(pattern_of(api), "first")
    opened(batch, pattern, "first")
    twin.start()
    stream = batch.close(0)
    batch.add(stream)
    holder, address = HOLDERS[what](stream), id(stream)
    del stream
    assert [*batch.feed_sse([0], TURN, [0, len(TURN)])] == [twin.feed(TURN)]
    assert batch.finish(0, "stop") == twin.finish("stop")
    assert told(batch, pattern, "second", "length") == told_alone(pattern, "second", "length")
    if what == "its parser":
        assert (holder.usage, holder.finish_reason) == (twin.parser.usage, twin.parser.finish_reason)
    elif what == "a weak reference":
        assert holder() is None
    else:
        kept = holder.__self__ if what == "a method" else holder["stream"] if isinstance(holder, dict) else holder
        assert id(kept) == address
        assert kept.response() == twin.response()


def test_arguments_that_somebody_holds_are_not_cleared() -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of("messages")
    opened(batch, pattern, "first")
    stream = batch.close(0)
    batch.add(stream)
    at = TURN.index(200012)  # <|call|>
    batch.feed_sse([0], TURN[: at - 1], [0, at - 1])
    through = stream._arguments_through
    del stream
    batch.feed_sse([0], TURN[at - 1 :], [0, len(TURN) - at + 1])
    batch.finish(0, "stop")
    said = through.sent
    assert said == '{"a": "x\\n", "b": [1, 2]}'
    opened(batch, pattern, "second")
    batch.feed_sse([0], TURN[: at - 2], [0, at - 2])  # in the middle of a call
    assert through.sent == said


@pytest.mark.parametrize("api", APIS)
def test_an_attribute_of_one_response_is_not_the_nexts(api: str) -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of(api)
    opened(batch, pattern, "first")
    stream = batch.close(0)
    stream.mine, stream.model = "mine", "another"
    batch.add(stream)
    del stream
    batch.finish(0, "stop")
    assert told(batch, pattern, "second") == told_alone(pattern, "second")
    opened(batch, pattern, "third")
    stream = batch.close(0)
    assert not hasattr(stream, "mine")
    assert stream.response() == {**stream.response(), "id": "third", "model": "m"}


@pytest.mark.parametrize("api", APIS)
def test_what_a_pattern_becomes_later_does_not_count(api: str) -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of(api)
    first = told(batch, pattern, "first")
    pattern.emitter.model = pattern.emitter.mine = "another"
    pattern.emitter.id = "another"
    assert told(batch, pattern, "first") == first
    opened(batch, pattern, "second")
    assert not hasattr(batch.close(0), "mine")


@pytest.mark.parametrize("api", APIS)
def test_a_subclass_with_a_constructor_is_no_pattern(api: str) -> None:
    class Mine(APIS[api]):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.log: list[str] = []

    time = TIMES[api]
    batch, pattern = hs.Batch(capacity=1), Mine(hs.Parser(), id="x", model="m", **({time: 5} if time else {}))
    with pytest.raises(TypeError, match="a Mine is no pattern: its constructor would not run"):
        batch.open_sse(pattern, id="a", **({"created": 5} if time else {}))
    assert len(batch) == 0


def test_a_pattern_of_another_batch() -> None:
    pattern, batches = pattern_of("chat"), [hs.Batch(capacity=2) for _ in range(2)]
    for at in range(4):
        for batch in batches:
            assert told(batch, pattern, f"id {at}") == told_alone(pattern, f"id {at}")


@pytest.mark.parametrize("api", APIS)
def test_a_subclass_is_a_pattern(api: str) -> None:
    class Mine(APIS[api]):  # type: ignore[misc]
        seen = 0

        def describe(self, event: hs.Event) -> Any:
            self.seen += 1
            return super().describe(event)

    time = TIMES[api]
    more = {time: 5} if time else {}
    batch, pattern = hs.Batch(capacity=1), Mine(hs.Parser(), id="x", model="m", **more)
    for id in ("a", "b"):
        twin = Mine(hs.Parser(), id=id, model="m", **more)
        slot, frames = batch.open_sse(pattern, id=id, **({"created": 5} if time else {}))
        assert frames == twin.start()
        assert [*batch.feed_sse([slot], TURN, [0, len(TURN)])] == [twin.feed(TURN)]
        stream = batch.close(slot)
        assert stream.finish("stop") == twin.finish("stop")
        assert (type(stream), stream.seen) == (Mine, twin.seen)


def test_patterns_are_freed() -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of("chat").emitter
    found = weakref.ref(pattern)
    batch.finish(batch.open_sse(pattern, id="x", created=1)[0])
    del pattern
    other = pattern_of("chat").emitter
    batch.finish(batch.open_sse(other, id="x", created=1)[0])
    gc.collect()
    assert found() is None


# --- what is no pattern -----------------------------------------------------------------------------------------------


def chat(parser: hs.Parser | None = None, **options: Any) -> hs.ChatStream:
    return hs.ChatStream(parser or hs.Parser(), id="c", model="m", created=1, **options)


def started() -> hs.ChatStream:
    stream = chat()
    stream.start()
    return stream


def already_read() -> hs.ChatStream:
    stream = chat()
    stream.parser.feed(TURN[:3])
    return stream


def as_dicts() -> hs.ChatStream:
    stream = chat()
    stream.events()
    return stream


def one_of_several() -> hs.ChatStream:
    return hs.ChatStream.several([hs.Parser(), hs.Parser()], id="c", model="m", created=1)[0]


REFUSED = {
    "started": (started, ValueError, "this stream has started"),
    "dicts": (as_dicts, ValueError, "this stream has started and is dicts"),
    "read": (already_read, ValueError, "has read up to 3"),
    "several": (one_of_several, ValueError, "one of several choices is no pattern"),
    "strict": (lambda: chat(hs.Parser(strict=True)), ValueError, "a batch is lenient"),
    "watched": (lambda: chat(token_ids=True), ValueError, "token ids or logprobs"),
    "of another format": (
        lambda: chat(hs.Parser("hermes", tokens("hermes").vocab, check_stops=False)),
        ValueError,
        "the batch is 'harmony' on",
    ),
    "a parser": (hs.Parser, TypeError, "a pattern is a ChatStream, .*, not a Parser"),
    "None": (lambda: None, TypeError, "a pattern is a ChatStream, .*, not a NoneType"),
    "a class": (lambda: hs.ChatStream, TypeError, "a pattern is a ChatStream, .*, not a type"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_pattern(what: str) -> None:
    make, error, message = REFUSED[what]
    batch, pattern = hs.Batch(capacity=1), make()
    for _ in range(2):
        with pytest.raises(error, match=message):
            batch.open_sse(pattern, id="x", created=1)
    assert len(batch) == 0
    assert told(batch, pattern_of("chat"), "x") == told_alone(pattern_of("chat"), "x")


def test_a_pattern_that_starts_after_its_responses_is_none_any_more() -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of("chat")
    first = told(batch, pattern, "x")
    pattern.emitter.start()
    with pytest.raises(ValueError, match="this stream has started"):
        opened(batch, pattern, "x")
    assert told(batch, pattern_of("chat"), "x") == first


@pytest.mark.parametrize(
    ("api", "arguments", "message"),
    [
        ("chat", {"id": "x"}, "created is whole seconds"),
        ("chat", {"id": "x", "created": 1.5}, "created is whole seconds"),
        ("chat", {"id": "x", "created": "1"}, "created is whole seconds"),
        ("responses", {"id": "x"}, "created_at is seconds since 1970"),
        ("responses", {"id": "x", "created": float("nan")}, "created_at is seconds since 1970"),
        ("messages", {"id": "x", "created": 1}, "this API says no time: leave `created` out"),
        ("messages", {"id": None}, "id"),
        ("messages", {"id": b"x"}, "id"),
        ("messages", {}, "id"),
    ],
)
@pytest.mark.parametrize("used", [False, True], ids=["a new slot", "a slot that was used"])
def test_a_wrong_identity_opens_nothing(api: str, arguments: Any, message: str, used: bool) -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of(api)
    if used:
        told(batch, pattern, "before")
    for _ in range(2):
        with pytest.raises(TypeError, match=message):
            batch.open_sse(pattern.emitter, **arguments)
        assert len(batch) == 0
    assert told(batch, pattern, "after") == told_alone(pattern, "after")


def test_there_is_no_slot_left() -> None:
    batch, pattern = hs.Batch(capacity=2), pattern_of("chat")
    slots = [opened(batch, pattern, id)[0] for id in "ab"]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="all 2 slots are taken"):
            opened(batch, pattern, "c")
    batch.finish(slots[0])
    assert opened(batch, pattern, "c")[0] == slots[0]


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_twenty_thousand_responses_need_the_memory_of_one(api: str) -> None:
    batch, pattern = hs.Batch(capacity=1), pattern_of(api)
    at = TURN.index(200012) + 1
    pieces = [*([tid] for tid in TURN[:8]), TURN[8:at], TURN[at:]]
    expected = twin_of(pattern, "x")
    wanted = expected.start() + b"".join(map(expected.feed, pieces)) + expected.finish("stop")

    def respond(times: int) -> int:
        for _ in range(times):
            slot, made = opened(batch, pattern, "x")
            for piece in pieces:
                made += batch.feed_sse([slot], piece, [0, len(piece)])[0]
            assert made + batch.finish(slot, "stop") == wanted
        opened(batch, pattern, "x")
        stream = batch.close(0)
        size = sys.getsizeof(stream) + sys.getsizeof(stream.parser) + sys.getsizeof(vars(stream))
        batch.add(stream)
        del stream
        batch.finish(0, "stop")
        return size + sys.getsizeof(batch)

    before = respond(100)
    tracemalloc.start()
    try:
        respond(10)
        first = tracemalloc.get_traced_memory()[0]
        assert respond(2_000) == before
        assert tracemalloc.get_traced_memory()[0] - first < 10_000
    finally:
        tracemalloc.stop()
    assert respond(18_000) == before


def kept(api: str) -> int:
    """Bytes of all the API's streams that there are."""
    return sum(sys.getsizeof(one) for one in gc.get_objects() if type(one) is APIS[api])


@pytest.mark.parametrize("api", APIS)
def test_a_long_response_leaves_little(api: str) -> None:
    """In a batch of many slots, the memory of all their last responses would be more than the server's."""
    gc.collect()
    before = kept(api)
    batch, pattern = hs.Batch(capacity=1), pattern_of(api)
    text = TURN[:3] + TURN[3:6] * 50_000
    assert len(text) > 100_000
    slot, _ = opened(batch, pattern, "long")
    batch.feed_sse([slot], text, [0, len(text)])
    stream = batch.close(slot)
    assert sys.getsizeof(stream) > 500_000
    batch.add(stream)
    del stream
    batch.finish(slot, "stop")
    assert kept(api) - before < 100_000
    opened(batch, pattern, "short")
    assert kept(api) - before + sys.getsizeof(batch) < 100_000
