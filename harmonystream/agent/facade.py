"""The agent loop for code without async."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from types import FrameType
from typing import Any

from ..formats import Format, HeaderFormat
from ..prompt import Template
from ..prompt.rendering import Day
from .given import AnyEngine, AnySampling
from .loop import agent_loop
from .outcome import LoopEvent

__all__ = ["agent_loop_sync"]


def agent_loop_sync(
    engine: AnyEngine,
    messages: Any,
    *,
    tools: Any = None,
    system: str | None = None,
    answer: Any = None,
    tool_choice: str = "auto",
    context: Any = None,
    request: Any = None,
    max_rounds: int = 8,
    max_tokens: int | None = None,
    timeout: float | None = None,
    max_repeats: int = 2,
    sampling: AnySampling = None,
    model: str | None = None,
    format: str | Format | HeaderFormat | None = None,
    template: str | os.PathLike[str] | Template | None = None,
    vocab: Any = None,
    reasoning: str | None = None,
    thinking: bool | None = None,
    date: Day = "today",
    dialect: str | None = None,
    **variables: Any,
) -> Generator[LoopEvent, None, None]:
    """`agent_loop` as a plain iterator, with the same arguments and the same events.

    The event loop runs in this thread, and only while the next event is awaited. Closing the iterator, or Ctrl-C,
    stops the engine and cancels the tools. Raises RuntimeError if an event loop is already running, as in Jupyter.
    Use `async for event in agent_loop(...)` there.
    """
    options = {**locals(), **variables}
    del options["variables"]
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _events(options)
    raise RuntimeError("an event loop runs in this thread: use `async for event in agent_loop(...)`")


def _events(options: Mapping[str, Any]) -> Generator[LoopEvent, None, None]:
    with _interrupts_held():
        loop = asyncio.new_event_loop()
        pump = _Pump(loop)
        task = loop.create_task(pump.run(options))
        task.add_done_callback(pump.wake)
    try:
        while pump.events or not task.done():
            if not pump.events:
                with _interrupts_held(lambda: loop.call_soon_threadsafe(pump.wake)):
                    loop.run_until_complete(pump.sleep())
            while pump.events:
                yield pump.events.popleft()
        task.result()  # raises what the loop raised
    finally:
        with _interrupts_held():
            task.cancel()
            loop.run_until_complete(asyncio.wait({task}))
            if not task.cancelled():
                task.exception()  # read it: it was already raised above
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


@contextmanager
def _interrupts_held(stop: Callable[[], object] | None = None) -> Iterator[None]:
    """Keeps Ctrl-C out of the event loop, which cannot clean up after an exception inside its own code.

    The first SIGINT calls `stop`, and the end of the block raises KeyboardInterrupt. A second SIGINT raises it at once,
    in case code blocks the event loop. A handler that the application has set is not replaced.
    """
    held = 0  # how many SIGINTs arrived in this block

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal held
        held += 1
        if held > 1:
            signal.default_int_handler(number, frame)
        if stop is not None:
            stop()

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if held:
        raise KeyboardInterrupt


class _Pump:
    """Moves events from the async generator to the iterator, one at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.events: deque[LoopEvent] = deque()
        self._loop = loop
        self._awake = loop.create_future()

    async def run(self, options: Mapping[str, Any]) -> None:
        async with aclosing(agent_loop(**options)) as events:
            async for event in events:
                self.events.append(event)
                self.wake()
                await asyncio.sleep(0)  # lets the iterator take it before the next one is made

    def sleep(self) -> asyncio.Future[None]:
        """A future that is done when there is an event, or when no more will come."""
        self._awake = self._loop.create_future()
        return self._awake

    def wake(self, _: object = None) -> None:
        if not self._awake.done():
            self._awake.set_result(None)
