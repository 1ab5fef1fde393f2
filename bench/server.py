"""`python -m bench.server`: whole Starlette servers with a scripted model, in chunks per second of a core.

The server has a process of its own, whose processor time is what counts: neither the client nor other processes do.
The three answer alike, a chunk for each token, to as many clients at a time, in turns:

- ours: EventStreamResponse and ChatStream;
- official: openai-harmony's parser with the getters that a server needs, a pydantic model of each chunk, and
  Starlette's own StreamingResponse;
- nothing: StreamingResponse of a chunk that is there already, which is what is left to Starlette, uvicorn and asyncio.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

from bench import report, streams
from bench.report import Row
from bench.worker import ROOT

HEAD = ("a server that sends", "chunks/s of a core", "a chunk", "without the server")
KINDS = {
    "ours": "harmonystream, EventStreamResponse",
    "official": "openai-harmony, pydantic",
    "nothing": "one chunk again and again",
}
REQUEST = b"POST /%s HTTP/1.1\r\nhost: bench\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


# --- the server's process -------------------------------------------------------------------------------------------


def script(tokens: int) -> list[int]:
    work = streams.prose(tokens)
    return [*work.opening, *work.body]


def models() -> Callable[..., str]:
    """The chunk as a pydantic model, with the fields that servers send. -> text of a delta -> JSON."""
    from pydantic import create_model

    texts: dict[str, Any] = dict.fromkeys(("role", "content", "reasoning"), (str | None, None))
    delta = create_model("Delta", **texts)
    choice = create_model("Choice", index=int, delta=delta, logprobs=(None, None), finish_reason=(str | None, None))
    names: dict[str, Any] = {"id": str, "object": (str, "chat.completion.chunk"), "created": int, "model": str}
    chunk: Any = create_model("Chunk", **names, choices=list[choice])  # type: ignore[valid-type]

    def json(**texts: str) -> str:
        made = chunk(id="chatcmpl-1", created=1, model="m", choices=[choice(index=0, delta=delta(**texts))])
        return str(made.model_dump_json(exclude_unset=True))

    return json


async def engine(ids: list[int]) -> AsyncIterator[int]:
    """One token for each turn of the loop, as from a queue."""
    for tid in ids:
        yield tid
        await asyncio.sleep(0)


async def official(ids: list[int], chunk: Callable[..., str]) -> AsyncIterator[bytes]:
    from bench.rivals.with_openai_harmony import new_parser

    parser = new_parser()
    yield f"data: {chunk(role='assistant', content='')}\n\n".encode()
    async for tid in engine(ids):
        parser.process(tid)
        channel, recipient, text = parser.current_channel, parser.current_recipient, parser.last_content_delta
        if text and recipient is None:
            delta = {"reasoning" if channel == "analysis" else "content": text}
            yield f"data: {chunk(**delta)}\n\n".encode()
    yield b"data: [DONE]\n\n"


async def nothing(ids: list[int], frame: bytes) -> AsyncIterator[bytes]:
    async for _ in engine(ids):
        yield frame
    yield b"data: [DONE]\n\n"


def app_of(tokens: int) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route

    import harmonystream as hs
    from harmonystream.emit.chat import ChatStream
    from harmonystream.integrations.starlette import EventStreamResponse

    ids, chunk = script(tokens), models()
    frame = f"data: {chunk(reasoning=' parser')}\n\n".encode()

    async def answer(request: Request) -> Response:
        kind = request.url.path[1:]
        if kind == "cpu":
            return PlainTextResponse(str(time.process_time_ns()))
        if kind == "ours":
            return EventStreamResponse(engine(ids), ChatStream(hs.Parser(), id="chatcmpl-1", model="m", created=1))
        source = official(ids, chunk) if kind == "official" else nothing(ids, frame)
        return StreamingResponse(source, media_type="text/event-stream")

    return Starlette(routes=[Route("/{kind}", answer, methods=["POST"])])


def serve(fd: int, tokens: int) -> None:
    import uvicorn

    with socket.socket(fileno=fd) as listening:
        config = uvicorn.Config(app_of(tokens), ws="none", lifespan="off", access_log=False, log_level="error")
        uvicorn.Server(config).run([listening])


# --- the client -----------------------------------------------------------------------------------------------------


async def post(port: int, kind: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST % kind.encode())
    body = await reader.read()
    writer.close()
    await writer.wait_closed()
    return body.partition(b"\r\n\r\n")[2]


async def spent(port: int, kind: str, at_a_time: int) -> tuple[int, int]:
    """Nanoseconds of the server's processor, and chunks."""
    before = int(await post(port, "cpu"))
    bodies = await asyncio.gather(*(post(port, kind) for _ in range(at_a_time)))
    after = int(await post(port, "cpu"))
    chunks = [body.count(b"\ndata: ") for body in bodies]
    if not all(b"data: [DONE]" in body for body in bodies) or len(set(chunks)) != 1:
        raise RuntimeError(f"{kind}: responses that are not whole: {chunks}")
    return after - before, sum(chunks)


def measured(tokens: int, at_a_time: int, rounds: int) -> dict[str, float]:
    """Nanoseconds of the server's processor for each chunk: the median round."""
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        port, fd = listening.getsockname()[1], listening.fileno()
        command = [sys.executable, "-m", "bench.server", "--fd", str(fd), "--tokens", str(tokens)]
        server = subprocess.Popen(command, cwd=ROOT, pass_fds=[fd])
        try:
            for turn in range(rounds + 1):
                for kind in KINDS:
                    nanoseconds, chunks = asyncio.run(spent(port, kind, at_a_time))
                    if turn:  # the first one warms up
                        taken[kind].append(nanoseconds / chunks)
        finally:
            server.terminate()
            server.wait()
    return {kind: median(values) for kind, values in taken.items()}


def rows(taken: dict[str, float]) -> list[Row]:
    def row(kind: str) -> Row:
        mine, server = taken[kind], taken["nothing"]
        own = f"{(mine - server) / 1e3:.2f} µs" if kind != "nothing" else "–"
        return Row((KINDS[kind], f"{1e9 / mine:,.0f}", f"{mine / 1e3:.2f} µs", own))

    return list(map(row, KINDS))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--tokens", type=int, default=2048, help="of a response")
    parser.add_argument("--streams", type=int, default=16, help="clients at a time")
    parser.add_argument("--rounds", type=int, default=9, help="of each server, of which the median counts")
    parser.add_argument("--fd", type=int, help=argparse.SUPPRESS)  # be the server
    asked = parser.parse_args()
    if asked.fd is not None:
        serve(asked.fd, asked.tokens)
        return 0
    names = ("starlette", "uvicorn", "pydantic")
    parts = [f"{name} {version(name)}" for name in names]
    parts += [f"{name} {version(name) if find_spec(name) else 'absent'}" for name in ("httptools", "uvloop")]
    asked_for = f"{asked.streams} clients at a time, {asked.tokens:,} tokens each, {asked.rounds} rounds"
    print(*report.machine(None), ", ".join(parts), asked_for, sep="\n", end="\n\n")
    taken = measured(asked.tokens, asked.streams, asked.rounds)
    print(report.table(HEAD, rows(taken), asked.markdown))
    print(f"\nours sends {taken['official'] / taken['ours']:.2f}× as many chunks as the official parser with pydantic")
    return 0


if __name__ == "__main__":
    sys.exit(main())
