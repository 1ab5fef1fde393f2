"""Hostile connections: floods of headers, huge and slow bodies, bytes that are not text, JSON bombs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import cycle

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
MANY = 100 << 20


async def headers() -> AsyncIterator[bytes]:
    yield HEAD + b"".join(b"x-%d: y\r\n" % at for at in range(10_000)) + b"content-length: 2\r\n\r\n{}"


async def huge_declared() -> AsyncIterator[bytes]:
    yield HEAD + b"content-length: %d\r\n\r\n" % MANY
    for _ in range(100):
        yield b" " * (1 << 20)


async def huge_chunked() -> AsyncIterator[bytes]:
    yield HEAD + b"transfer-encoding: chunked\r\n\r\n"
    for _ in range(100):
        yield b"100000\r\n" + b" " * (1 << 20) + b"\r\n"


async def slowloris() -> AsyncIterator[bytes]:
    for byte in HEAD + b"content-length: 99\r\n\r\n{":
        yield bytes((byte,))
        await asyncio.sleep(0.02)


async def slow_body() -> AsyncIterator[bytes]:
    yield HEAD + b"content-length: 99\r\n\r\n"
    for _ in range(60):
        yield b"{"
        await asyncio.sleep(0.1)


async def not_utf8() -> AsyncIterator[bytes]:
    yield HEAD + b'content-length: 14\r\n\r\n{"model": "\xff"}'


async def json_bomb() -> AsyncIterator[bytes]:
    yield HEAD + b"content-length: 200000\r\n\r\n" + b"[" * 200_000


async def garbage() -> AsyncIterator[bytes]:
    yield b"\x00\xff\xfe" * 1000 + b"\r\n\r\n"


VISITS: dict[Callable[[], AsyncIterator[bytes]], tuple[bytes, ...]] = {
    headers: (b" 400 ", b" 431 "),
    huge_declared: (b" 413 ",),
    huge_chunked: (b" 413 ", b" 408 "),
    slowloris: (b" 408 ",),
    slow_body: (b" 408 ",),
    not_utf8: (b" 400 ",),
    json_bomb: (b" 400 ",),
    garbage: (b" 400 ",),
}
"""What is sent, and which statuses may answer it. A connection that is closed is an answer, too."""


class Hostile:
    """Visits the gateway until it is cancelled. visits: how many there were; wrong: answers that must not be."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self.visits = 0
        self.wrong: list[str] = []

    async def run(self, pause: float) -> None:
        for visit, statuses in cycle(VISITS.items()):
            answer = await self._visit(visit)
            self.visits += 1
            if answer and not any(status in answer[:20] for status in statuses):
                self.wrong.append(f"{visit.__name__}: {answer[:100]!r}")
            await asyncio.sleep(pause)

    async def _visit(self, visit: Callable[[], AsyncIterator[bytes]]) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            async for piece in visit():
                writer.write(piece)
                await writer.drain()
            return await asyncio.wait_for(reader.read(1000), 30)
        except OSError:  # it has been closed already: what came before?
            return b""
        finally:
            writer.close()
