"""How long an engine may take: for its first token, for each further one, and in all."""

from __future__ import annotations

import asyncio

from ...agent.deadline import Deadline
from ...errors import EngineError

__all__ = ["Timeouts"]


class Timeouts(Deadline):
    """The time limits of one generation. Only the time in which the engine is awaited counts, not that of the client.

    Whoever waits for the engine sets `since` and `task` before it, and clears `task` after it: that is done once for
    each token, and costs no call. first, silence: seconds. until: the time of the event loop at which all must be over.
    """

    def __init__(self, first: float, silence: float, until: float) -> None:
        super().__init__(None)
        self._loop = asyncio.get_running_loop()
        self._limit, self._silence, self._until = first, silence, until
        self.since = self._loop.time()  # when the present wait began
        self._what = "no token came in time"
        self._look()

    def _look(self) -> None:
        """Looks at the clock, and again when the time could be over. No token has a timer of its own."""
        now = self._loop.time()
        due = self.since + self._limit if self.task is not None else now + self._limit
        if now >= min(due, self._until):
            self._expire()
        else:
            self._handle = self._loop.call_at(min(due, self._until), self._look)

    def first_came(self) -> None:
        """From now on the limit is that of silence."""
        self._limit = self._silence
        self.close()
        self._look()

    def stop(self, what: str) -> None:
        """The time is over now."""
        self._what = what
        if not self.expired:
            self._expire()

    def over(self) -> EngineError:
        """The error that says so."""
        return EngineError(self._what, "timeout")

    def meant(self, error: BaseException) -> BaseException:
        """What an exception means that came out of a wait: a cancellation of ours is the end of the time."""
        found = self.error_of(error)
        return self.over() if found is not error and isinstance(found, TimeoutError) else error
