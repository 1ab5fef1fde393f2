"""Finds the first stop string in an output, and the pieces of the output before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from ._native.core.vocab import Vocab
from ._native.stream.parser import Parser
from .checks import shown
from .regions import Region
from .text_limit import spelled

__all__ = ["StopChecker", "StopStrings", "bytes_of", "stops_of"]

_UNKNOWN = "�".encode()
"""The bytes for an id that the vocabulary does not have."""


def bytes_of(vocab: Vocab, tid: int) -> bytes:
    """The bytes of a token, as a parser reads them."""
    return vocab.token_bytes(tid) if tid in vocab else _UNKNOWN


def stops_of(stops: str | Sequence[str] | None) -> Sequence[str]:
    """The stop strings of a request. Raises TypeError or ValueError for anything else."""
    given = [] if stops is None else [stops] if isinstance(stops, str) else stops
    if not isinstance(given, Sequence) or not all(isinstance(stop, str) for stop in given):
        raise TypeError(f"stop is a string, a list of strings, or null, not {shown(stops)}")
    if not all(given):
        raise ValueError("a stop string has at least one character")
    return given


class StopChecker:
    """The ids of one output up to its first stop string, for a decode loop.

    stops: the stop strings of the request: a string, a list, or None.
    parser: it has read what `take` has returned before `take` is called again. It may be in a `Batch`, or in an
    emitter.
    regions: a stop string counts only in tokens of these regions.

    Raises TypeError or ValueError for invalid stop strings.
    """

    def __init__(
        self,
        stops: str | Sequence[str] | None,
        parser: Parser,
        *,
        regions: Collection[Region] = (Region.CONTENT,),
    ) -> None:
        self._parser, self._regions = parser, regions
        self._strings = StopStrings(stops_of(stops), parser.vocab)

    @property
    def found(self) -> str | None:
        """The stop string, once one is found."""
        return self._strings.found

    def take(self, tid: int, /) -> list[int]:
        """The ids that can be read after the next id: none, one or several.

        An id that may begin a stop string waits for the next one. If a stop string begins inside a token, tokens of one
        byte each replace the part before it. After a stop string there are no more ids.
        """
        ids: list[int] = []
        for piece in self._passed(tid, tid):
            ids += [piece] if isinstance(piece, int) else piece
        return ids

    def rest(self) -> list[int]:
        """The ids that still wait. Read them if the output ends without a stop string."""
        return self._strings.rest()

    def _passed(self, tid: int, piece: Any) -> list[Any]:
        """The pieces that can be passed on after this one, which has the token `tid`."""
        strings, vocab = self._strings, self._parser.vocab
        if strings.found is not None:
            return []
        if vocab.is_control(tid):
            return [*strings.rest(), piece]
        if strings.holds or self._parser.region in self._regions:
            return strings.take(bytes_of(vocab, tid), piece)
        return [piece]


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
