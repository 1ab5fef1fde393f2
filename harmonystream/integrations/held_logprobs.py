"""The log probabilities of an engine's outputs, for emitters that read the ids later than the engine returns them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

__all__ = ["HeldLogprobs"]


class HeldLogprobs:
    """Of one choice: what the API says of each id, until the id is read."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, dict[str, Any]]] = deque()

    def add(self, ids: Sequence[int], said: Sequence[Any]) -> None:
        """said: the engine's own objects of the API, one for each id. They are pydantic models."""
        self._waiting.extend((tid, each.model_dump()) for tid, each in zip(ids, said, strict=True))

    def feed(self, stream: Any, ids: Sequence[int]) -> bytes:
        """What `stream.feed(ids)` returns, with what was said of these ids.

        ids: the next of those that were added, up to where the text ends. If a stop string ends inside a token, they
        end with the bytes of a part of it. The first of these bytes has what was said of the token.
        """
        said = []
        for tid in ids:
            if not self._waiting:
                break
            added, entry = self._waiting.popleft()
            said.append(entry)
            if added != tid:
                break
        frames: bytes = stream.feed(ids[: len(said)], said) if said else b""
        return frames + stream.feed(ids[len(said) :]) if len(said) < len(ids) else frames
