"""What the agent loop costs for each token, and what early starts of tools save: `python -m bench.agent`.

The engine is scripted: it hands over ids that are there already, so that nothing is measured but the loop. The cost is
the processor's time per token. The saving is wall time: a stream of 1.5 s with three calls, whose tools take 1.2 s,
0.6 s and 0.3 s. All run at the same time either way, so that an early start saves what the slowest tool takes while the
model still writes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import harmonystream as hs
from bench.clock import medians, now, pin
from bench.report import ABSOLUTE, conclude, figure, options, show
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
    """Yields its pieces in the first generation, each after a pause, and nothing in those that follow."""

    def __init__(self, pieces: Sequence[Any], pause: float | None = None) -> None:
        self.pieces, self.pause = pieces, pause

    async def generate(self, prompt: object, sampling: Sampling) -> AsyncIterator[Any]:
        pieces, self.pieces = self.pieces, ()
        for piece in pieces:
            if self.pause is not None:
                await asyncio.sleep(self.pause)
            yield piece
        yield Finished("stop")


async def by_parser() -> None:
    parser = hs.Parser()
    for token in ANSWER:
        for _ in parser.feed(token):
            pass
    parser.finish("stop")


async def by_loop() -> None:
    async for _ in agent_loop(Engine(ANSWER), USER, tools=Tools("f"), format="harmony", timeout=60):
        pass


WAYS = {"parser alone": by_parser, "agent_loop": by_loop}


def timed(work: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], float]:
    """Microseconds for each token."""

    async def measured() -> float:
        begin = now()
        await work()
        return (now() - begin) / 1000 / len(ANSWER)

    return lambda: asyncio.run(measured())


async def early(starts_early: bool, tools_take: Sequence[float], stream: float) -> float:
    """Seconds from the first token to the results of the calls. The last call ends the stream."""
    calls = [f'<tool_call>{{"name": "look", "arguments": {{"n": {n}}}}}</tool_call>' for n in range(len(tools_take))]

    async def look(n: int) -> int:
        await asyncio.sleep(tools_take[n])
        return n

    engine, template = Engine(calls, stream / len(calls)), "{{ messages | tojson }}{{ tools | tojson }}"
    tools = Tools(Tool("look", "", {"type": "object"}, look, early=starts_early))
    begin = time.monotonic()
    async for event in agent_loop(engine, USER, tools=tools, format="hermes", template=template):
        if isinstance(event, LoopEnd):
            assert event.called == ("look",) * len(calls)
    return time.monotonic() - begin


def main() -> int:
    asked = options("bench.agent", __doc__, floors=True).parse_args()
    pin()
    cost = medians({name: timed(work) for name, work in WAYS.items()}, rounds=15)
    rows = [figure(f"{name}, per token", microseconds, "µs") for name, microseconds in cost.items()]
    beside = cost["agent_loop"] - cost["parser alone"]
    rows.append(figure("agent_loop beside the parser, per token", beside, "µs", at_most=FLOOR))
    for starts, when in ((False, "after the stream"), (True, "early")):
        seconds = asyncio.run(early(starts, TOOL_SECONDS, STREAM_SECONDS))
        rows.append(figure(f"three calls, started {when}", seconds, "s"))
    return conclude(show(ABSOLUTE, rows, asked.markdown), asked)


if __name__ == "__main__":
    sys.exit(main())
