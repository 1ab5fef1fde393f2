"""Combines several generations of one prompt into one source, whose items name their choice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...engines import Finished
from ...engines.base import Arrived, add_usage

__all__ = ["merged"]

_AHEAD = 16
"""How many items of one choice may wait for a slow client."""


async def merged(sources: Sequence[AsyncIterator[Any]]) -> AsyncGenerator[tuple[int, Any], None]:
    """Items as (choice, item), in order of arrival. The last `Finished` has the usage of all. Closing it closes all
    sources.

    Raises what a source raises.
    """
    if len(sources) == 1:
        async for item in sources[0]:
            yield 0, item
        return
    queue: asyncio.Queue[tuple[int, Any]] = asyncio.Queue(_AHEAD * len(sources))
    pumps = [asyncio.ensure_future(_pump(at, source, queue)) for at, source in enumerate(sources)]
    left = len(sources)
    usage: dict[str, Any] = {}
    try:
        while left:
            choice, item = await queue.get()
            if isinstance(item, _Failure):
                raise item.error
            if isinstance(item, Finished):
                left -= 1
                _count(usage, item)
                item = replace(item, usage=None if left else usage or None)
            yield choice, item
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


class _Failure:
    def __init__(self, error: Exception) -> None:
        self.error = error


async def _pump(choice: int, source: AsyncIterator[Any], queue: asyncio.Queue[tuple[int, Any]]) -> None:
    end = Finished()
    try:
        async for item in source:
            if isinstance(item, Arrived) and isinstance(item.items[-1], Finished):
                *before, item = item.items
                await queue.put((choice, Arrived(before)))
            if isinstance(item, Finished):
                end = item
                break
            await queue.put((choice, item))
    except Exception as error:
        await queue.put((choice, _Failure(error)))
    else:
        await queue.put((choice, end))
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            with suppress(Exception):
                await close()


def _count(usage: dict[str, Any], end: Finished) -> None:
    """Each choice has generated its own tokens, but the prompt is the same and counts once."""
    more = dict(end.usage or {})
    if "prompt_tokens" in usage:
        more.pop("prompt_tokens", None)
        more.pop("prompt_tokens_details", None)
    more.pop("total_tokens", None)
    add_usage(usage, more)
