"""An engine that speaks vLLM's contract, answers with the number that its prompt has, and fails in every way."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator

import harmonystream as hs
from bench.wire import DONE, request

WORDS = 24
"""How often an answer says its number."""
FAULTS = {
    12: "garbage",
    13: "half a chunk",
    14: "never answers",
    15: "falls silent",
    16: "connection lost",
    17: "invalid UTF-8",
    18: "JSON bomb",
    19: "status 500",
}
"""What goes wrong, by the number modulo 20."""
HEAD = b"HTTP/1.1 %s\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
BROKEN = {
    "garbage": b"data: {'no': json}\n\n",
    "half a chunk": b'data: {"choices": [{"token_ids": [1',
    "invalid UTF-8": b'data: {"choices": [{"text": "\xff\xfe"}]}\n\n',
    "JSON bomb": b"data: " + b"[" * 100_000 + b"\n\n",
}


def events(number: int) -> list[bytes]:
    """An answer's events, with the number's own count of tokens in each."""
    text = f"<|channel|>final<|message|>{f' n{number} é' * WORDS}<|return|>"
    ids = hs.vocab.o200k_harmony().encode(text, control=True)
    size = number % 4 + 1
    made = []
    for at in range(0, len(ids), size):
        reason = "stop" if at + size >= len(ids) else None
        choice = {"index": 0, "text": "", "token_ids": ids[at : at + size], "finish_reason": reason}
        made.append(b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n")
    return [*made, DONE]


def number_of(body: bytes) -> int:
    ids = json.loads(body)["prompt"]
    text = hs.vocab.o200k_harmony().decode(ids)
    return int(re.findall(r"number (\d+)", text)[-1])


async def script(number: int, pause: float) -> AsyncIterator[bytes]:
    """What is sent, in pieces that break lines and characters. Its end closes the connection."""
    fault = FAULTS.get(number % 20)
    if fault == "status 500":
        yield HEAD % b"500 No" + b"out of memory"
        return
    yield HEAD % b"200 OK"
    if fault == "never answers":
        await asyncio.sleep(600)
    sent = events(number)
    if fault is not None:
        sent = sent[: len(sent) // 2]
    for event in sent:
        half = len(event) // 2
        yield event[:half]
        yield event[half:]
        await asyncio.sleep(pause)
    if fault == "falls silent":
        await asyncio.sleep(600)
    if fault in BROKEN:
        yield BROKEN[fault]


async def serve(port: int, pause: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, body = await request(reader)
            if not head.startswith(b"POST"):
                writer.write(HEAD % b"200 OK")
                return
            async for piece in script(number_of(body), pause):
                writer.write(piece)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the gateway has gone
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
