"""`python -m bench.gateway_store`: how long a request waits for a store that gateways share. It needs Valkey or Redis.

A request waits twice: to be let in, and to store a response of some kilobytes. Then the gateway reports what the
request has used; the answer does not wait for that. The store is on this machine.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles

from nginx_config import STORE
from ports import free_port

from bench import report
from bench.report import Row
from harmonystream.gateway.limits import Limits, Quota
from harmonystream.gateway.operating.redis_state import RedisState

WARM = 11  # rounds that do not count
QUOTA = Quota(100_000, 1_000_000_000)
TEXT = "The weather in Chengdu is mild, with some rain in the evening. " * 60


@contextmanager
def store() -> Iterator[str]:
    """The URL of a store."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(STORE), "--port", str(port), "--dir", folder, "--appendonly", "yes", "--bind", "127.0.0.1"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


async def waited(state: RedisState, number: int) -> tuple[float, float, float]:
    """Milliseconds of the two waits of a request, and of both together."""
    owner, id = f"owner {number % 7}", f"resp_{number}"
    item = {"type": "message", "id": f"msg_{number}", "content": [{"type": "output_text", "text": TEXT}]}
    began = time.perf_counter()
    await state.enter(owner, QUOTA)
    is_in = time.perf_counter()
    await state.put(owner, [{"role": "user", "content": TEXT}], {"id": id, "output": [item]})
    is_stored = time.perf_counter()
    state.take(owner, 1000, QUOTA)
    state.leave(owner, QUOTA)
    return 1000 * (is_in - began), 1000 * (is_stored - is_in), 1000 * (is_stored - began)


async def waits(url: str, rounds: int, at_a_time: int) -> list[tuple[float, ...]]:
    """The milliseconds of each wait, of rounds of so many requests at once."""
    found: list[tuple[float, float, float]] = []
    async with RedisState(url, Limits(), seal="seal" * 8) as state:
        for turn in range(rounds + WARM):
            first = turn * at_a_time
            found += await asyncio.gather(*(waited(state, first + number) for number in range(at_a_time)))
    return list(zip(*found[WARM * at_a_time :]))


def main() -> None:
    parser = report.options("bench.gateway_store", __doc__)
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--at-a-time", type=int, nargs="+", default=[1, 4])
    asked = parser.parse_args()
    if STORE is None:
        print("neither valkey-server nor redis-server is installed: nothing is measured")
        return
    names = ("to be let in", "to store a response", "both")
    cells: dict[str, list[str]] = {name: [] for name in names}
    for at_a_time in asked.at_a_time:
        with store() as url:
            times = asyncio.run(waits(url, asked.rounds, at_a_time))
        for name, taken in zip(names, times):
            cuts = quantiles(taken, n=100)
            cells[name] += [f"{cuts[49]:.2f} ms", f"{cuts[98]:.2f} ms"]
    head = [f"{at_a_time} at a time, {at}" for at_a_time in asked.at_a_time for at in ("p50", "p99")]
    report.show(("a wait for the store", *head), [Row((name, *each)) for name, each in cells.items()], asked.markdown)


if __name__ == "__main__":
    main()
