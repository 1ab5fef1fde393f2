"""Streams through the gateway while engines are killed and clients misbehave; exit status 1 if anything is wrong.

A tenth of the clients leave, a twentieth reads slowly, two of five answers of the engines are broken, one engine of
three is killed and started again every twenty seconds, and hostile connections come all the time. No stream may have
another's bytes, each must end as its API's streams do, and nothing may be left. In runs of a minute and more the
memory must be flat within 5 %. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from bench.worker import ROOT

from .clients import Clients
from .hostile import Hostile

sys.path.append(str(ROOT / "tests" / "support"))
from nginx_config import free_ports

ENGINES = 3
FLAT = 0.05
LONG = 60.0
"""Seconds of a run in which memory is judged. The first third of it is not looked at."""


class Processes:
    """The engines and the gateway."""

    def __init__(self, log: Any, pause: float) -> None:
        self._log, self._pause = log, pause
        self.port, *self.ports = free_ports(1 + ENGINES)
        self._engines = {port: self._engine(port) for port in self.ports}
        urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.gateway = self._start("server", str(self.port), *urls)
        self.killed = 0

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"bench.gateway_soak.{module}", *arguments]
        return subprocess.Popen(command, cwd=ROOT, stderr=self._log if module == "server" else subprocess.DEVNULL)

    def _engine(self, port: int) -> subprocess.Popen[bytes]:
        return self._start("engine", str(port), str(self._pause))

    async def kill_engines(self, every: float) -> None:
        """One after the other, for ever."""
        while True:
            for port in self.ports:
                await asyncio.sleep(every)
                self._engines[port].kill()
                self._engines[port].wait()
                self.killed += 1
                self._engines[port] = self._engine(port)

    def memory(self) -> int:
        """Bytes of the gateway's."""
        pages = Path(f"/proc/{self.gateway.pid}/statm").read_text("utf-8").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def sockets(self) -> int:
        folder = f"/proc/{self.gateway.pid}/fd"
        count = 0
        for name in os.listdir(folder):
            with suppress(OSError):
                count += os.readlink(f"{folder}/{name}").startswith("socket:")
        return count

    def stop(self) -> None:
        self.gateway.send_signal(signal.SIGTERM)
        for engine in self._engines.values():
            engine.kill()
            engine.wait()
        self.gateway.wait(60)


@asynccontextmanager
async def beside(*coroutines: Any) -> AsyncIterator[None]:
    """They run until the block ends. What one of them raises is raised then."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]
    try:
        yield
    finally:
        broken = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for error in broken:
            if error is not None:
                raise error


async def left(url: str) -> dict[str, int]:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/left") as response:
        found: dict[str, int] = await response.json()
        return found


async def settled(url: str, processes: Processes, before: dict[str, int]) -> dict[str, int]:
    """What is open when everybody has gone; it is waited for, but not for long."""
    now: dict[str, int] = {}
    for _ in range(100):
        now = {**await left(url), "sockets": processes.sockets()}
        if all(now[name] <= before[name] for name in before):
            break
        await asyncio.sleep(0.2)
    return {name: now[name] - before[name] for name in before}


async def ready(url: str) -> None:
    for _ in range(300):
        with suppress(OSError, aiohttp.ClientError):
            await left(url)
            return
        await asyncio.sleep(0.1)
    raise SystemExit("the gateway did not start")


async def soak(
    processes: Processes, streams: int, seconds: float, kill_every: float, seed: int
) -> tuple[dict[str, Any], list[str]]:
    """The figures, and what was wrong."""
    url = f"http://127.0.0.1:{processes.port}"
    await ready(url)
    await Clients(url, streams, seed).run(min(3.0, seconds / 4))  # what is made once
    before = {**await left(url), "sockets": processes.sockets()}
    before |= {"requests": 0, "generations": 0, "waiting": 0, "keys": 0}
    clients, hostile = Clients(url, streams, seed + 1), Hostile("127.0.0.1", processes.port)
    sizes: list[int] = []

    async def weigh() -> None:
        while True:
            sizes.append(processes.memory())
            await asyncio.sleep(min(1.0, seconds / 30))

    began = time.monotonic()
    async with beside(weigh(), hostile.run(0.3), processes.kill_engines(kill_every)):
        await clients.run(seconds)
    took = time.monotonic() - began
    remaining = await settled(url, processes, before)
    third = len(sizes) // 3
    early, late = statistics.median(sizes[third : 2 * third]), statistics.median(sizes[2 * third :])
    wrong = [*clients.wrong, *hostile.wrong]
    wrong += [f"left: {count} {name}" for name, count in remaining.items() if count > 0]
    if seconds >= LONG and late > early * (1 + FLAT):
        wrong.append(f"memory grew from {early / 1e6:.1f} to {late / 1e6:.1f} MB")
    figures: dict[str, Any] = {"seconds": round(took), "streams at once": streams, **sorted_counts(clients)}
    figures |= {"hostile connections": hostile.visits, "engines killed": processes.killed}
    figures |= {"memory, second third": f"{early / 1e6:.1f} MB", "memory, last third": f"{late / 1e6:.1f} MB"}
    tenths = [f"{sizes[len(sizes) * at // 10] / 1e6:.0f}" for at in range(10)]
    figures["memory at each tenth, MB"] = ", ".join(tenths)
    return figures, wrong


def sorted_counts(clients: Clients) -> dict[str, int]:
    return dict(sorted(clients.counts.items()))


def show(figures: dict[str, Any], wrong: list[str]) -> int:
    """Print what a soak counted and what is wrong. The result is its exit status."""
    print("| what | how many |\n|---|--:|")
    for name, value in {**figures, "wrong": len(wrong)}.items():
        print(f"| {name} | {value} |")
    for one in wrong[:20]:
        print(one)
    return 1 if wrong else 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--streams", type=int, default=500)
    options.add_argument(
        "--pause", type=float, default=0.0, help="of an engine after a chunk; 0: 0.5 ms for each stream"
    )
    options.add_argument("--kill-every", type=float, default=20.0, help="seconds")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryFile("w+b") as log:
        processes = Processes(log, given.pause or 0.0005 * given.streams)
        try:
            figures, wrong = asyncio.run(soak(processes, given.streams, given.seconds, given.kill_every, given.seed))
        finally:
            processes.stop()
        log.seek(0)
        traces = log.read().decode("utf-8", "replace").split("Traceback")[1:]
    wrong += [f"a traceback in the log: …{trace[-400:]}" for trace in traces[:3]]
    return show(figures, wrong)


if __name__ == "__main__":
    sys.exit(main())
