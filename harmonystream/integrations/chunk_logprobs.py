"""The log probabilities of an engine's outputs in chunks of Chat Completions. Each token's are in one chunk.

ChatStream itself only sends those of text. Engines also send those of markers, of a call's name and of a stop string.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ..emit.common.payload import to_json
from ..emit.common.tokens import as_sent

__all__ = ["ChunkLogprobs"]

_NONE = b'"logprobs":null'
"""Of a chunk. In a JSON string a backslash comes before each quote, so that no text looks so."""


class ChunkLogprobs:
    """The log probabilities of one choice, from the engine's output until a chunk is written."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, dict[str, Any]]] = deque()  # not read yet
        self._read: list[dict[str, Any]] = []  # read since the last chunk

    def add(self, ids: Sequence[int], entries: Sequence[Any]) -> None:
        """entries: the engine's own objects for the API, one for each id. They are pydantic models."""
        self._waiting.extend((tid, as_sent(each.model_dump())) for tid, each in zip(ids, entries, strict=True))

    def feed(self, stream: Any, ids: Sequence[int]) -> bytes:
        """The result of `stream.feed(ids)`, made id by id, with the log probabilities of these ids.

        ids: the next ids of those that were added, up to the end of the text. If a stop string ends inside a token,
        they end with the bytes of a part of it. The first of these bytes has the token's log probabilities.
        """
        frames = b""
        whole = True
        for tid in ids:
            if whole and self._waiting:
                added, entry = self._waiting.popleft()
                self._read.append(entry)
                whole = added == tid
            frames += self._with(stream.feed(tid))
        return frames

    def rest(self, frames: bytes) -> bytes:
        """The last frames, with the log probabilities that no chunk has: of markers, and of a stop string's tokens."""
        self._read += [entry for _, entry in self._waiting]
        self._waiting.clear()
        return self._with(frames)

    def _with(self, frames: bytes) -> bytes:
        if not self._read or _NONE not in frames:
            return frames
        logprobs, self._read = to_json({"content": self._read, "refusal": None}).encode(), []
        return frames.replace(_NONE, b'"logprobs":' + logprobs, 1)
