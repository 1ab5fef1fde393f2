"""What the benches of servers share: a scripted engine, processes that serve, their clients, and their processor time.

`python -m bench.wire NAME TOKENS SIZE PAUSE` is the engine. It answers each request with the same chunks, SIZE ids in
each, and waits PAUSE seconds after each. NAME is one of CHUNKS: what vLLM sends for that API. Linux only.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from bench import streams
from bench.worker import ROOT

PATH = "/v1/chat/completions"
CHAT = json.dumps({"model": "gpt-oss", "stream": True, "messages": [{"role": "user", "content": "?"}]}).encode()
DONE = b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PAUSE = 0.0003  # seconds of an engine's pace, for each stream


# --- the engine -----------------------------------------------------------------------------------------------------


def script(tokens: int) -> list[int]:
    work = streams.prose(tokens)
    return [*work.opening, *work.body]


def event(kind: str, choice: dict[str, Any]) -> bytes:
    chunk = {"id": "cmpl-1", "object": kind, "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def chunks(tokens: int, size: int) -> list[bytes]:
    """What vLLM's completions send; `size` ids in a chunk."""
    ids = script(tokens)
    made = []
    for at in range(0, len(ids), size):
        reason = "stop" if at + size >= len(ids) else None
        choice = {"index": 0, "text": "", "logprobs": None, "finish_reason": reason, "stop_reason": None}
        choice |= {"prompt_token_ids": None, "token_ids": ids[at : at + size]}
        made.append(event("text_completion", choice))
    return [*made, DONE]


def chat_chunks(tokens: int, size: int = 1) -> list[bytes]:
    """What vLLM's Chat Completions send, with a chunk for each token. The texts differ: LiteLLM looks for loops."""
    last = len(script(tokens)) - 1
    made = []
    for at in range(last + 1):
        choice = {"index": 0, "delta": {} if at == last else {"content": f" {at}"}, "logprobs": None}
        choice |= {"finish_reason": "stop" if at == last else None, "token_ids": None}
        made.append(event("chat.completion.chunk", choice))
    return [*made, DONE]


CHUNKS = {"completions": chunks, "chat": chat_chunks}


def length_of(head: bytes) -> int:
    """Of the body that follows these headers."""
    found = re.search(rb"content-length: (\d+)", head, re.I)
    return int(found[1]) if found else 0


async def request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The headers of a request, and its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    return head, await reader.readexactly(length_of(head))


async def send_script(listening: socket.socket, made: list[bytes], pause: float) -> None:
    """Answers every request with these chunks, and a pause after each."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(HEAD)
        for chunk in made:
            writer.write(chunk)
            await asyncio.sleep(pause)
        writer.close()

    await (await asyncio.start_server(answer, sock=listening)).serve_forever()


@contextmanager
def listening() -> Iterator[socket.socket]:
    """A socket for this process to serve at. Its address is printed, for `running`."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as made:
        print(f"http://127.0.0.1:{made.getsockname()[1]}", flush=True)
        yield made


# --- processes ------------------------------------------------------------------------------------------------------


@contextmanager
def running_command(*arguments: object) -> Iterator[tuple[int, str]]:
    """A command as a server: its process, and the address that it prints."""
    command = list(map(str, arguments))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        # A server that logs each request blocks if its pipe is not read.
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


@contextmanager
def running(*arguments: object) -> Iterator[tuple[int, str]]:
    """A module of Python as a server, as `running_command`."""
    with running_command(sys.executable, "-m", *arguments) as found:
        yield found


@contextmanager
def gateway(engine: str) -> Iterator[tuple[int, str]]:
    """`harmonystream serve` in front of an engine."""
    options = ("--engine", engine, "--model", "gpt-oss", "--served", "m", "--port", 0)
    with running("harmonystream", "serve", *options) as found:
        yield found


def processor_ns(pid: int) -> int:
    """Nanoseconds that the process has had the processor: Linux's clock of it."""
    return time.clock_gettime_ns(~pid << 3 | 2)


# --- clients --------------------------------------------------------------------------------------------------------


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


async def answers(address: str, path: str, at_a_time: int, body: bytes = b"") -> list[bytes]:
    """So many answers, which are asked for at once."""
    bodies = await asyncio.gather(*(post(address, path, body) for _ in range(at_a_time)))
    if not all(DONE in each for each in bodies):
        raise RuntimeError(f"{address}{path}: responses that are not whole")
    return bodies


def per_chunk(pid: int, address: str, at_a_time: int, sent: int, rounds: int) -> float:
    """Microseconds of a server's processor for each chunk of its engine, which sends so many in an answer.

    It is the best of some rounds, because other processes empty the server's caches. The first round warms up.
    """
    taken = []
    for _ in range(rounds + 1):
        before = processor_ns(pid)
        asyncio.run(answers(address, PATH, at_a_time, CHAT))
        taken.append(processor_ns(pid) - before)
    return min(taken[1:]) / (at_a_time * sent) / 1e3


if __name__ == "__main__":
    name, tokens, size, pause = sys.argv[1:]
    with listening() as engine:
        asyncio.run(send_script(engine, CHUNKS[name](int(tokens), int(size)), float(pause)))
