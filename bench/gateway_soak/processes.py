"""What both soaks share: processes that are killed and started again, and what is printed at the end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from bench import report
from bench.report import Row
from bench.worker import ROOT


class Processes(ExitStack):
    """Commands by their names, such as "engine 1", each with a log in the folder, until the block ends.

    counts: what was killed, how often.
    """

    def __init__(self, folder: Path, commands: Mapping[str, list[str]]) -> None:
        super().__init__()
        self._folder, self._commands = folder, commands
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended: list[str] = []
        self.counts: Counter[str] = Counter()
        self.callback(self._stop)
        for name in commands:
            self.start(name)

    def _stop(self) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.wait(60)

    def start(self, name: str) -> None:
        with (self._folder / f"{name.replace(' ', '-')}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(self._commands[name], cwd=ROOT, stdout=log, stderr=log)

    async def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        self._ended.append(name)
        self._running[name].send_signal(number)
        await asyncio.to_thread(self._running[name].wait, 60)
        self.counts[f"{name.split()[0]}s {'killed' if number == signal.SIGKILL else 'restarted'}"] += 1

    async def restart(self) -> None:
        """Start what was ended, when its process is gone."""
        while self._ended:
            await asyncio.to_thread(self._running[self._ended[0]].wait, 60)
            self.start(self._ended.pop(0))

    def folder_of(self, name: str) -> Path:
        """The process's folder in /proc."""
        return Path(f"/proc/{self._running[name].pid}")

    def memory(self, name: str) -> float:
        """MB."""
        pages = (self.folder_of(name) / "statm").read_text("utf-8").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def tracebacks(self) -> list[str]:
        """Those in the logs of gateways."""
        logs = "".join(path.read_text("utf-8", "replace") for path in self._folder.glob("gateway-*.log"))
        return [f"a traceback in the log: …{trace[:1500]}" for trace in logs.split("Traceback")[1:4]]


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


async def ready(url: str, good: Callable[[Any], bool] = lambda answer: True) -> None:
    """Wait until a gateway answers with status 200 and with what is good."""
    async with aiohttp.ClientSession() as session:
        for _ in range(600):
            with suppress(OSError, aiohttp.ClientError):
                async with session.get(url) as response:
                    if response.status == 200 and good(await response.json()):
                        return
            await asyncio.sleep(0.1)
    raise SystemExit("a gateway did not start")


def options(module: str, about: str | None, kill_every: float) -> argparse.Namespace:
    parser = report.options(module, about)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--kill-every", type=float, default=kill_every, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def conclude(figures: dict[str, Any], wrong: list[str], markdown: bool) -> int:
    """Print what a soak counted and what is wrong. The result is its exit status."""
    rows = [Row((name, str(value))) for name, value in {**figures, "wrong": len(wrong)}.items()]
    report.show(("what", "how many"), rows, markdown)
    for one in wrong[:20]:
        print(one)
    return 1 if wrong else 0
