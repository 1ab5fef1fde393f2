"""How long an engine may take: for its first token, for each later one, and in all."""

from __future__ import annotations

import asyncio

from ...agent.deadline import Deadline
from ...errors import EngineError

__all__ = ["Timeouts"]


class Timeouts(Deadline):
    """The time limits of one generation. Only time spent waiting for the engine counts, not time spent waiting for the
    client.

    Code that waits for the engine sets `task` before the wait, clears it after it, and sets `since` once the consumer
    has taken a token. This happens once for each token, so it is done without a call. first, silence: seconds. until:
    a time of the event loop, at which all must be over.
    """

    def __init__(self, first: float, silence: float, until: float) -> None:
        super().__init__(None)
        self._loop = asyncio.get_running_loop()
        self._limit, self._silence, self._until = first, silence, until
        self.since = self._loop.time()  # since when a token is awaited
        self._what = "no token came in time"
        self._look()

    def _look(self) -> None:
        """Look at the clock, and again when the time could be over. So no token needs a timer of its own."""
        now = self._loop.time()
        due = self.since + self._limit if self.task is not None else now + self._limit
        if now >= min(due, self._until):
            self._expire()
        else:
            self._handle = self._loop.call_at(min(due, self._until), self._look)

    def first_came(self) -> None:
        """From now on, the limit for silence applies."""
        self._limit = self._silence
        self.close()
        self._look()

    def stop(self, what: str) -> None:
        """End the time now."""
        self._what = what
        if not self.expired:
            self._expire()

    def over(self) -> EngineError:
        """The error for a generation whose time is over."""
        return EngineError(self._what, "timeout")

    def meant(self, error: BaseException) -> BaseException:
        """The meaning of an exception from a wait. If we cancelled the wait, the time is over."""
        found = self.error_of(error)
        return self.over() if found is not error and isinstance(found, TimeoutError) else error
