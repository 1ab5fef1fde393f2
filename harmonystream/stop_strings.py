"""Finds the first stop string in an output, and the pieces of the output before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ._native.core.vocab import Vocab
from ._native.stream.parser import Parser
from .checks import shown
from .events import ContentDelta, Event, ReasoningDelta, ToolCallDelta
from .regions import Region
from .text_limit import spelled

__all__ = ["StopChecker", "StopStrings", "StopTexts", "bytes_of", "stops_of"]

_DELTAS = {Region.REASONING: ReasoningDelta, Region.CONTENT: ContentDelta, Region.ARGUMENTS: ToolCallDelta}

_MOST_BEHIND = 256
"""How many ids the checker's parser may leave for later."""
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
    parser: the parser of the output. It may be in a `Batch`, or in an emitter. The checker forks it. Only the ids that
    the parser has not read yet are searched.
    regions: a stop string counts only in text of these regions: CONTENT, REASONING, ARGUMENTS.

    Raises TypeError or ValueError for invalid stop strings.
    """

    def __init__(
        self,
        stops: str | Sequence[str] | None,
        parser: Parser,
        *,
        regions: Collection[Region] = (Region.CONTENT,),
    ) -> None:
        if wrong := [one for one in regions if one not in _DELTAS]:
            raise ValueError(
                f"regions are some of CONTENT, REASONING and ARGUMENTS of hs.Region, not {shown(wrong[0])}"
            )
        self._ahead = parser.fork()  # it reads an id before `parser` does, and shows what the id belongs to
        self._behind: list[int] = []  # ids that it has not read yet, because no stop string can begin in them
        self._texts = StopTexts(stops_of(stops), parser.vocab, regions)
        self._texts.skip(parser.position)

    @property
    def found(self) -> str | None:
        """The stop string, once one is found."""
        return self._texts.found

    def take(self, tid: int, /) -> list[int]:
        """The ids that can be read after the next id: none, one or several.

        An id waits while it may begin a stop string, and while it is not known whether it is text. If a stop string
        begins inside a token, tokens of one byte each replace the part before it. After a stop string there are no
        more ids.
        """
        return _flat(self._passed(tid, tid))

    def rest(self) -> list[int]:
        """The ids that still wait, up to a stop string. Read them at the end of the output."""
        return _flat(self._rest())

    def _passed(self, tid: int, piece: Any) -> list[Any]:
        """The pieces that can be passed on after this one, which has the token `tid`."""
        texts, behind = self._texts, self._behind
        if texts.found is not None:
            return []
        if texts.is_free(tid):
            behind.append(tid)
            if len(behind) == _MOST_BEHIND:
                self._catch_up()
            return [piece]
        return texts.take(tid, piece, [*self._catch_up(), *self._ahead.feed(tid)])

    def _rest(self) -> list[Any]:
        """The pieces that still wait, up to a stop string."""
        return self._texts.end([*self._catch_up(), *self._ahead.finish()])

    def _catch_up(self) -> Sequence[Event]:
        """Read the ids that were left for later."""
        behind = self._behind[:]
        self._behind.clear()  # first, because a strict parser may raise
        self._texts.skip(len(behind))
        return self._ahead.feed(behind) if behind else ()


def _flat(pieces: Iterable[Any]) -> list[int]:
    ids: list[int] = []
    for piece in pieces:
        ids += [piece] if isinstance(piece, int) else piece
    return ids


class StopTexts:
    """Searches the text of an output of ids for stop strings. The events of a parser show what is text.

    A tag, a header, or a newline that a tag drops is not text. An id waits until an event shows what it is. This delays
    nothing: until then, a parser has nothing to say about it.
    """

    def __init__(self, stops: Sequence[str], vocab: Vocab, regions: Collection[Region]) -> None:
        self._kinds = tuple(kind for region, kind in _DELTAS.items() if region in regions)
        self._strings = StopStrings(stops, vocab)
        self._vocab = vocab
        self._waiting: deque[tuple[int, int, Any]] = deque()  # the position of an id, the id, and its piece
        self._read = 0  # how many ids the parser has read
        self._may_begin: dict[int, bool] = {}  # by token: does it have the first byte of a stop string?

    @property
    def found(self) -> str | None:
        return self._strings.found

    def is_free(self, tid: int) -> bool:
        """Can this id be passed on, whatever it belongs to? Nothing waits, and no stop string begins in it."""
        if self._waiting or self._strings.holds:
            return False
        may = self._may_begin.get(tid)
        if may is None:
            may = self._may_begin[tid] = self._strings.may_begin(bytes_of(self._vocab, tid))
        return not may

    def take(self, tid: int, piece: Any, events: Sequence[Event]) -> list[Any]:
        """The pieces that can be passed on after this one. events: those of a parser that has read the id."""
        self._waiting.append((self._read, tid, piece))
        self._read += 1
        return self._seen(events)

    def skip(self, count: int) -> None:
        """The parser has read so many ids that are not searched."""
        self._read += count

    def end(self, events: Sequence[Event]) -> list[Any]:
        """The last pieces, up to a stop string. events: those of the parser's `finish`."""
        return [*self._seen(events), *(self.rest() if self.found is None else ())]

    def rest(self) -> list[Any]:
        """The pieces that still wait."""
        rest = [*self._strings.rest(), *(piece for _, _, piece in self._waiting)]
        self._waiting.clear()
        return rest

    def _seen(self, events: Sequence[Event]) -> list[Any]:
        passed: list[Any] = []
        for event in events:
            passed += self._before(event.start, False)
            passed += self._before(event.stop, isinstance(event, self._kinds))
        return passed

    def _before(self, position: int, is_text: bool) -> list[Any]:
        """The pieces up to this position, if they are not part of a stop string."""
        passed: list[Any] = []
        strings = self._strings
        while self._waiting and self._waiting[0][0] < position and strings.found is None:
            _, tid, piece = self._waiting.popleft()
            passed += strings.take(bytes_of(self._vocab, tid), piece) if is_text else [*strings.rest(), piece]
        return passed


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

    def may_begin(self, data: bytes) -> bool:
        """Do these bytes have the first byte of a stop string?"""
        return len(data.translate(None, self._first)) < len(data)

    def take(self, data: bytes, piece: Any) -> list[Any]:
        """The pieces that can be passed on after this one. data: its bytes.

        If a stop string begins inside a piece, tokens of one byte each, or a part of the text, replace it.
        """
        if not self._held and not self.may_begin(data):
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
