"""What a gateway keeps open while it runs: the connections of engines and of tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Connections"]


class Connections:
    """Engines and tools that have been opened. Those that keep no connections are passed over."""

    def __init__(self) -> None:
        self._open: list[Any] = []

    async def open(self, wanted: Iterable[Any]) -> None:
        """Open those that are not open yet. If one fails, close those that this call opened, and raise its error."""
        made: list[Any] = []
        try:
            for one in wanted:
                if hasattr(one, "__aenter__") and not self._has(one):
                    await one.__aenter__()
                    self._open.append(one)
                    made.append(one)
        except BaseException:
            await self.close(made)
            raise

    async def close(self, unwanted: Iterable[Any]) -> None:
        """Close those that are open."""
        for one in list(unwanted):
            if self._has(one):
                self._open = [other for other in self._open if other is not one]
                await one.__aexit__(None, None, None)

    async def close_all(self) -> None:
        """Close everything, the last one first."""
        await self.close(reversed(self._open))

    def _has(self, one: Any) -> bool:
        return any(one is other for other in self._open)
