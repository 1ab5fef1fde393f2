"""A limit on the time that a generator waits. Time that its consumer spends between two items does not count."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from types import TracebackType

__all__ = ["Deadline", "is_cancelled"]


class Deadline:
    """A `with` block around an await. Raises TimeoutError out of the block once the time is over.

    asyncio.timeout() cannot be used here. It would cancel the task wherever it is, even in the consumer's code while
    the generator is suspended at a `yield`. This class cancels only inside its block, and the block can be entered many
    times. seconds: the limit from now on; None sets none.

    The block takes longer than everything else that is done for a token. So code that waits once per token does without
    it: it calls `enter` before the await, clears `task` after it, and passes any exception in between to `error_of`.
    """

    __slots__ = ("_cancelled", "_handle", "expired", "task")

    def __init__(self, seconds: float | None) -> None:
        self.expired = False
        self.task: asyncio.Task[object] | None = None  # the task that waits in the block
        self._cancelled = False  # have we cancelled the task in this block?
        loop = asyncio.get_running_loop()
        self._handle = None if seconds is None else loop.call_later(seconds, self._expire)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _expire(self) -> None:
        self.expired = True
        if self.task is not None:
            self._cancelled = True
            self.task.cancel()

    def error_of(self, error: BaseException | None) -> BaseException | None:
        """The exception to raise when the block is left with this exception, or with None."""
        task, self.task = self.task, None
        if not self._cancelled or task is None:
            return error
        self._cancelled = False
        others = task.uncancel() if hasattr(task, "uncancel") else 0  # Python 3.10 does not count cancellations
        return TimeoutError() if isinstance(error, asyncio.CancelledError) and not others else error

    def enter(self) -> None:
        """Call this before the task waits. Raises TimeoutError if the time is already over."""
        if self.expired:
            raise TimeoutError
        self.task = current_task()

    __enter__ = enter

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        meant = self.error_of(error)
        if meant is not None and meant is not error:
            raise meant from None


def is_cancelled(task: asyncio.Task[object] | None) -> bool:
    """Was this task cancelled? Always True on Python 3.10, where an awaited task's cancellation looks the
    same.
    """
    return task is None or not hasattr(task, "cancelling") or task.cancelling() > 0
