"""The requests that are under way, and a wait for those that are there now."""

from __future__ import annotations

import asyncio

__all__ = ["UnderWay"]


class _Group:
    """Requests that began between two waits."""

    def __init__(self) -> None:
        self.count = 0
        self.ended = asyncio.Event()
        self._is_closed = False

    def leave(self) -> None:
        self.count -= 1
        self._look()

    def close(self) -> None:
        """Let no more requests in."""
        self._is_closed = True
        self._look()

    def _look(self) -> None:
        if self._is_closed and not self.count:
            self.ended.set()


class UnderWay:
    """Counts requests, so that a reload can wait for those that began before it."""

    def __init__(self) -> None:
        self._groups = [_Group()]

    def enter(self) -> _Group:
        """A request begins. It ends with the `leave` of what this returns."""
        group = self._groups[-1]
        group.count += 1
        return group

    async def gone(self) -> None:
        """Wait until all requests have ended that are under way now."""
        before = self._groups[:]
        self._groups.append(_Group())
        before[-1].close()
        for group in before:
            await group.ended.wait()
        self._groups = [group for group in self._groups if not group.ended.is_set()]
