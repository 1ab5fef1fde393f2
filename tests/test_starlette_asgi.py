"""harmonystream.integrations.starlette, by ASGI messages alone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from command import ENV
from wire_server import SHORT, USAGE, expected_chunks, of, stream_of

from harmonystream.integrations.starlette import EventStreamResponse, Finished


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
        raise AssertionError("nothing is read behind it")

    async def run() -> bytes:
        server = Server()
        await server.run(source(), api)
        assert not server.open
        return server.sent[-1]

    last = asyncio.run(run())
    assert said in last
    assert b'"output_tokens":987' in last


def test_reason_and_usage_may_be_functions_called_at_the_end():
    read = 0

    async def source() -> AsyncIterator[Any]:
        nonlocal read
        for token in SHORT:
            read += 1
            yield token

    server_said: list[bytes] = []

    async def run() -> None:
        server = Server()
        await server.run(source(), reason=lambda: "length", usage=lambda: {"completion_tokens": read})
        server_said.extend(server.sent)

    asyncio.run(run())
    assert b'"finish_reason":"length"' in server_said[-1]
    assert b'"completion_tokens":13' in server_said[-1]


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
    """Servers say "disconnected" behind a whole response: that cancels nothing."""

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


def test_only_this_module_loads_starlette():
    code = "import sys, harmonystream.integrations, harmonystream.emit.chat; print('starlette' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")
