"""The loop for code without async."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from typing import Any

from ..engines import Engine
from .loop import agent_loop
from .outcome import LoopEvent

__all__ = ["agent_loop_sync"]


def agent_loop_sync(engine: Engine, messages: Any, **options: Any) -> Iterator[LoopEvent]:
    """`agent_loop` as a plain iterator, with the same arguments and the same events.

    The event loop runs in this thread, and only while the next event is awaited. Closing the iterator, or Ctrl-C,
    stops the engine and cancels the tools. Raises RuntimeError where an event loop runs already, as in Jupyter: use
    `async for event in agent_loop(...)` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _events(engine, messages, options)
    raise RuntimeError("an event loop runs in this thread: use `async for event in agent_loop(...)`")


def _events(engine: Engine, messages: Any, options: Mapping[str, Any]) -> Iterator[LoopEvent]:
    loop = asyncio.new_event_loop()
    pump = _Pump(loop)
    task = loop.create_task(pump.run(engine, messages, options))
    task.add_done_callback(pump.wake)
    try:
        while pump.events or not task.done():
            if not pump.events:
                loop.run_until_complete(pump.sleep())
            while pump.events:
                yield pump.events.popleft()
        task.result()  # raises what the loop has raised
    finally:
        task.cancel()
        loop.run_until_complete(asyncio.wait({task}))
        if not task.cancelled():
            task.exception()  # it was raised above, or an interrupt was
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


class _Pump:
    """Moves events from the async generator to the iterator, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.events: deque[LoopEvent] = deque()
        self._loop = loop
        self._awake = loop.create_future()

    async def run(self, engine: Engine, messages: Any, options: Mapping[str, Any]) -> None:
        async with aclosing(agent_loop(engine, messages, **options)) as events:
            async for event in events:
                self.events.append(event)
                self.wake()
                await asyncio.sleep(0)  # so that the iterator has it before the next one is made

    def sleep(self) -> asyncio.Future[None]:
        """Done once there is an event, or none will come."""
        self._awake = self._loop.create_future()
        return self._awake

    def wake(self, _: object = None) -> None:
        if not self._awake.done():
            self._awake.set_result(None)
