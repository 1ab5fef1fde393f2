"""What sources yield, and what a response's streams make of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from wire_server import PATHS, SHORT, of, stream_of

import harmonystream as hs
from harmonystream.engines.base import Arrived
from harmonystream.integrations.source import Reader
from harmonystream.integrations.starlette import EventStreamResponse, Finished, Framed, Sampled, whole_response


def sent_by(source: AsyncIterator[Any], stream: Any, **options: Any) -> list[bytes]:
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            sent.append(message["body"])

    response = EventStreamResponse(source, stream, **options)
    asyncio.run(asyncio.wait_for(response({"type": "http"}, asyncio.Event().wait, send), 10))
    return sent


@pytest.mark.parametrize("api", PATHS)
def test_frames_of_a_batch_are_the_response(api):
    """Many responses, one batch: what a step has made for a slot goes to the slot's response, as it is."""
    batch = hs.batch.Batch("harmony", capacity=4)

    async def slot(stream: Any) -> AsyncIterator[Any]:
        number = batch.add(stream)  # it has been started by then
        try:
            for token in SHORT:
                frames = batch.feed_sse([number], [token])[0]
                await asyncio.sleep(0)
                yield Framed(frames)
            yield Framed(batch.finish(number, "stop"))
        finally:
            if number < 0:
                batch.close(number)

    stream, alone = stream_of(api), stream_of(api)
    made = [alone.start(), *map(alone.feed, SHORT), alone.finish("stop")]
    assert sent_by(slot(stream), stream) == [frames for frames in made if frames]
    assert len(batch) == 0


def test_frames_may_be_followed_by_an_end_that_the_response_makes():
    stream, alone = stream_of("chat"), stream_of("chat")

    async def source() -> AsyncIterator[Any]:
        yield Framed(stream.feed(SHORT))
        yield Finished("length")

    assert sent_by(source(), stream) == [alone.start(), alone.feed(SHORT), alone.finish("length")]


def test_frames_are_bytes():
    stream = stream_of("chat")
    with pytest.raises(TypeError, match="Framed has the frames of a stream as bytes, not str"):
        asyncio.run(whole_response(of(Framed("data"))(), stream))  # type: ignore[arg-type]


@pytest.mark.parametrize("api", PATHS)
def test_one_stream_in_a_list_takes_items_alone_too(api):
    """A server for n choices and for one need not know which it is."""
    made = [
        asyncio.run(whole_response(of(*items)(), streams))
        for items, streams in (
            ([*SHORT, Finished("stop")], stream_of(api)),
            ([*SHORT, Finished("stop")], [stream_of(api)]),
            ([*((0, token) for token in SHORT), (0, Finished("stop"))], [stream_of(api)]),
            ([Sampled(SHORT), Finished("stop")], [stream_of(api)]),
        )
    ]
    assert made == [made[0]] * 4


def test_several_choices_need_their_numbers():
    streams = hs.ChatStream.several([hs.Parser(), hs.Parser()], id="1", model="m", created=0)
    with pytest.raises(TypeError, match=r"the source of several streams yields \(choice, item\), not int"):
        asyncio.run(whole_response(of(*SHORT)(), streams))


@pytest.mark.parametrize("api", PATHS)
def test_an_error_may_have_a_type_and_a_code_whatever_the_api(api):
    stream = stream_of(api)
    reader = Reader(of()(), stream, None, None)
    reader.start()
    said = reader.error({"message": "Busy.", "type": "overloaded_error", "code": "rate_limit_exceeded"})
    assert b"Busy." in said
    assert b"overloaded_error" in said
    assert b"rate_limit_exceeded" in said


@pytest.mark.parametrize("api", PATHS)
def test_frames_of_what_arrives_together_are_those_of_one_by_one(api):
    ids = list(SHORT)

    def frames(*items):
        reader = Reader(of()(), stream_of(api), None, None)
        return reader.start() + b"".join(map(reader.take, items)), reader.done

    end = Finished("stop", {"completion_tokens": 3})
    assert frames(Arrived([[one] for one in ids] + [end])) == frames(*[[one] for one in ids], end)
    assert frames(Arrived([ids, end, [1]])) == frames(ids, end)


def test_what_came_before_an_error_is_sent():
    stream = stream_of("chat")
    reader = Reader(of()(), stream, None, None)
    reader.start()
    with pytest.raises(TypeError):
        reader.take(Arrived([SHORT, object()]))
    twin = stream_of("chat")
    twin.start()
    assert reader.error("no") == twin.feed(SHORT) + twin.error("no")
