"""`python -m bench.gateway_gaps`: how long streams wait while others send large bodies. Linux only.

Thirty-two streams run through `harmonystream serve`, whose engine sends a chunk of each every 20 ms. Beside them one
client sends prompts of 4 MB and bodies of 32 MiB, one after the other. The engine and the clients are in one process,
whose clock takes all times.

A row is one kind of body. It has the times from the engine's write of a chunk to the client's read of its text, over
all streams. The first row has no body beside the streams: it shows the delay of the machine alone.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Iterator
from random import Random

from bench import report
from bench.gateway import Trial
from bench.report import Row
from bench.wire import PATH

STREAMS, PAUSE, TOKENS = 32, 0.02, 400
COUNT = "/v1/messages/count_tokens"
PROMPT, BODY = 4_000_000, (32 << 20) - 200
HEAD = ("beside 32 streams", "bodies", "chunks late, p99", "a chunk late, at most")


def words(size: int) -> str:
    random, known = Random(1), ["the", "of", "and", "to", "in", "is", "that", "for", "it", "was", "on", "are", "with"]
    made = [random.choice(known) for _ in range(999)]
    return " ".join(made * (size // 3000))[:size]


def asking(*messages: str, **more: int) -> bytes:
    asked = [{"role": "user", "content": each} for each in messages]
    return json.dumps({"model": "gpt-oss", "messages": asked, **more}).encode()


def filled(piece: bytes, around: tuple[bytes, bytes] = (b"[", b"1]"), size: int = BODY) -> bytes:
    return around[0] + piece * (size // len(piece)) + around[1]


def bodies() -> dict[str, tuple[str, bytes]]:
    """Path and body by what the table calls them. The last ones are refused after they have been read."""
    text = words(PROMPT)
    counted = asking(text, max_tokens=1)
    string = (b'{"a":"', b'"}')
    return {
        "a prompt of 4 MB": (PATH, asking(text)),
        "4 MB to be counted": (COUNT, counted),
        "4 MB without spaces": (COUNT, counted.replace(b" ", b"")),
        "4 MB of Chinese": (PATH, asking("流式解析器，" * (PROMPT // 18))),
        "40,000 messages": (PATH, asking(*[words(100)] * 40_000)),
        "32 MiB of lists": (PATH, filled(b"[],")),
        "32 MiB of numbers": (PATH, filled(b"1,")),
        "32 MiB of escapes": (PATH, filled(b'\\"aaaaaaaa', string)),
        "32 MiB of text": (PATH, filled(b"a", string)),
        "4,000,000 values": (PATH, filled(b"1,", size=2 * 3_900_000)),
        "500,000 lists": (PATH, filled(b"[],", size=3 * 490_000)),
    }


class Sender:
    """Posts a body again and again while a trial runs. sent: how often."""

    def __init__(self, trial: Trial, path: str, body: bytes) -> None:
        self._trial, self._path, self._body = trial, path, body
        self.sent = 0

    def run(self, port: int) -> None:
        time.sleep(1.0)
        while self._body and not self._trial.ended.is_set():
            connection = http.client.HTTPConnection(f"127.0.0.1:{port}", timeout=120)
            connection.request("POST", self._path, self._body, {"content-type": "application/json"})
            connection.getresponse().read()
            connection.close()
            self.sent += 1


def rows() -> Iterator[Row]:
    for name, (path, body) in {"nothing": ("", b""), **bodies()}.items():
        trial = Trial(TOKENS, STREAMS, PAUSE)
        sender = Sender(trial, path, body)
        late = sorted(asyncio.run(trial.run(True, sender.run)))
        times = (late[len(late) * 99 // 100], late[-1])
        yield Row((name, str(sender.sent), *(f"{1e3 * seconds:.0f} ms" for seconds in times)))


def main() -> None:
    asked = report.options("bench.gateway_gaps", __doc__).parse_args()
    print(*report.machine(None), sep="\n", end="\n\n")
    report.show(HEAD, rows(), asked.markdown)


if __name__ == "__main__":
    main()
