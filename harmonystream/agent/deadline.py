"""A limit on the time that a generator waits, which never counts against what its consumer does between two items."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from types import TracebackType

__all__ = ["Deadline", "is_cancelled"]


class Deadline:
    """Raises TimeoutError out of a `with` block around an await once the time is over.

    asyncio.timeout() cannot be used here: it would cancel the task wherever it is, also in the consumer's code while
    the generator is suspended at a `yield`. This one cancels only inside its block, and can be entered again and
    again. seconds: from now on; None: no limit.

    What waits once per token does without the block, which takes longer than the rest of a token's way: it calls
    `enter` before the await, clears `task` after it, and asks `error_of` what an exception in between means.
    """

    __slots__ = ("_cancelled", "_handle", "expired", "task")

    def __init__(self, seconds: float | None) -> None:
        self.expired = False
        self.task: asyncio.Task[object] | None = None  # that waits in the block
        self._cancelled = False  # did we cancel it, in this block?
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
        """The block is left with this exception, or None: what is to be raised instead."""
        task, self.task = self.task, None
        if not self._cancelled or task is None:
            return error
        self._cancelled = False
        others = task.uncancel() if hasattr(task, "uncancel") else 0  # Python 3.10 cannot tell
        return TimeoutError() if isinstance(error, asyncio.CancelledError) and not others else error

    def enter(self) -> None:
        """The task is about to wait. Raises TimeoutError if the time is over already."""
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
    """Has somebody cancelled this task? Python 3.10 cannot tell a task from something that it awaits: True there."""
    return task is None or not hasattr(task, "cancelling") or task.cancelling() > 0
