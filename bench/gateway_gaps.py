"""`python -m bench.gateway_gaps`: how long streams wait while others send large bodies. Linux only.

Thirty-two streams run through `harmonystream serve`, whose engine sends a chunk of each every 20 ms. Beside them one
client sends prompts of 4 MB and bodies of 32 MiB, one after the other, and another one asks `/health/live` every
10 ms. The engine, the streams' clients and the one of the health are in one process, whose clock takes all times.

A row is one kind of body. It has the longest time from the engine's write of a chunk to the client's read of its text,
over all streams, and the longest time of an answer to `/health/live`. The first row has no body beside the streams: it
says what the machine does by itself.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import Iterator
from functools import partial
from random import Random

from bench import report
from bench.gateway import Client, Trial
from bench.report import Row
from bench.server import PATH

STREAMS, PAUSE, TOKENS = 32, 0.02, 400
PROMPT, BODY = 4_000_000, (32 << 20) - 200
HEAD = ("beside 32 streams", "bodies", "chunks late, p99", "a chunk late, at most", "/health/live, at most")


def words(size: int) -> str:
    random, known = Random(1), ["the", "of", "and", "to", "in", "is", "that", "for", "it", "was", "on", "are", "with"]
    made = [random.choice(known) for _ in range(999)]
    return " ".join(made * (size // 3000))[:size]


def chat(text: str) -> bytes:
    return json.dumps({"model": "gpt-oss", "messages": [{"role": "user", "content": text}]}).encode()


def filled(piece: bytes, around: tuple[bytes, bytes] = (b"[", b"1]")) -> bytes:
    return around[0] + piece * (BODY // len(piece)) + around[1]


def bodies() -> dict[str, tuple[str, bytes]]:
    """Path and body by what the table calls them. The last ones are refused after they have been read."""
    text = words(PROMPT)
    counted = json.dumps(
        {"model": "gpt-oss", "max_tokens": 1, "messages": [{"role": "user", "content": text}]}
    ).encode()
    return {
        "a prompt of 4 MB": (PATH, chat(text)),
        "4 MB to be counted": ("/v1/messages/count_tokens", counted),
        "4 MB without spaces": ("/v1/messages/count_tokens", counted.replace(b" ", b"")),
        "4 MB of Chinese": (PATH, chat("流式解析器，" * (PROMPT // 18))),
        "40,000 messages": (
            PATH,
            json.dumps({"messages": [{"role": "user", "content": words(100)}] * 40_000}).encode(),
        ),
        "32 MiB of lists": (PATH, filled(b"[],")),
        "32 MiB of numbers": (PATH, filled(b"1,")),
        "32 MiB of escapes": (PATH, filled(b'\\"aaaaaaaa', (b'{"a":"', b'"}'))),
        "32 MiB of text": (PATH, filled(b"a", (b'{"a":"', b'"}'))),
        "4,000,000 values": (PATH, b"[" + b"1," * 3_900_000 + b"1]"),
        "500,000 lists": (PATH, b"[" + b"[]," * 490_000 + b"1]"),
    }


class Sender(threading.Thread):
    """Posts a body again and again, from a thread, until it is stopped. sent: how often."""

    def __init__(self, address: str, path: str, body: bytes) -> None:
        super().__init__(daemon=True)
        self._address, self._path, self._body = address, path, body
        self.sent = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            connection = http.client.HTTPConnection(self._address, timeout=120)
            connection.request("POST", self._path, self._body, {"content-type": "application/json"})
            connection.getresponse().read()
            connection.close()
            self.sent += 1


async def health(port: int, took: list[float]) -> None:
    """Asks for ever. took: seconds of each answer."""
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        began = loop.time()
        writer.write(b"GET /health/live HTTP/1.1\r\nhost: bench\r\n\r\n")
        await reader.readuntil(b'"ok"}')
        took.append(loop.time() - began)
        await asyncio.sleep(0.01)


class Gaps(Trial):
    """A trial beside which somebody sends bodies. posted: how many; lived: seconds of each answer of `/health/live`."""

    def __init__(self, path: str, body: bytes) -> None:
        super().__init__(TOKENS, STREAMS, PAUSE)
        self._path, self._body = path, body
        self.posted = 0
        self.lived: list[float] = []

    async def _clients(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        sender = Sender(f"127.0.0.1:{port}", self._path, self._body)
        ends = [loop.create_future() for _ in range(self.count)]
        for number, end in enumerate(ends):
            await loop.create_connection(partial(Client, self, number, end), "127.0.0.1", port)
        await asyncio.sleep(1.0)
        asked = asyncio.ensure_future(health(port, self.lived))
        if self._body:
            sender.start()
        await asyncio.gather(*ends)
        asked.cancel()
        sender.over.set()
        self.posted = sender.sent


def rows() -> Iterator[Row]:
    for name, (path, body) in {"nothing": ("", b""), **bodies()}.items():
        trial = Gaps(path, body)
        late = sorted(asyncio.run(trial.run(through_gateway=True)))
        times = (late[len(late) * 99 // 100], late[-1], max(trial.lived))
        yield Row((name, str(trial.posted), *(f"{1e3 * seconds:.0f} ms" for seconds in times)))


def main() -> None:
    asked = report.options("bench.gateway_gaps", (__doc__ or "").partition("\n")[0]).parse_args()
    print(*report.machine(None), sep="\n", end="\n\n")
    report.show(HEAD, rows(), asked.markdown)


if __name__ == "__main__":
    main()
