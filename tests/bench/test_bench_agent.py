"""bench/agent.py measures what it says: early starts save time, and each way reads every token."""

from __future__ import annotations

import asyncio

import pytest

from bench import agent


def test_early_starts_save_what_the_slowest_tool_takes_while_the_model_writes():
    """With times of the loop's own clock: no machine is too slow for it."""
    times = {}
    for starts_early in (False, True):
        clock = _Clock()
        with clock.loop() as loop:
            agent_time = agent.time
            agent.time = clock  # type: ignore[assignment]
            try:
                times[starts_early] = loop.run_until_complete(agent.early(starts_early, (1.2, 0.6, 0.3), 1.5))
            finally:
                agent.time = agent_time
    assert [round(times[early], 2) for early in (False, True)] == [2.7, 1.8]


class _Clock:
    """Time that passes only when the event loop would sleep."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def loop(self):
        import contextlib

        clock = self

        class Loop(asyncio.SelectorEventLoop):
            def time(self) -> float:
                return clock.now

            def _run_once(self) -> None:
                if not self._ready and self._scheduled:
                    clock.now = max(clock.now, self._scheduled[0].when())
                super()._run_once()

        return contextlib.closing(Loop())


@pytest.mark.parametrize("work", agent.WAYS.values(), ids=list(agent.WAYS))
def test_the_ways_cost_something(work):
    assert agent.timed(work)() > 0
