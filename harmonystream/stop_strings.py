"""Finds the first stop string in an output, and the pieces of the output before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ._native.core.vocab import Vocab
from .text_limit import spelled

__all__ = ["StopStrings", "bytes_of"]

_UNKNOWN = "�".encode()
"""The bytes for an id that the vocabulary does not have."""


def bytes_of(vocab: Vocab, tid: int) -> bytes:
    """The bytes of a token, as a parser reads them."""
    return vocab.token_bytes(tid) if tid in vocab else _UNKNOWN


class StopStrings:
    """Searches an output for stop strings, piece by piece, and holds back a possible beginning of one.

    vocab: for pieces that are tokens. Other pieces are text. found: the stop string, once one is found. Nothing is
    passed on after it.
    """

    def __init__(self, stops: Sequence[str], vocab: Vocab) -> None:
        encoded = sorted((stop.encode() for stop in stops), key=len, reverse=True)
        self._matches = [_Match(stop) for stop in encoded]
        """Longer ones first: if two end at the same place, the longer one is found."""
        self._first = bytes({stop[0] for stop in encoded})
        self._vocab = vocab
        self._held: deque[tuple[bytes, Any]] = deque()  # the bytes of a piece, and the piece
        self._size = 0  # how many bytes are held
        self.found: str | None = None

    @property
    def holds(self) -> bool:
        """Is there a piece that has not been passed on?"""
        return bool(self._held)

    def take(self, data: bytes, piece: Any) -> list[Any]:
        """The pieces that can be passed on after this one. data: its bytes.

        If a stop string begins inside a piece, tokens of one byte each, or a part of the text, replace it.
        """
        if not self._held and len(data.translate(None, self._first)) == len(data):
            return [piece]
        self._held.append((data, piece))
        for at, byte in enumerate(data):
            for match in self._matches:
                if match.step(byte):
                    self.found = match.stop.decode()
                    return self._before(self._size + at + 1 - len(match.stop))
        self._size += len(data)
        needed = max(match.length for match in self._matches)
        free = []
        while self._held and self._size - len(self._held[0][0]) >= needed:
            before, one = self._held.popleft()
            self._size -= len(before)
            free.append(one)
        return free

    def rest(self) -> list[Any]:
        """The pieces still held back. What follows does not belong to a stop string."""
        held = [piece for _, piece in self._held]
        self._held.clear()
        self._size = 0
        for match in self._matches:
            match.length = 0
        return held

    def _before(self, size: int) -> list[Any]:
        """The first bytes of the held pieces."""
        found: list[Any] = []
        for data, piece in self._held:
            if size < len(data):
                if size:
                    found.append(self._cut(data[:size], piece))
                return found
            size -= len(data)
            found.append(piece)
        return found

    def _cut(self, data: bytes, piece: Any) -> Any:
        if isinstance(piece, (str, bytes)):
            return data.decode() if isinstance(piece, str) else data
        return spelled(self._vocab, data)


class _Match:
    """Knuth, Morris and Pratt: counts how much of a stop string is at the text's end, byte by byte."""

    def __init__(self, stop: bytes) -> None:
        self.stop, self.length = stop, 0
        self.shorter = [0]
        """How much of it each beginning ends with, itself aside."""
        for at in range(1, len(stop)):
            self.shorter.append(self._after(self.shorter[-1], stop[at]))

    def _after(self, length: int, byte: int) -> int:
        while length and self.stop[length] != byte:
            length = self.shorter[length - 1]
        return length + (self.stop[length] == byte)

    def step(self, byte: int) -> bool:
        """Is the stop string complete?"""
        self.length = self._after(self.length, byte)
        return self.length == len(self.stop)
