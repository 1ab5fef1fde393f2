"""What the agent loop costs for each token, and what early starts of tools save: `python -m bench.agent`.

The engine is scripted: it hands over ids that are there already, so that nothing is measured but the loop. The cost is
the processor's time per token. The saving is wall time: a stream of 1.5 s with three calls, whose tools take 1.2 s,
0.6 s and 0.3 s. All run at the same time either way, so that an early start saves what the slowest tool takes while the
model still writes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import harmonystream as hs
from bench.clock import medians, now, pin
from harmonystream.agent import LoopEnd, agent_loop
from harmonystream.engines import Finished, Sampling
from harmonystream.tools import Tool, Tools

TOKENS = 4_000
ANSWER = [200005, 17196, 200008, *([12194, 11, 290] * (TOKENS // 3))[: TOKENS - 4], 200002]
USER = [{"role": "user", "content": "Hi"}]
FLOOR = 2.0
"""Microseconds for each token that the loop may take beside the parser."""

TOOL_SECONDS, STREAM_SECONDS = (1.2, 0.6, 0.3), 1.5


class Engine:
    """Yields the ids one by one, and never waits."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    async def generate(self, prompt: object, sampling: Sampling) -> AsyncIterator[Any]:
        for token in self.ids:
            yield token
        yield Finished("stop")


def by_parser() -> float:
    """The parser alone: microseconds for each token."""
    parser = hs.Parser()
    begin = now()
    for token in ANSWER:
        for _ in parser.feed(token):
            pass
    parser.finish("stop")
    return (now() - begin) / 1000 / len(ANSWER)


async def _by_hand() -> None:
    parser = hs.Parser()
    async for item in Engine(ANSWER).generate(None, Sampling()):
        for _ in parser.finish(item.reason) if isinstance(item, Finished) else parser.feed(item):
            pass


async def _by_loop() -> None:
    async for _ in agent_loop(Engine(ANSWER), USER, tools=Tools("f"), format="harmony", timeout=60):
        pass


def _timed(work: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], float]:
    async def measured() -> float:
        begin = now()
        await work()
        return (now() - begin) / 1000 / len(ANSWER)

    return lambda: asyncio.run(measured())


async def early(starts_early: bool, tools_take: Sequence[float], stream: float) -> float:
    """Seconds from the first token to the results of the calls, of which the last one ends the stream."""
    calls = [f'<tool_call>{{"name": "look", "arguments": {{"n": {n}}}}}</tool_call>' for n in range(len(tools_take))]

    class Slow:
        round = 0

        async def generate(self, prompt: object, sampling: Sampling) -> AsyncIterator[Any]:
            self.round += 1
            if self.round == 1:
                for call in calls:
                    await asyncio.sleep(stream / len(calls))
                    yield call
            yield Finished("stop")

    async def look(n: int) -> int:
        await asyncio.sleep(tools_take[n])
        return n

    tools = Tools(Tool("look", "", {"type": "object"}, look, early=starts_early))
    begin = time.monotonic()
    template = "{{ messages | tojson }}{{ tools | tojson }}"
    async for event in agent_loop(Slow(), USER, tools=tools, format="hermes", template=template):
        if isinstance(event, LoopEnd):
            assert event.called == ("look",) * len(calls)
    return time.monotonic() - begin


def main() -> None:
    """Prints the two tables. The exit status is 1 if the loop takes more than it may."""
    pin()
    ways = {"parser alone": by_parser, "engine and parser by hand": _timed(_by_hand), "agent_loop": _timed(_by_loop)}
    cost = medians(ways, rounds=15)
    print("| way | µs/token | beside the parser |\n|---|--:|--:|")
    for name, microseconds in cost.items():
        print(f"| {name} | {microseconds:.2f} | {microseconds - cost['parser alone']:.2f} |")
    waited, saved = (asyncio.run(early(starts, TOOL_SECONDS, STREAM_SECONDS)) for starts in (False, True))
    print("\n| three calls | seconds |\n|---|--:|")
    print(f"| after the stream | {waited:.2f} |\n| early | {saved:.2f} |")
    if cost["agent_loop"] - cost["parser alone"] > FLOOR:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
