"""`python -m bench.gateway`: the gateway in front of a scripted engine, in processor time of its process per chunk.

The engine speaks vLLM's contract to so many streams at a time, at a pace that leaves the gateway idle in between, so
that chunks are not read several at once. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import streams
from bench.worker import ROOT

BODY = {"model": "gpt-oss", "stream": True, "messages": [{"role": "user", "content": "?"}]}
PATH = "/v1/chat/completions"


# --- the engine's process -------------------------------------------------------------------------------------------


def chunks(tokens: int, per_chunk: int) -> list[bytes]:
    work = streams.prose(tokens)
    ids = [*work.opening, *work.body]
    made = []
    for at in range(0, len(ids), per_chunk):
        piece = ids[at : at + per_chunk]
        reason = "stop" if at + per_chunk >= len(ids) else None
        choice = {"index": 0, "text": "", "logprobs": None, "finish_reason": reason, "stop_reason": None}
        choice |= {"prompt_token_ids": None, "token_ids": piece}
        chunk = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}
        made.append(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    return [*made, b"data: [DONE]\n\n"]


async def engine(tokens: int, per_chunk: int, pause: float) -> None:
    script = chunks(tokens, per_chunk)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", head, re.I)
        await reader.readexactly(int(size[1]) if size else 0)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for chunk in script:
            writer.write(chunk)
            await asyncio.sleep(pause)
        writer.close()

    await serve(answer)


async def serve(answer: Any) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


# --- the client's process -------------------------------------------------------------------------------------------


def started(*command: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://[\d.]+:\d+", line):
            return process, found[0]
    raise SystemExit(f"{command} did not start")


async def stream(url: str) -> int:
    """How many bytes came."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps(BODY).encode()
    head = f"POST {PATH} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    size = 0
    while piece := await reader.read(1 << 16):
        size += len(piece)
    writer.close()
    return size


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measured(pid: int, url: str, count: int) -> float:
    await asyncio.gather(*(stream(url) for _ in range(2)))  # what is made once
    before = processor_seconds(pid)
    sizes = await asyncio.gather(*(stream(url) for _ in range(count)))
    assert min(sizes) > 1000, "an answer was cut"
    return processor_seconds(pid) - before


def cost(count: int, tokens: int, per_chunk: int, pause: float) -> float:
    """Microseconds of the gateway's processor time per chunk."""
    own = [sys.executable, "-m", "bench.gateway"]
    upstream, url = started(*own, "--engine", f"--tokens={tokens}", f"--per-chunk={per_chunk}", f"--pause={pause}")
    front = [sys.executable, "-m", "harmonystream", "serve", "--engine", url, "--model", "gpt-oss"]
    front += ["--served", "m", "--port", "0"]
    server, at = started(*front)
    try:
        seconds = asyncio.run(measured(server.pid, at, count))
    finally:
        server.terminate()
        upstream.terminate()
        server.communicate()
        upstream.communicate()
    return seconds / (count * (len(chunks(tokens, per_chunk)) - 1)) * 1e6


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--streams", type=int, nargs="*", default=[32, 500])
    options.add_argument("--tokens", type=int, default=400)
    options.add_argument("--per-chunk", type=int, default=1)
    options.add_argument("--pause", type=float, default=0.0, help="between chunks; 0: 0.3 ms for each stream")
    options.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.engine:
        asyncio.run(engine(given.tokens, given.per_chunk, given.pause))
    else:
        print("| streams | tokens in a chunk | processor time of a chunk |\n|--:|--:|--:|")
        for count in given.streams:
            for per_chunk in sorted({given.per_chunk, 8}):
                pause = given.pause or 0.0003 * count
                made = cost(count, given.tokens, per_chunk, pause)
                print(f"| {count} | {per_chunk} | {made:.1f} µs |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
