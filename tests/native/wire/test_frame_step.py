"""Frames of plain tokens in a batch: they are those that the emitter writes alone, and whoever looks at the emitter
between two steps sees all of them.
"""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from random_batches import APIS, Kind, Slots, kinds_of_emitter
from streams import encode_bytewise, to_ids
from tag_streams import tokens

import harmonystream as hs

HEADS = {
    "reasoning": "<|channel|>analysis<|message|>",
    "preamble": "<|channel|>commentary<|message|>",
    "content": "<|channel|>final<|message|>",
    "arguments": "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
}
PLAIN = (" the", "a", " word", " and", ",", ".", " of", "in", " something")
PIECES: dict[str, tuple[str, ...]] = {  # plain tokens, those that are not, and what ends a string
    "text": (
        *PLAIN,
        *("\n", '"', "\\", "\t", " 日本", "é", "😀", " " * 64, "=" * 64, " internationalization", " responsibilities"),
    ),
    "arguments": (
        *PLAIN,
        *('{"a": "', '", "', '": "', '"}', "{", "}", "[", "]", ": ", "1", " true"),
        *('\\"', "\\n", "\\u00e9", "\n", '": {'),
        *(" internationalization", " " * 64),
    ),
}


@st.composite
def bodies(draw: st.DrawFn, kind: str) -> list[int]:
    """Long runs of plain tokens, with others among them."""
    pieces = PIECES["arguments" if kind == "arguments" else "text"]
    ids = to_ids(b'{"k": "') if kind == "arguments" and draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 4))):
        run = draw(st.sampled_from(PLAIN)).encode()
        ids += to_ids(run) * draw(st.sampled_from([1, 3, 24, 25, 60, 130]))
        for piece in draw(st.lists(st.sampled_from(pieces), max_size=5)):
            encode = draw(st.sampled_from([to_ids, to_ids, encode_bytewise]))
            ids += encode(piece.encode())
    return ids


@st.composite
def turns(draw: st.DrawFn) -> list[int]:
    """Messages of all kinds with long bodies; the last one may be cut."""
    ids: list[int] = []
    for at, kind in enumerate(draw(st.lists(st.sampled_from(sorted(HEADS)), min_size=1, max_size=4))):
        ids += to_ids(b"<|start|>assistant") if at else []
        ids += to_ids(HEADS[kind].encode()) + draw(bodies(kind))
        if draw(st.integers(0, 9)):
            ids += to_ids(b"<|call|>" if kind == "arguments" else b"<|end|>")
    return ids


def run(batch: hs.batch.Batch, kinds: list[Kind], streams: list[list[int]], seed: int) -> None:
    """All streams at once. Most steps are of one token, and between some of them somebody looks at a stream."""
    dice = random.Random(seed)
    slots, looks = Slots(batch, dice), dice.choice((0.0, 0.02, 0.2))
    for ids in streams:
        slots.open(dice.choice(kinds), ids[:])
    while any(twin.ids for twin in slots.twins.values()):
        slots.step()
        if dice.random() < looks:
            slots.look(dice.choice(sorted(slots.twins)))
    slots.over()


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=settings.default.max_examples // 4)
@given(st.data(), st.lists(turns() | random_streams.id_streams, min_size=1, max_size=4), random_streams.seeds)
def test_long_runs_of_plain_tokens(api: str, data: st.DataObject, streams: list[list[int]], seed: int) -> None:
    kinds = data.draw(st.lists(kinds_of_emitter(api), min_size=1, max_size=3))
    run(hs.batch.Batch(capacity=4), [Kind(*kind, hs.Parser) for kind in kinds], streams, seed)


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "glm", "deepseek", "mistral", "pythonic"])
@settings(max_examples=settings.default.max_examples // 8)
@given(st.data(), random_streams.seeds)
def test_values_of_calls(name: str, data: st.DataObject, seed: int) -> None:
    """Some formats write arguments as JSON, others as values of which the parser makes JSON."""
    options = data.draw(random_tags.options(name))
    vocab = tokens(name, "added").vocab
    words = st.sampled_from(("Hello", " world", " the", "日本", "true", "1.5")).flatmap(
        lambda word: st.integers(1, 60).map(lambda times: tokens(name).encode(word.encode()) * times)
    )
    parts = st.lists(random_tags.id_streams(name, "added") | words, min_size=1, max_size=4)
    streams = data.draw(
        st.lists(parts.map(lambda some: [tid for part in some for tid in part]), min_size=1, max_size=3)
    )
    kinds = data.draw(st.lists(kinds_of_emitter(), min_size=1, max_size=2))
    made = [Kind(*kind, lambda: options.parser(vocab), options.declared) for kind in kinds]
    run(hs.batch.Batch(name, vocab, 3, check_stops=False), made, streams, seed)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(turns(), min_size=1, max_size=4), random_streams.seeds)
def test_columns_of_long_runs(streams: list[list[int]], seed: int) -> None:
    """Arguments inside of strings are taken without the parser. Whatever is asked of it includes them."""
    batch, dice = hs.batch.Batch(capacity=4), random.Random(seed)
    left = {batch.open(): ids for ids in streams}
    twins = {slot: hs.Parser() for slot in left}
    while any(left.values()):
        slots = [slot for slot in left if left[slot] and dice.random() < 0.8]
        ids = [left[slot][0] for slot in slots]
        told: dict[int, list[hs.Event]] = {slot: [] for slot in slots}
        for slot, event in batch.feed(slots, ids):
            told[slot].append(event)
        for slot, tid in zip(slots, ids):
            assert told[slot] == list(twins[slot].feed(tid))
            left[slot] = left[slot][1:]
        slot = dice.choice(sorted(left))
        match dice.randrange(30):
            case 0:
                assert batch[slot].usage == twins[slot].usage
            case 1:
                assert batch[slot].to_bytes() == twins[slot].to_bytes()
            case 2:
                parser = batch.close(slot)
                assert batch.add(parser.fork()) == slot
            case 3:
                assert batch[slot].feed(left[slot][:2]) == twins[slot].feed(left[slot][:2])
                left[slot] = left[slot][2:]
            case 4:
                assert batch.counts([slot]).tolist() == [[*twins[slot].usage, twins[slot].deviation_count]]
    for slot, twin in twins.items():
        assert batch[slot].deviations == twin.deviations
        assert batch.finish(slot) == twin.finish()


def started(api: str, **options: Any) -> Any:
    time = {"chat": {"created": 1}, "responses": {"created": 1}, "messages": {}}[api]
    stream = APIS[api](hs.Parser(), id="x", **{"model": "m", **time, **options})
    stream.start()
    return stream


LONG = to_ids(b" word") * 3 + to_ids(b"a") * 7 + to_ids(b" internationalization" + b"=" * 64)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("api", APIS)
def test_looking_after_every_token(api: str, kind: str) -> None:
    """The stream has all of its text."""
    head = to_ids(HEADS[kind].encode()) + (to_ids(b'{"a": "') if kind == "arguments" else [])
    for step in (1, 2, 7, 43):
        batch, stream, twin = hs.batch.Batch(capacity=1), started(api), started(api)
        batch.add(stream)
        assert [*batch.feed_sse([0], head, [0, len(head)])] == [twin.feed(head)]
        for at, tid in enumerate(LONG * 8):
            assert [*batch.feed_sse([0], [tid])] == [twin.feed(tid)]
            if at % step == 0:
                assert stream.response() == twin.response()
                assert stream.parser.to_bytes() == twin.parser.to_bytes()
        assert batch.finish(0, "length") == twin.finish("length")
        assert stream.response() == twin.response()


@pytest.mark.parametrize("api", APIS)
def test_lengths_of_a_frame(api: str) -> None:
    ids = to_ids(HEADS["content"].encode()) + LONG + to_ids(b'"\n') + LONG
    for size in (*range(1, 200, 3), 250, 300, 70_000):
        batch, stream, twin = hs.batch.Batch(capacity=1), started(api, model="m" * size), started(api, model="m" * size)
        batch.add(stream)
        for tid in ids:
            assert [*batch.feed_sse([0], [tid])] == [twin.feed(tid)]
        assert batch.finish(0, "stop") == twin.finish("stop")


@pytest.mark.parametrize("api", APIS)
def test_frames_are_numbered_on(api: str) -> None:
    """What follows has the next number, whoever writes it: the emitter alone, an error, or Python."""
    ids = to_ids(HEADS["content"].encode()) + LONG
    for at in range(3, len(ids)):
        for end in ("error", "finish", "feed", "events"):
            batch, stream, twin = hs.batch.Batch(capacity=1), started(api), started(api)
            batch.add(stream)
            for tid in ids[:at]:
                batch.feed_sse([0], [tid])
                twin.feed(tid)
            if end == "error":
                assert stream.error("odd") == twin.error("odd")
            elif end == "feed":
                assert stream.feed(ids[at:]) == twin.feed(ids[at:])
                assert [*batch.feed_sse([0], ids[:1])] == [twin.feed(ids[:1])]
            elif end == "events":
                with pytest.raises(ValueError, match="writes bytes and has started"):
                    stream.events(ids[at:])
            if end != "error":
                assert batch.finish(0, "stop") == twin.finish("stop")


def test_a_long_step_of_one_stream_is_not_expected_of_all() -> None:
    """The next step takes memory for what its streams need, not for as many long texts as it has streams."""
    resource = pytest.importorskip("resource")
    script = """if True:
        import resource, harmonystream as hs
        batch = hs.batch.Batch(capacity=1024)
        slots = []
        for k in range(1024):
            stream = hs.ChatStream(hs.Parser(), id=f"c{k}", model="m", created=1)
            stream.start()
            slots.append(batch.add(stream))
        batch.feed_sse(slots[:1], [200005, 17196, 200008, *[13225] * 400_000], [0, 400_003])
        limit = 1 << 31
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        assert len(batch.feed_sse(slots, [12194] + [200005] * 1023)[0]) > 100
    """
    assert resource.RLIMIT_AS >= 0
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
