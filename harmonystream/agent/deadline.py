"""A limit on the time that a generator waits, which never counts against what its consumer does between two items."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["Deadline"]


class Deadline:
    """Raises TimeoutError out of a `with` block around an await once the time is over.

    asyncio.timeout() cannot be used here: it would cancel the task wherever it is, also in the consumer's code while
    the generator is suspended at a `yield`. This one cancels only inside its block, and can be entered again and
    again. seconds: from now on; None: no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.expired = False
        self._task: asyncio.Task[object] | None = None  # that waits in the block
        self._cancelled = False  # did we cancel it, in this block?
        loop = asyncio.get_running_loop()
        self._handle = None if seconds is None else loop.call_later(seconds, self._expire)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _expire(self) -> None:
        self.expired = True
        if self._task is not None:
            self._cancelled = True
            self._task.cancel()

    def __enter__(self) -> None:
        if self.expired:
            raise TimeoutError
        if self._handle is not None:
            self._task = asyncio.current_task()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if not self._cancelled or task is None:
            return
        self._cancelled = False
        others = task.uncancel() if hasattr(task, "uncancel") else 0  # Python 3.10 cannot tell
        if kind is asyncio.CancelledError and not others:
            raise TimeoutError from None
