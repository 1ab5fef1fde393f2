"""Decides who is answered now, who waits, and who is turned away."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from ..limits import Limits, Quota
from ..refused import Refused
from .state import LocalState, State

__all__ = ["Admission"]


class Admission:
    """Hands out turns within limits, in order of arrival. open: requests that have a turn. waiting: requests without
    one.

    state: counts the requests of each key for all processes together. changed: called with both counts. quota: the
    owner's own quota. None stands for the limits' quota.
    """

    def __init__(
        self,
        limits: Limits,
        state: State | None = None,
        changed: Callable[[int, int], None] = lambda open, waiting: None,
    ) -> None:
        self._limits = limits
        self._queue: deque[asyncio.Future[None]] = deque()
        self._changed = changed
        self.state: State = LocalState(limits) if state is None else state
        self.open = 0

    def hold(self, limits: Limits) -> None:
        """Apply other limits from now on. Requests that are answered keep their turns."""
        self._limits = limits
        self.state.hold(limits)
        while self._queue and not self.is_full:
            self.open += 1
            self._hand_on()
        self._notify()

    def _notify(self) -> None:
        self._changed(self.open, self.waiting)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Would a request that arrives now have to wait?"""
        return self.open >= self._limits.concurrent

    async def enter(self, owner: str, quota: Quota | None = None) -> None:
        """Wait for a turn, which `leave` gives back. Raises `Refused` if too many wait, or if the wait takes
        too long.
        """
        quota = quota or self._limits.quota
        await self.state.enter(owner, quota)  # waiting requests count, too, because all of them will be let in
        if not self.is_full:
            self.open += 1
            self._notify()
            return
        try:
            await self._wait()
        except BaseException:
            self.state.leave(owner, quota)
            raise
        finally:
            self._notify()

    def leave(self, owner: str, quota: Quota | None = None) -> None:
        """Give the turn to the request that has waited longest. quota: the one passed to `enter`."""
        self.state.leave(owner, quota or self._limits.quota)
        self._hand_on()
        self._notify()

    def _hand_on(self) -> None:
        while self._queue and self.open <= self._limits.concurrent:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.open -= 1

    async def _wait(self) -> None:
        if len(self._queue) >= self._limits.queue:
            raise Refused(
                503, "Too many requests are waiting.", code="queue_full", retry_after=self._limits.queue_seconds
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._notify()
        try:
            await asyncio.wait({turn}, timeout=self._limits.queue_seconds)
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        if not turn.done():
            self._give_up(turn)
            raise Refused(503, "The request has waited too long for its turn.", code="queue_timeout", retry_after=1)

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        """Leave the queue. If a turn came at the same moment, it goes to the next request."""
        if turn.done() and not turn.cancelled():
            self._hand_on()
            return
        turn.cancel()
        self._queue.remove(turn)
