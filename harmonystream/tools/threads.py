"""Plain functions in threads of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

__all__ = ["Threads", "TooManyThreadsError"]


class TooManyThreadsError(Exception):
    """The maximum number of threads is already running functions."""


class Threads:
    """Runs each function in a new daemon thread.

    A thread cannot be cancelled. If its caller has left, it ends when its function returns, and keeps neither the event
    loop nor the interpreter from ending. An executor cannot be used, because it waits for its threads, and hanging
    threads would fill its pool. At most `limit` threads are alive at once.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._alive = 0
        self._lock = threading.Lock()

    @property
    def alive(self) -> int:
        """The number of threads whose function has not returned yet, including abandoned ones."""
        return self._alive

    async def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The result of the function, which runs in the caller's context variables. Raises what the function raises."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        context = copy_context()

        def work() -> None:
            value, error = None, None
            try:
                value = context.run(function, *args, **kwargs)
            except BaseException as raised:  # the thread must report any exception
                error = raised
            with self._lock:
                self._alive -= 1
            with suppress(RuntimeError):  # the loop has been closed meanwhile, so the result is not awaited
                loop.call_soon_threadsafe(_settle, future, value, error)

        with self._lock:
            if self._alive >= self.limit:
                raise TooManyThreadsError(f"{self._alive} earlier calls still run")
            self._alive += 1
        try:
            threading.Thread(target=work, name="harmonystream-tool", daemon=True).start()
        except RuntimeError as error:  # the system refuses another thread
            with self._lock:
                self._alive -= 1
            raise TooManyThreadsError(str(error)) from error
        value, raised = await future
        if raised is None:
            return value
        if isinstance(raised, StopIteration) or not isinstance(raised, Exception):
            # A coroutine cannot raise the first one, and the others would end more than the function that raised them.
            raise RuntimeError(f"{type(raised).__name__}: {raised}") from raised
        raise raised


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    # The error is passed as a value: a future refuses StopIteration, and would never be done.
    if not future.done():
        future.set_result((value, error))
