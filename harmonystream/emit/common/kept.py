"""A list that is not kept, for emitters with `keep_text=False`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from .payload import Payload

__all__ = ["Forgotten", "Kept"]


class Forgotten:
    """Takes the place of a list: it counts what is appended, and keeps none of it."""

    def __init__(self, n: int = 0) -> None:
        self.n = n

    def append(self, _: Payload) -> None:
        self.n += 1

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Payload]:
        """Over what is left: nothing."""
        return iter(())


Kept: TypeAlias = "list[Payload] | Forgotten"
