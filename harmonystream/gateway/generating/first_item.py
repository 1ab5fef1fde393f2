"""A source whose first item is awaited before the response begins, so that an early error can set the status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

__all__ = ["StartedSource"]


class StartedSource:
    """The items of a source. A task begins to wait for the first item at once.

    on_first: called when the first item is there. closed: called when the source has been closed.
    """

    def __init__(self, source: AsyncIterator[Any], on_first: Callable[[], None] | None = None) -> None:
        self._source, self._on_first = source, on_first
        self.closed: Callable[[], None] | None = None
        self._first: asyncio.Future[bool] | None = asyncio.ensure_future(self._begin())
        self._item: Any = None

    async def _begin(self) -> bool:
        """Does the source have an item?"""
        async for item in self._source:
            self._item = item
            if self._on_first is not None:
                self._on_first()
            return True
        return False

    async def wait(self, gone: asyncio.Future[Any], seconds: float | None) -> bool:
        """Wait for the first item, until the client leaves, or at most this many seconds. Is the client still there?

        Raises what the source raises instead of its first item.
        """
        assert self._first is not None
        await asyncio.wait({self._first, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._first.done():
            try:
                self._first.result()
            except BaseException:
                self._first = None  # its exception's traceback holds this frame: the cycle would hold the prompt
                raise
        return not gone.done()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    def __anext__(self) -> Any:
        return self._source.__anext__() if self._first is None else self._take_first()

    async def _take_first(self) -> Any:
        assert self._first is not None
        there = await self._first
        self._first = None
        if not there:
            raise StopAsyncIteration
        return self._item

    async def aclose(self) -> None:
        """Close the source, whether or not its first item has arrived."""
        if self._first is not None:
            self._first.cancel()
            await asyncio.gather(self._first, return_exceptions=True)
        try:
            close = getattr(self._source, "aclose", None)
            if close is not None:
                await close()
        finally:
            if self.closed is not None:
                self.closed()
