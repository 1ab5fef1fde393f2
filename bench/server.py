"""`python -m bench.server`: whole servers, in processor time of their process for each chunk. Linux only.

Three Starlette servers answer alike, a chunk for each token of a scripted model, in turns:

- ours: EventStreamResponse and ChatStream;
- official: openai-harmony's parser with the getters that a server needs, a pydantic model of each chunk, and
  Starlette's own StreamingResponse;
- nothing: StreamingResponse of a chunk that is there already, which is what is left to Starlette, uvicorn and asyncio.

Its scripted engine, which speaks vLLM's contract, is that of `python -m bench.gateway`, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from threading import Thread
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
PATH = "/v1/chat/completions"
CHAT = json.dumps({"model": "gpt-oss", "stream": True, "messages": [{"role": "user", "content": "?"}]}).encode()
DONE = b"data: [DONE]\n\n"
PAUSE = 0.0003  # seconds of the engine's pace, for each stream


# --- Starlette's process --------------------------------------------------------------------------------------------


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
    yield DONE


async def nothing(ids: list[int], frame: bytes) -> AsyncIterator[bytes]:
    async for _ in engine(ids):
        yield frame
    yield DONE


def app_of(tokens: int) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    import harmonystream as hs
    from harmonystream.emit.chat import ChatStream
    from harmonystream.integrations.starlette import EventStreamResponse

    ids, chunk = script(tokens), models()
    frame = f"data: {chunk(reasoning=' parser')}\n\n".encode()

    async def answer(request: Request) -> Response:
        kind = request.url.path[1:]
        if kind == "ours":
            return EventStreamResponse(engine(ids), ChatStream(hs.Parser(), id="chatcmpl-1", model="m", created=1))
        source = official(ids, chunk) if kind == "official" else nothing(ids, frame)
        return StreamingResponse(source, media_type="text/event-stream")

    return Starlette(routes=[Route("/{kind}", answer, methods=["POST"])])


def serve_starlette(listening: socket.socket, tokens: int) -> None:
    import uvicorn

    config = uvicorn.Config(app_of(tokens), ws="none", lifespan="off", access_log=False, log_level="error")
    uvicorn.Server(config).run([listening])


# --- the engine's process -------------------------------------------------------------------------------------------


def chunks(tokens: int, size: int) -> list[bytes]:
    """What vLLM's completions send; `size` ids in a chunk."""
    ids = script(tokens)
    made = []
    for at in range(0, len(ids), size):
        reason = "stop" if at + size >= len(ids) else None
        choice = {"index": 0, "text": "", "logprobs": None, "finish_reason": reason, "stop_reason": None}
        choice |= {"prompt_token_ids": None, "token_ids": ids[at : at + size]}
        chunk = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
        made.append(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    return [*made, DONE]


async def send_script(listening: socket.socket, made: list[bytes], pause: float) -> None:
    """Answers every request with these chunks, and a pause after each."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.I)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for chunk in made:
            writer.write(chunk)
            await asyncio.sleep(pause)
        writer.close()

    await (await asyncio.start_server(answer, sock=listening)).serve_forever()


# --- the client's process -------------------------------------------------------------------------------------------


@contextmanager
def running(*arguments: object) -> Iterator[tuple[int, str]]:
    """A module of Python as a server: its process, and the address that it prints."""
    with running_command(sys.executable, "-m", *arguments) as found:
        yield found


@contextmanager
def running_command(*arguments: object) -> Iterator[tuple[int, str]]:
    """A command as a server: its process, and the address that it prints."""
    command = list(map(str, arguments))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        # A server that logs each request blocks when nobody empties its pipe.
        rest = Thread(target=process.stdout.read)
        try:
            found = (re.search(r"http://[\d.]+:\d+", line) for line in process.stdout)
            address = next(address[0] for address in found if address)
            rest.start()
            yield process.pid, address
        finally:
            process.terminate()
            if rest.ident:
                rest.join()


def head_of(path: str, body: bytes, more: str = "") -> bytes:
    """more: header lines."""
    head = f"POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n{more}"
    return f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n".encode()


async def post(address: str, path: str, body: bytes) -> bytes:
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head_of(path, body) + body)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer.partition(b"\r\n\r\n")[2]


async def answers(address: str, path: str, at_a_time: int, body: bytes = b"") -> int:
    """How many chunks each of the answers had."""
    bodies = await asyncio.gather(*(post(address, path, body) for _ in range(at_a_time)))
    found = {each.count(b"\ndata: ") for each in bodies}
    if not all(DONE in each for each in bodies) or len(found) != 1:
        raise RuntimeError(f"{path}: responses that are not whole: {sorted(found)} chunks")
    return found.pop()


def processor_ns(pid: int) -> int:
    """Nanoseconds that the process has had the processor: Linux's clock of it."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def measured(tokens: int, at_a_time: int, rounds: int) -> dict[str, float]:
    """Nanoseconds of the server's processor for each chunk: the median round."""
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with running("bench.server", "--serve", "starlette", "--tokens", tokens) as (pid, address):
        for turn in range(rounds + 1):
            for kind in KINDS:
                before = processor_ns(pid)
                sent = asyncio.run(answers(address, f"/{kind}", at_a_time))
                if turn:  # the first one warms up
                    taken[kind].append((processor_ns(pid) - before) / (sent * at_a_time))
    return {kind: median(values) for kind, values in taken.items()}


def rows(taken: dict[str, float]) -> list[Row]:
    def row(kind: str) -> Row:
        mine, server = taken[kind], taken["nothing"]
        own = f"{(mine - server) / 1e3:.2f} µs" if kind != "nothing" else "–"
        return Row((KINDS[kind], f"{1e9 / mine:,.0f}", f"{mine / 1e3:.2f} µs", own))

    return list(map(row, KINDS))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--tokens", type=int, default=2048, help="of a response (2048)")
    parser.add_argument("--streams", type=int, default=16, help="at a time (16)")
    parser.add_argument("--rounds", type=int, default=9, help="of each Starlette server, of which the median counts")
    parser.add_argument("--serve", choices=("starlette", "engine"), help=argparse.SUPPRESS)  # be that process
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


def serve(asked: argparse.Namespace) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        if asked.serve == "starlette":
            serve_starlette(listening, asked.tokens)
        else:
            asyncio.run(send_script(listening, chunks(asked.tokens, asked.size), asked.pause))


def main() -> None:
    asked = arguments()
    if asked.serve:
        serve(asked)
        return
    parts = [f"{name} {version(name)}" for name in ("starlette", "uvicorn", "pydantic")]
    parts += [f"{name} {version(name) if find_spec(name) else 'absent'}" for name in ("httptools", "uvloop")]
    print(*report.machine(None), ", ".join(parts), sep="\n")
    tokens, at_a_time = asked.tokens, asked.streams
    print(f"{at_a_time} clients at a time, {tokens:,} tokens each, {asked.rounds} rounds", end="\n\n")
    taken = measured(tokens, at_a_time, asked.rounds)
    report.show(HEAD, rows(taken), asked.markdown)
    print(f"ours sends {taken['official'] / taken['ours']:.2f}× as many chunks as the official parser with pydantic")


if __name__ == "__main__":
    main()
