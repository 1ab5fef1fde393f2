"""`python -m bench.gateway_store`: what a store that gateways share costs. Linux only; it needs Valkey or Redis.

Two gateways answer the same requests of Responses in turns, one with SQLite and one with a store on this machine, both
with limits of a key. The first table has the time of a request, and the gateway's processor time for each chunk. The
second one has the two waits for the store that a request has: to be let in, and to store a response of some kilobytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles

from bench import report
from bench.report import Row
from bench.server import PAUSE, post, processor_ns, running
from harmonystream.gateway.limits import Limits, Quota
from harmonystream.gateway.operating.redis_state import RedisState

HEAD = ("state in", "a request, p50", "p99", "a chunk of the engine")
RESPONSES = json.dumps({"model": "gpt-oss", "input": "?"}).encode()
LIMITS = ("--limit", "concurrent_per_key=100000", "--limit", "tokens_per_minute=1000000000")


@contextmanager
def store() -> Iterator[str]:
    """The URL of a store."""
    server = shutil.which("valkey-server") or shutil.which("redis-server")
    if server is None:
        print("neither valkey-server nor redis-server is installed: nothing is measured")
        raise SystemExit(0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = [server, "--port", str(port), "--dir", folder, "--appendonly", "yes", "--bind", "127.0.0.1"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


async def timed(address: str, at_a_time: int) -> list[float]:
    """Milliseconds of each of so many requests, which are sent at once."""

    async def one() -> float:
        began = time.perf_counter()
        answer = await post(address, "/v1/responses", RESPONSES)
        if b'"store":true' not in answer.replace(b" ", b""):
            raise RuntimeError(f"not stored: {answer[:300]!r}")
        return 1000 * (time.perf_counter() - began)

    return await asyncio.gather(*(one() for _ in range(at_a_time)))


async def waits(url: str, rounds: int, at_a_time: int) -> list[Row]:
    """The times of the two waits of a request, of so many requests at once, and of both together."""
    quota = Quota(100_000, 1_000_000_000)
    times: dict[str, list[float]] = {"to be let in": [], "to store a response": [], "both": []}
    text = "The weather in Chengdu is mild, with some rain in the evening. " * 60

    async def one(number: int) -> None:
        owner, id = f"owner {number % 7}", f"resp_{number}"
        item = {"type": "message", "id": f"msg_{number}", "content": [{"type": "output_text", "text": text}]}
        began = time.perf_counter()
        await state.enter(owner, quota)
        is_in = time.perf_counter()
        await state.put(owner, [{"role": "user", "content": text}], {"id": id, "output": [item]})
        is_stored = time.perf_counter()
        for found, wait in zip(times.values(), (is_in - began, is_stored - is_in, is_stored - began)):
            found.append(1000 * wait)
        state.take(owner, 1000, quota)
        state.leave(owner, quota)

    async with RedisState(url, Limits(), seal="seal" * 8) as state:
        for turn in range(rounds):
            await asyncio.gather(*(one(turn * at_a_time + number) for number in range(at_a_time)))
            if turn == 10:
                for found in times.values():
                    found.clear()
    cuts = {name: quantiles(found, n=100) for name, found in times.items()}
    return [Row((name, f"{cut[49]:.2f} ms", f"{cut[98]:.2f} ms")) for name, cut in cuts.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--at-a-time", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=100)
    given = parser.parse_args()
    with (
        store() as url,
        running("bench.server", "--serve", "engine", "--tokens", given.tokens, "--size", 1, "--pause", PAUSE) as (
            _,
            engine,
        ),
    ):
        command = ("harmonystream", "serve", "--engine", engine, "--model", "gpt-oss", "--served", "m", "--port", 0)
        with running(*command, *LIMITS) as alone, running(*command, *LIMITS, "--store", url) as shared:
            kinds = {"SQLite": alone, "the store": shared}
            times: dict[str, list[float]] = {name: [] for name in kinds}
            used = dict.fromkeys(kinds, 0)
            for number in range(given.rounds + 5):
                for name, (pid, address) in kinds.items():
                    before = processor_ns(pid)
                    found = asyncio.run(timed(address, given.at_a_time))
                    if number >= 5:
                        times[name] += found
                        used[name] += processor_ns(pid) - before
            rows: list[Row] = []
            for name in kinds:
                cuts = quantiles(times[name], n=100)
                chunk = used[name] / (len(times[name]) * given.tokens) / 1000
                rows.append(Row((name, f"{cuts[49]:.2f} ms", f"{cuts[98]:.2f} ms", f"{chunk:.1f} µs")))
        beside = asyncio.run(waits(url, 10 * given.rounds, given.at_a_time))
    report.show(HEAD, rows, markdown=False)
    print()
    report.show(("a wait for the store", "p50", "p99"), beside, markdown=False)


if __name__ == "__main__":
    main()
