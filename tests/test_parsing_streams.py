"""events() and asdict()."""

from __future__ import annotations

import asyncio
import json
import typing
from array import array
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import orjson
import pytest
from streams import chunkings

import harmonystream as hs

# analysis: Hello; final: Hi!
IDS = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]
TEXT = "<|channel|>final<|message|>It’s 雨.<|return|>"
CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": "雨"}'


async def arriving(items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


def read(source: Any, *arguments: Any, **options: Any) -> list[hs.Event]:
    """The events of a source, both as it is and as an async one."""

    async def collect() -> list[hs.Event]:
        items = [source] if isinstance(source, (str, bytes)) else source
        return [event async for event in hs.iter_events(arriving(items), *arguments, **options)]

    made = list(hs.iter_events(source, *arguments, **options))
    assert asyncio.run(collect()) == made
    return made


def expected(items: Any, reason: Any = None, **options: Any) -> list[hs.Event]:
    parser = hs.Parser(**options)
    made: list[hs.Event] = []
    for item in items:
        made += parser.feed_text(item) if isinstance(item, (str, bytes)) else parser.feed(item)
    return [*made, *parser.finish(reason)]


def test_events_are_those_of_a_parser_and_its_end():
    for pieces in chunkings(IDS):
        assert read(pieces) == expected(pieces)
    assert read(IDS) == read(array("i", IDS)) == expected(IDS)
    assert read([array("i", IDS)]) == expected([IDS])
    assert isinstance(read(IDS)[-1], hs.StreamEnd)


def test_text_may_come_whole_or_in_pieces():
    assert read(TEXT) == read(TEXT.encode()) == expected([TEXT])
    assert read([TEXT[:9], TEXT[9:]]) == expected([TEXT[:9], TEXT[9:]])


def test_options_are_a_parsers():
    assert read("2+2.</think>It is 4.", "think", start="reasoning") == expected(
        ["2+2.</think>It is 4."], format="think", start="reasoning"
    )
    with pytest.raises(TypeError):
        hs.iter_events([], colour="red")  # type: ignore[call-overload]


@pytest.mark.parametrize("reason", ["length", lambda: "MAX_TOKENS", {"type": "length"}])
def test_the_end_is_what_the_engine_says(reason):
    made = read(CALL, finish_reason=reason)
    assert [event.complete for event in made if isinstance(event, hs.ToolCallEnd)] == [False]
    assert made[-1].reason == "length"


def test_an_event_is_there_before_the_next_token_is_asked_for():
    asked = 0

    def source() -> Any:
        nonlocal asked
        for token in IDS:
            asked += 1
            yield token

    seen = [(asked, event.text) for event in hs.iter_events(source()) if hasattr(event, "text")]
    assert seen == [(4, "Hello"), (11, "Hi"), (12, "!")]


def test_what_a_source_raises_is_raised_where_it_happens():
    def source() -> Any:
        yield IDS[:4]
        raise KeyError("gone")

    events = hs.iter_events(source())
    assert [type(next(events)) for _ in range(2)] == [hs.MessageStart, hs.ReasoningDelta]
    with pytest.raises(KeyError, match="gone"):
        next(events)


def test_mistakes_raise_at_once():
    parser = hs.Parser()
    assert list(hs.iter_events(IDS, parser))[-1].reason == "stop"
    with pytest.raises(ValueError, match="this parser has read up to 13: give iter_events"):
        hs.iter_events(IDS, parser)
    with pytest.raises(TypeError, match="a parser has its vocabulary and its options"):
        hs.iter_events(IDS, hs.Parser(), strict=True)
    with pytest.raises(TypeError, match="source is an iterable of token ids or text, not int"):
        hs.iter_events(5)  # type: ignore[call-overload]


# --- asdict ---

WATCHING: dict[str, Any] = {"format": "harmony", "watch": [("f", "a")]}
EVENTS = [
    *read(IDS),
    *read(CALL, **WATCHING),
    *read("<|channel|>analysis to=python<|message|>\ud800", finish_reason="length"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_json_to_every_encoder(event):
    made = hs.events.asdict(event)
    assert next(iter(made)) == "type"
    fields = {name: tuple(value) if name == "path" else value for name, value in made.items() if name != "type"}
    again: Any = getattr(hs, made["type"])(**fields)
    assert again == event
    written = {
        "json": json.dumps(made),
        "orjson": orjson.dumps(made),
        "msgspec": msgspec.json.encode(made),
        "json, default": json.dumps(event, default=hs.events.asdict),
        "orjson, default": orjson.dumps(event, default=hs.events.asdict),
        "msgspec, hook": msgspec.json.encode(event, enc_hook=hs.events.asdict),
    }
    assert {name: json.loads(text) for name, text in written.items()} == dict.fromkeys(written, made)


def test_every_kind_of_event_has_been_tried():
    assert {type(event) for event in EVENTS} == {*typing.get_args(hs.Event)}


@pytest.mark.parametrize("other", [None, 5, "text", {"type": "StreamEnd"}, object()])
def test_what_is_no_event_is_refused_as_encoders_expect(other):
    with pytest.raises(TypeError, match=r"asdict\(\) takes an event, not"):
        hs.events.asdict(other)


def test_what_an_engine_yields_is_read_to_its_end():
    sampled, end = hs.engines.Sampled, hs.engines.Finished
    source = [IDS[:5], sampled(IDS[5:8]), *IDS[8:-1], end("length"), 5]
    assert read(source) == [*read(IDS[:-1], finish_reason="length")]
    assert read([*IDS[:-1], end("stop")], finish_reason="length")[-1].reason == "length"
