"""Streams through the gateway while engines are killed and clients misbehave; exit status 1 if anything is wrong.

A tenth of the clients leave, a twentieth reads slowly, two of five answers of the engines are broken, one engine of
three is killed and started again every twenty seconds, and hostile connections come all the time. No stream may have
another's bytes, each must end as its API's streams do, and nothing may be left. In runs of a minute and more the
memory must be flat within 5 %. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
from ports import free_ports

from .clients import Clients
from .hostile import Hostile
from .processes import Processes, beside, conclude, options, ready

ENGINES = 3
GATEWAY = "gateway 0"
FLAT = 0.05
LONG = 60.0
"""Seconds of a run in which memory is judged. The first third of it is not looked at."""


def commands(port: int, engines: list[int], pause: float) -> dict[str, list[str]]:
    """The gateway, and the engines."""
    module = [sys.executable, "-m"]
    urls = [f"http://127.0.0.1:{each}" for each in engines]
    made = {f"engine {each}": [*module, "bench.gateway_soak.engine", str(each), str(pause)] for each in engines}
    return {**made, GATEWAY: [*module, "bench.gateway_soak.server", str(port), *urls]}


async def kill_in_turn(processes: Processes, engines: list[int], every: float) -> None:
    """One engine after the other, for ever."""
    while True:
        for port in engines:
            await asyncio.sleep(every)
            await processes.end(f"engine {port}")
            await processes.restart()


async def left(url: str, processes: Processes) -> dict[str, int]:
    """What the gateway has open."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/left") as response:
        found: dict[str, int] = await response.json()
    sockets = 0
    for link in (processes.folder_of(GATEWAY) / "fd").iterdir():
        with suppress(OSError):
            sockets += str(link.readlink()).startswith("socket:")
    return {**found, "sockets": sockets}


async def settled(url: str, processes: Processes, before: dict[str, int]) -> dict[str, int]:
    """What is open when everybody has gone; it is waited for, but not for long."""
    now: dict[str, int] = {}
    for _ in range(100):
        now = await left(url, processes)
        if all(now[name] <= before[name] for name in before):
            break
        await asyncio.sleep(0.2)
    return {name: now[name] - before[name] for name in before}


async def soak(
    processes: Processes, port: int, engines: list[int], given: argparse.Namespace
) -> tuple[dict[str, Any], list[str]]:
    """The figures, and what was wrong."""
    url = f"http://127.0.0.1:{port}"
    await ready(f"{url}/left")
    await Clients(url, given.streams, given.seed).run(min(3.0, given.seconds / 4))  # what is made once
    before = await left(url, processes)
    before |= {"requests": 0, "generations": 0, "waiting": 0, "keys": 0}
    clients, hostile = Clients(url, given.streams, given.seed + 1), Hostile("127.0.0.1", port)
    sizes: list[float] = []

    async def weigh() -> None:
        while True:
            sizes.append(processes.memory(GATEWAY))
            await asyncio.sleep(min(1.0, given.seconds / 30))

    began = time.monotonic()
    async with beside(weigh(), hostile.run(0.3), kill_in_turn(processes, engines, given.kill_every)):
        await clients.run(given.seconds)
    took = time.monotonic() - began
    remaining = await settled(url, processes, before)
    third = len(sizes) // 3
    early, late = statistics.median(sizes[third : 2 * third]), statistics.median(sizes[2 * third :])
    wrong = [*clients.wrong, *hostile.wrong]
    wrong += [f"left: {count} {name}" for name, count in remaining.items() if count > 0]
    if given.seconds >= LONG and late > early * (1 + FLAT):
        wrong.append(f"memory grew from {early:.1f} to {late:.1f} MB")
    figures: dict[str, Any] = {"seconds": round(took), "streams at once": given.streams}
    figures |= {**dict(sorted(clients.counts.items())), "hostile connections": hostile.visits, **processes.counts}
    figures |= {"memory, second third": f"{early:.1f} MB", "memory, last third": f"{late:.1f} MB"}
    tenths = [f"{sizes[len(sizes) * at // 10]:.0f}" for at in range(10)]
    figures["memory at each tenth, MB"] = ", ".join(tenths)
    return figures, wrong


def main() -> int:
    given = options("bench.gateway_soak", __doc__, kill_every=20.0)
    port, *engines = free_ports(1 + ENGINES)
    with tempfile.TemporaryDirectory() as folder:
        with Processes(Path(folder), commands(port, engines, 0.0005 * given.streams)) as processes:
            figures, wrong = asyncio.run(soak(processes, port, engines, given))
        wrong += processes.tracebacks()
    return conclude(figures, wrong, given.markdown)


if __name__ == "__main__":
    sys.exit(main())
