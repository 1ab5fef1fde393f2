"""What EventStreamResponse and whole_response do at the end: nothing is raised then, and what is stored is there."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from wire_server import PATHS, SHORT, USAGE, app_of, of, serving, stream_of

import harmonystream as hs
from harmonystream.integrations.starlette import EventStreamResponse, Finished, whole_response


class EngineError(Exception):
    pass


async def breaking() -> AsyncIterator[Any]:
    yield SHORT[:4]
    raise EngineError


async def untidy() -> AsyncIterator[Any]:
    try:
        yield SHORT
    finally:
        raise EngineError


class Response:
    """An ASGI server's side: what was sent, and whether the client is there."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.open = True
        self.gone = asyncio.Event()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.open = message["more_body"]

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def run(self, tokens: AsyncIterator[Any], stream: Any = None, **options: Any) -> None:
        response = EventStreamResponse(tokens, stream or stream_of("chat"), **options)
        await asyncio.wait_for(response({"type": "http"}, self.receive, self.send), 10)


# --- a connection that is used again ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["breaking", "untidy"])
def test_a_client_that_keeps_its_connection_loses_no_request(model):
    """A server closes the connection of a response that raises, which the client is about to use again."""
    app = app_of({"breaking": breaking, "untidy": untidy, "short": of(SHORT)}, on_error=lambda error: None)
    with serving(app) as url:
        client = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        client.connect()
        first = client.sock
        for turn in range(40):
            body = json.dumps({"model": ("short", model)[turn % 2], "stream": True})
            client.request("POST", PATHS["chat"], body)
            assert client.getresponse().read().endswith(b"data: [DONE]\n\n")
            assert client.sock is first
        client.close()


def test_an_error_is_logged_once_by_one_logger(caplog):
    server = Response()
    asyncio.run(server.run(breaking()))
    [record] = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == (
        *("harmonystream", logging.ERROR),
        "a response has ended with an error: EngineError()",
    )
    assert record.exc_info is not None
    assert record.exc_info[0] is EngineError
    assert not server.open


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("source", [breaking, untidy])
def test_a_callback_for_errors_gets_them_instead_of_the_log(source, asynchronous, caplog):
    noted: list[Any] = []

    async def note_error(error: BaseException) -> None:
        await asyncio.sleep(0)
        noted.append(type(error))

    asyncio.run(
        Response().run(source(), on_error=note_error if asynchronous else lambda error: noted.append(type(error)))
    )
    assert (noted, caplog.records) == ([EngineError], [])


def test_what_comes_after_the_last_frame_is_not_raised(caplog):
    async def raising(*_: Any) -> None:
        raise EngineError

    server = Response()
    asyncio.run(server.run(breaking(), on_error=raising, background=raising, on_end=raising))
    assert not server.open
    assert server.sent[-1].endswith(b"data: [DONE]\n\n")
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["on_error itself has raised", "a response has ended with an error: EngineError()"] * 3


# --- on_end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_response_is_stored_before_the_client_can_ask_for_it(api, asynchronous):
    server, stored = Response(), []

    def store(stream: Any) -> None:
        assert server.open
        assert stream.ended
        stored.append((stream.id, stream.response()))

    async def store_slowly(stream: Any) -> None:
        await asyncio.sleep(0.01)
        store(stream)

    stream = stream_of(api)
    hook = store_slowly if asynchronous else store
    asyncio.run(server.run(of(SHORT)(), stream, on_end=hook, usage=USAGE[api]))
    assert stored == [(stream.id, stream.response())]
    assert not server.open
    whole = asyncio.run(whole_response(of(SHORT)(), stream_of(api), usage=USAGE[api], on_end=hook_of(stored)))
    assert stored == [(stream.id, whole)] * 2


def hook_of(stored: list[Any]) -> Any:
    return lambda stream: stored.append((stream.id, stream.response()))


def test_a_failed_response_is_stored_too():
    stored: list[Any] = []
    stream = stream_of("responses")
    asyncio.run(Response().run(breaking(), stream, on_end=hook_of(stored), on_error=lambda error: None))
    [(id, response)] = stored
    assert (id, response["status"]) == (stream.id, "failed")


def test_a_client_that_goes_does_not_interrupt_what_is_being_stored():
    async def run() -> list[str]:
        server, done = Response(), []

        async def store(stream: Any) -> None:
            server.gone.set()
            await asyncio.sleep(0.05)
            done.append("stored")

        async def later() -> None:
            done.append("background")

        await server.run(of(SHORT)(), on_end=store, background=later)
        return done

    assert asyncio.run(run()) == ["stored", "background"]


# --- a whole response whose client goes ---------------------------------------------------------------------------


def test_a_client_that_goes_stops_a_whole_response():
    closed: list[str] = []

    async def endless() -> AsyncIterator[Any]:
        try:
            yield SHORT[:4]
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            closed.append("cancelled")
            raise
        finally:
            await asyncio.sleep(0.01)
            closed.append("closed")

    async def run() -> Any:
        server = Response()
        asyncio.get_running_loop().call_later(0.02, server.gone.set)
        made = await asyncio.wait_for(whole_response(endless(), stream_of("chat"), receive=server.receive), 10)
        assert len(asyncio.all_tasks()) == 1
        return made

    assert asyncio.run(run()) is None
    assert closed == ["cancelled", "closed"]


def test_a_whole_response_with_a_client_is_what_it_is_without():
    server = Response()

    async def run(source: AsyncIterator[Any]) -> Any:
        return await whole_response(source, stream_of("chat"), receive=server.receive, usage=USAGE["chat"])

    assert asyncio.run(run(of(SHORT)())) == asyncio.run(
        whole_response(of(SHORT)(), stream_of("chat"), usage=USAGE["chat"])
    )
    with pytest.raises(EngineError):
        asyncio.run(run(breaking()))


def test_a_server_that_stops_stops_a_whole_response():
    closed = []

    async def endless() -> AsyncIterator[Any]:
        try:
            yield SHORT[:4]
            await asyncio.sleep(60)
        finally:
            closed.append(True)

    async def run() -> None:
        task = asyncio.ensure_future(whole_response(endless(), stream_of("chat"), receive=Response().receive))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert closed == [True]


# --- what a Finished says -----------------------------------------------------------------------------------------


def test_the_usage_of_a_source_completes_that_of_the_response():
    async def source() -> AsyncIterator[Any]:
        yield SHORT
        yield Finished("stop", {"completion_tokens": 99})

    whole = asyncio.run(whole_response(source(), stream_of("chat"), usage=lambda: {"prompt_tokens": 7}))
    assert (whole["usage"]["prompt_tokens"], whole["usage"]["completion_tokens"]) == (7, 99)


def test_one_source_serves_all_three_apis():
    """It counts in the words of one of them."""

    async def source() -> AsyncIterator[Any]:
        yield SHORT
        yield Finished({"type": "length", "length": 13}, {"prompt_tokens": 7, "completion_tokens": 13})

    ends = {}
    for api in PATHS:
        whole = asyncio.run(whole_response(source(), stream_of(api)))
        ends[api] = [whole["usage"].get(name) for name in ("prompt_tokens", "input_tokens", "output_tokens")]
    assert ends == {"chat": [7, None, None], "responses": [None, 7, 13], "messages": [None, 7, 13]}


def test_a_stop_string_of_an_engine_is_sent_if_the_api_has_a_field_for_it():
    async def source() -> AsyncIterator[Any]:
        yield SHORT[:-1]
        yield Finished({"type": "stop", "matched": "\n\n"})

    message = asyncio.run(whole_response(source(), stream_of("messages")))
    assert (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "\n\n")
    chat = asyncio.run(whole_response(source(), stream_of("chat")))
    assert (chat["choices"][0]["finish_reason"], chat["choices"][0]["stop_reason"]) == ("stop", "\n\n")
    assert asyncio.run(whole_response(source(), stream_of("responses")))["status"] == "completed"


def test_all_streams_say_who_they_are():
    for api in PATHS:
        stream: Any = stream_of(api)
        assert isinstance(stream.id, str)
        assert stream.model == "scripted"
    assert isinstance(hs.MessagesStream(id="msg_1", model="m"), hs.MessagesStream)
