"""The log probabilities of an engine's outputs, held for emitters that read ids later than the engine returns them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

__all__ = ["HeldLogprobs"]


class HeldLogprobs:
    """The log probabilities of one choice, until their ids are read."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, dict[str, Any]]] = deque()

    def add(self, ids: Sequence[int], entries: Sequence[Any]) -> None:
        """entries: the engine's own objects for the API, one for each id. They are pydantic models."""
        self._waiting.extend((tid, each.model_dump()) for tid, each in zip(ids, entries, strict=True))

    def feed(self, stream: Any, ids: Sequence[int]) -> bytes:
        """The result of `stream.feed(ids)`, with the log probabilities of these ids.

        ids: the next ids of those that were added, up to the end of the text. If a stop string ends inside a token,
        they end with the bytes of a part of it. The first of these bytes has the token's log probabilities.
        """
        logprobs = []
        for tid in ids:
            if not self._waiting:
                break
            added, entry = self._waiting.popleft()
            logprobs.append(entry)
            if added != tid:
                break
        frames: bytes = stream.feed(ids[: len(logprobs)], logprobs) if logprobs else b""
        return frames + stream.feed(ids[len(logprobs) :]) if len(logprobs) < len(ids) else frames
