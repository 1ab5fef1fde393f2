"""How long an engine may take: for its first token, for each further one, and in all."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from ...agent.deadline import Deadline
from ...errors import EngineError

__all__ = ["Timeouts"]


class Timeouts(Deadline):
    """The time limits of one generation. Only the time in which the engine is awaited counts, not that of the client.

    first, silence: seconds. until: the time of the event loop at which all must be over.
    """

    def __init__(self, first: float, silence: float, until: float) -> None:
        super().__init__(None)
        self._loop = asyncio.get_running_loop()
        self._limit, self._silence, self._until = first, silence, until
        self._since = self._loop.time()  # when the present wait began
        self._what = "no token came in time"
        self._look()

    def _look(self) -> None:
        """Looks at the clock, and again when the time could be over. No token has a timer of its own."""
        now = self._loop.time()
        due = self._since + self._limit if self.task is not None else now + self._limit
        if now >= min(due, self._until):
            self._expire()
        else:
            self._handle = self._loop.call_at(min(due, self._until), self._look)

    def stop(self, what: str) -> None:
        """The time is over now."""
        self._what = what
        if not self.expired:
            self._expire()

    async def items(self, source: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
        """The source's items. Raises EngineError of the kind "timeout" when the time is over, and closes the source."""
        step, now = source.__anext__, self._loop.time
        try:
            while True:
                self._since = now()
                try:
                    if self.expired:
                        raise TimeoutError
                    self.task = current_task()
                    item = await step()
                except StopAsyncIteration:
                    self.task = None
                    return
                except BaseException as error:
                    meant = self.error_of(error)
                    if isinstance(meant, TimeoutError) and self.expired:
                        raise EngineError(self._what, "timeout") from None
                    raise
                self.task = None
                if self._limit != self._silence:  # after the first token
                    self._limit = self._silence
                    self.close()
                    self._look()
                yield item
        finally:
            self.close()
            close = getattr(source, "aclose", None)
            if close is not None:
                await close()
