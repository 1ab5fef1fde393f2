"""Who is answered now, who waits, and who is sent away."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from time import monotonic

from .limits import Limits
from .refused import Refused

__all__ = ["Admission"]

_OWNERS = 10_000
"""Owners whose use of tokens is remembered."""


class Admission:
    """Hands out turns within limits, in the order of arrival. open: requests that have one; waiting: those without."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._queue: deque[asyncio.Future[None]] = deque()
        self._of: dict[str, int] = {}
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self.open = 0

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_full(self) -> bool:
        """Must a request wait that comes now?"""
        return self.open >= self._limits.concurrent

    async def enter(self, owner: str) -> None:
        """Waits for a turn; `leave` gives it back. Raises `Refused` if there are too many, or it takes too long."""
        self._check(owner)
        self._of[owner] = self._of.get(owner, 0) + 1  # those that wait, too: they will all be let in
        if not self.is_full:
            self.open += 1
            return
        try:
            await self._wait()
        except BaseException:
            self._forget(owner)
            raise

    def leave(self, owner: str) -> None:
        """The turn goes to the one that has waited longest."""
        self._forget(owner)
        self._hand_on()

    def _forget(self, owner: str) -> None:
        self._of[owner] -= 1
        if not self._of[owner]:
            del self._of[owner]

    def _hand_on(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.open -= 1

    def count(self, owner: str, tokens: int) -> None:
        """These tokens were used."""
        if self._limits.tokens_per_minute:
            self._bucket(owner).take(tokens)

    def _check(self, owner: str) -> None:
        most = self._limits.concurrent_per_key
        if most and self._of.get(owner, 0) >= most:
            what = f"This key has {most} requests open, which is its limit."
            raise Refused(429, what, code="rate_limit_exceeded", retry_after=1)
        if self._limits.tokens_per_minute:
            wait = self._bucket(owner).wait()
            if wait > 0:
                what = f"This key has used its {self._limits.tokens_per_minute} tokens a minute."
                raise Refused(429, what, code="rate_limit_exceeded", retry_after=wait)

    def _bucket(self, owner: str) -> _Bucket:
        bucket = self._buckets.pop(owner, None) or _Bucket(self._limits.tokens_per_minute)
        self._buckets[owner] = bucket
        if len(self._buckets) > _OWNERS:
            self._buckets.popitem(last=False)
        return bucket

    async def _wait(self) -> None:
        if len(self._queue) >= self._limits.queue:
            raise Refused(
                503, "Too many requests are waiting.", code="queue_full", retry_after=self._limits.queue_seconds
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await asyncio.wait({turn}, timeout=self._limits.queue_seconds)
        except asyncio.CancelledError:
            self._give_up(turn)
            raise
        if not turn.done():
            self._give_up(turn)
            raise Refused(503, "The request has waited too long for its turn.", code="queue_timeout", retry_after=1)

    def _give_up(self, turn: asyncio.Future[None]) -> None:
        """Leave the queue; a turn that came at the same moment goes to the next one."""
        if turn.done() and not turn.cancelled():
            self._hand_on()
            return
        turn.cancel()
        self._queue.remove(turn)


class _Bucket:
    """Tokens that an owner may use. It holds those of a minute, fills steadily, and may be overdrawn by one request."""

    def __init__(self, per_minute: int) -> None:
        self._most = self._left = float(per_minute)
        self._at = monotonic()

    def _fill(self) -> None:
        now = monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._most / 60)
        self._at = now

    def take(self, tokens: int) -> None:
        self._fill()
        self._left -= tokens

    def wait(self) -> float:
        """Seconds until there are some."""
        self._fill()
        return 0.0 if self._left > 0 else 60 * (1 - self._left) / self._most
