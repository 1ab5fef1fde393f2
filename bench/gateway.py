"""`python -m bench.gateway`: what `harmonystream serve` costs for each chunk of its engine, and delays it. Linux only.

A scripted engine speaks vLLM's contract. The first table has the gateway's processor time for each chunk; the engine's
pace leaves it idle in between, so that chunks are not read several at once. Its last columns are the time that the same
emitter needs for the same ids in this process, which is parsing and framing without HTTP. Beside them stands
an unread copy: a server of the same libraries, which sends on what the engine sends and does not read it.

The second table has the time from the engine's write of a chunk to the client's read of its text, at half of the load
at which the first table's figure fills a core, and the same without the gateway in between. The engine and the clients
are in one process then, whose clock takes both times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from statistics import quantiles
from threading import Event
from typing import Any

import harmonystream as hs
from bench import report
from bench.clock import now
from bench.report import Row, shown
from bench.wire import (
    CHAT,
    DONE,
    PATH,
    PAUSE,
    chunks,
    gateway,
    head_of,
    length_of,
    listening,
    per_chunk,
    running,
    script,
)
from bench.wire import HEAD as ANSWER_HEAD
from harmonystream.gateway.requests import chat_api

HEAD = (
    *("streams at a time", "tokens in a chunk", "a chunk of the engine", "an unread copy", "beside the copy"),
    *("parsing and framing", "share"),
)
PERCENTILES = [f"{what}, {at}" for what in ("gateway", "direct", "added") for at in ("p50", "p99")]
LATENCY_HEAD = ("streams at a time", "chunks/s", *PERCENTILES)
TEXTS = (hs.ReasoningDelta, hs.ContentDelta)
SIZES = (1, 8)
ROUNDS = 5
TURNS = 3


# --- processor time -------------------------------------------------------------------------------------------------


def serve_copy(engine: str) -> None:
    """Sends what the engine sends. The libraries are those of the gateway."""
    import aiohttp
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    sessions: list[aiohttp.ClientSession] = []

    async def pieces(body: bytes) -> AsyncIterator[bytes]:
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        async with sessions[0].post(f"{engine}/v1/completions", data=body) as response:
            async for piece in response.content.iter_any():
                yield piece

    async def answer(request: Request) -> Response:
        return StreamingResponse(pieces(await request.body()), media_type="text/event-stream")

    made = Starlette(routes=[Route(PATH, answer, methods=["POST"])])
    config = uvicorn.Config(made, ws="none", lifespan="off", access_log=False, log_level="error")
    with listening() as at:
        uvicorn.Server(config).run([at])


def cost(tokens: int, count: int, size: int, *, copied: bool = False) -> float:
    """Microseconds of the gateway's processor for each chunk. copied: of the copy in its place."""
    with ExitStack() as stack:
        _, engine = stack.enter_context(running("bench.wire", "completions", tokens, size, PAUSE * count))
        server = running("bench.gateway", "--copy-of", engine) if copied else gateway(engine)
        return per_chunk(*stack.enter_context(server), count, len(chunks(tokens, size)) - 1, TURNS)


def framing(tokens: int, size: int) -> float:
    """Microseconds for each chunk of the emitter that the gateway makes for this request."""
    ids, asked = script(tokens), chat_api.read(json.loads(CHAT))
    pieces = [ids[at : at + size] for at in range(0, len(ids), size)]
    taken = []
    for _ in range(ROUNDS):
        (stream,) = chat_api.streams(asked, [hs.Parser()], "chatcmpl-1", 1, "reasoning", {"prompt_tokens": 60})
        began = now()
        stream.start()
        for piece in pieces:
            stream.feed(piece)
        stream.finish("stop")
        taken.append((now() - began) / len(pieces) / 1e3)
    return min(taken)


def rows(tokens: int, took: dict[tuple[int, int], float]) -> Iterator[Row]:
    """took: (streams, tokens in a chunk) -> microseconds for each chunk."""
    for (count, size), each in took.items():
        own, copied = framing(tokens, size), cost(tokens, count, size, copied=True)
        times = f"{shown(each)} µs", f"{shown(copied)} µs", f"{each / copied:.2f}", f"{shown(own)} µs"
        yield Row((f"{count:,}", str(size), *times, f"{100 * own / each:.1f} %"))


# --- latency --------------------------------------------------------------------------------------------------------


class Trial:
    """Streams with the times of each chunk: when it was sent, and when it was read. Times are the loop's.

    pause: seconds between two chunks of a stream. No stream begins before all have been asked for.
    """

    def __init__(self, tokens: int, count: int, pause: float) -> None:
        self.made, self.count, self.pause = chunks(tokens, 1), count, pause
        parser = hs.Parser()
        self.speaks = [any(isinstance(event, TEXTS) for event in parser.feed(token)) for token in script(tokens)]
        self.sent: dict[int, list[float]] = {}
        self.read: dict[int, list[float]] = {}
        self.ended = Event()
        self._waiting: list[Engine] = []

    def ask(self, engine: Engine) -> None:
        self._waiting.append(engine)
        if len(self._waiting) == self.count:
            began = asyncio.get_running_loop().time() + 0.1
            for at, each in enumerate(self._waiting):
                each.begin(began + at * self.pause / self.count)

    async def run(self, through_gateway: bool, beside: Callable[[int], object] | None = None) -> list[float]:
        """Seconds from each write to its read, for the last three quarters of each stream.

        beside: is called with the server's port in a thread, and may go on until `ended` is set.
        """
        loop = asyncio.get_running_loop()
        engine = await loop.create_server(partial(Engine, self), "127.0.0.1", 0, backlog=1024)
        port = engine.sockets[0].getsockname()[1]
        with ExitStack() as stack:
            if through_gateway:  # which asks the engine, in this loop, before it is there
                serves = gateway(f"http://127.0.0.1:{port}")
                _, address = await asyncio.to_thread(stack.enter_context, serves)
                port = int(address.rpartition(":")[2])
            ends = [loop.create_future() for _ in range(self.count)]
            for number, end in enumerate(ends):
                await loop.create_connection(partial(Client, self, number, end), "127.0.0.1", port)
            other = asyncio.to_thread(beside, port) if beside else asyncio.sleep(0)
            await asyncio.gather(other, self._over(ends))
        engine.close()
        return [took for stream in self.sent for took in self._delays(stream, through_gateway)]

    async def _over(self, ends: list[asyncio.Future[None]]) -> None:
        await asyncio.gather(*ends)
        self.ended.set()

    def _delays(self, stream: int, through_gateway: bool) -> list[float]:
        """The gateway says nothing for a chunk that is a marker, such as the first ones and the last."""
        read, sent = self.read[stream], self.sent[stream]
        if through_gateway:
            sent = [when for when, speaks in zip(sent, self.speaks) if speaks]
        if not read or len(sent) != len(read):
            raise RuntimeError(f"{len(read)} texts were read, of {len(sent)} chunks")
        return [late - early for early, late in zip(sent, read)][len(read) // 4 :]


class Engine(asyncio.Protocol):
    """One answer of the engine."""

    def __init__(self, trial: Trial) -> None:
        self._trial, self._head, self._at = trial, b"", 0
        self._left: int | None = None  # bytes of the body that are still to come; None: the head is not whole

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._left is None:
            self._head, found, data = (self._head + data).partition(b"\r\n\r\n")
            if not found:
                return
            self._left = length_of(self._head)
        self._left -= len(data)
        if self._left > 0:
            return
        named = re.search(rb"x-request-id: (\d+)\r", self._head + b"\r", re.I)
        if named is None:  # a request for the models, or for the health
            self._transport.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            self._transport.close()
            return
        self._times = self._trial.sent[int(named[1])] = []
        self._trial.ask(self)

    def begin(self, when: float) -> None:
        self._transport.write(ANSWER_HEAD)
        self._next = when
        self._loop = asyncio.get_running_loop()
        self._loop.call_at(when, self._send)

    def _send(self) -> None:
        chunk = self._trial.made[self._at]
        if chunk is DONE:
            self._transport.write(chunk)
            self._transport.close()
            return
        self._times.append(self._loop.time())
        self._transport.write(chunk)
        self._at += 1
        self._next += self._trial.pause
        self._loop.call_at(self._next, self._send)


class Client(asyncio.Protocol):
    """One answer, as it is read."""

    def __init__(self, trial: Trial, number: int, end: asyncio.Future[None]) -> None:
        self._times = trial.read[number] = []
        self._number, self._end, self._rest = number, end, b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: Any) -> None:
        transport.write(head_of(PATH, CHAT, f"x-request-id: {self._number}\r\n") + CHAT)

    def data_received(self, data: bytes) -> None:
        when = self._loop.time()
        *frames, self._rest = (self._rest + data).split(b"\n\n")
        self._times += [when] * sum(map(has_text, frames))

    def connection_lost(self, error: Exception | None) -> None:
        self._end.set_result(None)


def has_text(frame: bytes) -> bool:
    """Is it one of the gateway's with text, or one of the engine's with a token?"""
    return b'"reasoning":"' in frame or b'"content":"' in frame.replace(b'"content":""', b"") or b'"token_ids"' in frame


def latency_rows(tokens: int, took: dict[tuple[int, int], float]) -> Iterator[Row]:
    for (count, size), each in took.items():
        if size != 1:
            continue
        rate = 0.5e6 / each
        found = []
        for through_gateway in (True, False):
            delays = quantiles(asyncio.run(Trial(tokens, count, count / rate).run(through_gateway)), n=100)
            found.append((delays[49], delays[98]))
        added = tuple(late - early for late, early in zip(*found))
        cells = [f"{1e3 * seconds:.2f} ms" for pair in (*found, added) for seconds in pair]
        yield Row((f"{count:,}", f"{rate:,.0f}", *cells))


def main() -> None:
    parser = report.options("bench.gateway", __doc__)
    parser.add_argument("--tokens", type=int, default=400, help="of an answer (400)")
    counts = [1, 32, 200, 500]
    parser.add_argument("--streams", type=int, nargs="+", default=counts, help="at a time (1, 32, 200 and 500)")
    parser.add_argument("--copy-of", help=argparse.SUPPRESS)  # be that process
    asked = parser.parse_args()
    if asked.copy_of:
        serve_copy(asked.copy_of)
        return
    print(*report.machine(None), sep="\n", end="\n\n")
    took = {(count, size): cost(asked.tokens, count, size) for count in asked.streams for size in SIZES}
    report.show(HEAD, rows(asked.tokens, took), asked.markdown)
    report.show(LATENCY_HEAD, latency_rows(asked.tokens, took), asked.markdown)


if __name__ == "__main__":
    main()
