"""harmonystream.integrations.starlette, by ASGI messages alone."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from command import ENV
from wire_server import PATHS, SHORT, USAGE, expected_chunks, of, stream_of

from harmonystream.integrations.starlette import EventStreamResponse, Finished, whole_response


class Server:
    """The server's side of one response."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.open = True  # may the last message be followed by others?
        self.gone = asyncio.Event()
        self.before: Callable[[], Any] = lambda: None  # awaited before each body is sent, if it is a coroutine

    async def send(self, message: Any) -> None:
        assert self.open
        waiting = self.before()
        if waiting is not None:
            await waiting
        if message["type"] == "http.response.body":
            self.sent.append(message["body"])
            self.open = message["more_body"]

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def run(self, tokens: AsyncIterator[Any], api: str = "chat", **options: Any) -> None:
        response = EventStreamResponse(tokens, stream_of(api), **{"reason": "stop", "usage": USAGE[api], **options})
        await asyncio.wait_for(response({"type": "http"}, self.receive, self.send), 10)


def test_a_response_takes_two_tasks_and_a_token_none():
    async def run() -> int:
        made = 0

        def count(loop: Any, coroutine: Any, **more: Any) -> Any:
            nonlocal made
            made += 1
            return asyncio.Task(coroutine, loop=loop, **more)

        server = Server()
        response = EventStreamResponse(of(*[*SHORT[:4], *[13225] * 1000])(), stream_of("chat"))
        asyncio.get_running_loop().set_task_factory(count)
        await response({"type": "http"}, server.receive, server.send)
        assert len(server.sent) == 1 + 1001 + 1
        return made

    assert asyncio.run(run()) == 2


@pytest.mark.parametrize(("api", "said"), [("chat", b'"finish_reason":"length"'), ("messages", b'"max_tokens"')])
def test_the_source_may_say_how_it_ended(api, said):
    async def source() -> AsyncIterator[Any]:
        yield SHORT[:4]
        yield Finished("length", {"input_tokens": 5, "prompt_tokens": 5, "output_tokens": 987})
        raise AssertionError("nothing is read after it")

    async def run() -> bytes:
        server = Server()
        await server.run(source(), api)
        assert not server.open
        return server.sent[-1]

    last = asyncio.run(run())
    assert said in last
    assert (b'"completion_tokens":987' if api == "chat" else b'"output_tokens":987') in last


def test_reason_and_usage_may_be_functions_called_at_the_end():
    read = 0

    async def source() -> AsyncIterator[Any]:
        nonlocal read
        for token in SHORT:
            read += 1
            yield token

    server_lines: list[bytes] = []

    async def run() -> None:
        server = Server()
        await server.run(source(), reason=lambda: "length", usage=lambda: {"completion_tokens": read})
        server_lines.extend(server.sent)

    asyncio.run(run())
    assert b'"finish_reason":"length"' in server_lines[-1]
    assert b'"completion_tokens":13' in server_lines[-1]


def test_a_slow_client_gets_no_comments():
    async def run() -> list[bytes]:
        server = Server()
        server.before = lambda: asyncio.sleep(0.1)
        await server.run(of(SHORT)(), keep_alive=0.02)
        return server.sent

    assert asyncio.run(run()) == expected_chunks("chat", [SHORT], "scripted")


@pytest.mark.parametrize("at", range(4))
def test_a_server_that_raises_for_a_client_that_is_gone(at):
    """As ASGI lets it: head, opening, frames and the last ones."""
    closed = []

    async def source() -> AsyncIterator[Any]:
        try:
            yield SHORT
        finally:
            closed.append(True)

    async def run() -> None:
        server, calls = Server(), iter(range(9))

        def before() -> None:
            if next(calls) == at:
                raise BrokenPipeError

        server.before = before
        tokens = source()
        await server.run(tokens)
        with pytest.raises(StopAsyncIteration):
            await anext(tokens)

    asyncio.run(run())
    assert closed == [True] * (at > 1)  # before, it has not begun


def test_a_source_that_does_not_heed_its_cancellation_is_closed():
    closed = []

    async def stubborn() -> AsyncIterator[Any]:
        try:
            for _ in range(50):
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    closed.append("cancelled")
                yield SHORT[:4]
        finally:
            closed.append("closed")

    async def run() -> None:
        server = Server()
        asyncio.get_running_loop().call_later(0.05, server.gone.set)
        await server.run(stubborn())
        assert server.open

    asyncio.run(run())
    assert closed == ["cancelled", "closed"]


def test_a_server_that_shuts_down_stops_the_source():
    closed = []

    async def source() -> AsyncIterator[Any]:
        try:
            yield SHORT[:4]
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def run() -> None:
        task = asyncio.ensure_future(Server().run(source()))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())
    assert closed == [True]


def test_the_clients_bytes_do_not_wait_for_the_sources_end():
    """Servers say "disconnected" after a whole response: that cancels nothing."""

    async def run() -> list[str]:
        server, order = Server(), []

        async def source() -> AsyncIterator[Any]:
            try:
                yield SHORT
                yield Finished("stop")
            finally:
                order.append("whole" if not server.open else "open")
                server.gone.set()
                await asyncio.sleep(0.02)
                order.append("cleaned up")

        async def later() -> None:
            order.append("background")

        await server.run(source(), background=later)
        return order

    assert asyncio.run(run()) == ["whole", "cleaned up", "background"]


def test_the_caller_decides_about_headers_and_status():
    response = EventStreamResponse(of()(), stream_of("chat"), status_code=203, headers={"Cache-Control": "private"})
    assert response.status_code == 203
    assert response.headers.getlist("cache-control") == ["private"]
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"


@pytest.mark.parametrize("keep_alive", [0, -1, float("nan")])
def test_keep_alive_is_a_time(keep_alive):
    with pytest.raises(ValueError, match="keep_alive is more than 0 seconds, or None, not"):
        EventStreamResponse(of()(), stream_of("chat"), keep_alive=keep_alive)


@pytest.mark.parametrize("tokens", [[1, 2], of(), None, iter("text")], ids=["list", "function", "None", "iterator"])
def test_a_source_is_an_async_iterator(tokens):
    why = f"tokens is an async iterator, such as an async generator, not {type(tokens).__name__}"
    with pytest.raises(TypeError, match=why):
        EventStreamResponse(tokens, stream_of("chat"))
    stream = stream_of("chat")
    with pytest.raises(TypeError, match=why):
        asyncio.run(whole_response(tokens, stream))
    assert stream.is_new


@pytest.mark.parametrize("api", PATHS)
def test_a_stream_serves_one_response(api):
    stream = stream_of(api)
    asyncio.run(whole_response(of(SHORT)(), stream, usage=USAGE[api]))
    with pytest.raises(ValueError, match="this stream has started already: each response needs a new one"):
        EventStreamResponse(of(SHORT)(), stream)
    with pytest.raises(ValueError, match="this stream has started already"):
        asyncio.run(whole_response(of(SHORT)(), stream))


class EngineError(Exception):
    pass


async def breaking() -> AsyncIterator[Any]:
    yield SHORT[:4]
    raise EngineError


SAID = {
    "chat": {"message": "Busy.", "type": "rate_limit_error", "code": "busy"},
    "responses": {"message": "Busy.", "code": "rate_limit_exceeded"},
    "messages": {"message": "Busy.", "type": "overloaded_error"},
}


@pytest.mark.parametrize("api", PATHS)
def test_the_caller_may_say_an_errors_type_and_code(api):
    for say in (SAID[api], lambda error: SAID[api] if isinstance(error, EngineError) else ""):
        server, stream = Server(), stream_of(api)
        asyncio.run(server.run(breaking(), api, error_message=say, on_error=lambda error: None))
        assert server.sent == [stream.start(), stream.feed(SHORT[:4]), stream.error(**SAID[api])]


def no_answer(error: BaseException) -> str:
    raise KeyError("no text for this")


UNSAID = {
    "raises": no_answer,
    "None": lambda error: None,
    "number": {"message": "Busy.", "code": 5},
    "empty": {},
    "unknown": {"message": "Busy.", "colour": "red"},
}


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("case", UNSAID)
def test_the_client_has_its_end_whatever_the_caller_says(api, case):
    server, stream = Server(), stream_of(api)
    raised: list[BaseException] = []
    asyncio.run(server.run(breaking(), api, error_message=UNSAID[case], on_error=raised.append))
    last = "The response ended with an internal error."
    assert server.sent == [stream.start(), stream.feed(SHORT[:4]), stream.error(last)]
    [error] = raised
    assert type(error) is EngineError
    worse = error.__context__
    assert type(worse) is (KeyError if case == "raises" else TypeError)
    assert worse.__context__ is None


def test_a_response_leaves_nothing_to_the_collector():
    async def run() -> list[weakref.ref[Any]]:
        found = []
        for streams, item in ((stream_of("chat"), SHORT), ([stream_of("messages")], (0, SHORT))):
            response = EventStreamResponse(of(item)(), streams)
            await response({"type": "http"}, asyncio.Event().wait, Server().send)
            found += [weakref.ref(response), weakref.ref(streams[0] if isinstance(streams, list) else streams)]
        return found

    gc.collect()
    gc.disable()
    try:
        assert [ref() for ref in asyncio.run(run())] == [None] * 4
    finally:
        gc.enable()


def test_only_this_module_loads_starlette():
    code = "import sys, harmonystream.integrations, harmonystream.emit.chat; print('starlette' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")
