"""Stop strings: a source of tokens that ends where the first of them begins."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterator, Sequence
from typing import Any, TypeAlias

from .._native.stream.parser import Parser
from ..emit.common.stream import EventStream
from ..regions import Region
from ..text_limit import spelled
from .source import Finished, Framed, Sampled

__all__ = ["stopping"]

_Held: TypeAlias = "tuple[bytes, Any]"  # what an item says, and the item


def stopping(
    source: AsyncIterable[Any],
    stops: str | Sequence[str] | None,
    streams: EventStream | Sequence[EventStream],
    *,
    regions: Collection[Region] = (Region.CONTENT,),
) -> AsyncIterator[Any]:
    """The items of `source` up to the first of the stop strings, and then a Finished that names it.

    stops: the stop strings of the request. None or an empty list: the whole source is passed on.
    streams: the emitters of the response, as EventStreamResponse takes them. With a list, the source yields
    (choice, item).
    regions: a stop string counts only in tokens that land in these regions. Text has no regions: there stop strings are
    found everywhere, also in markers.

    Ids are yielded one by one. Ids that may be the beginning of a stop string wait until that is decided. If a stop
    string begins inside a token, tokens of one byte each replace the part before it. The usage counts all ids that were
    read, those of the stop string included.

    Raises TypeError or ValueError for invalid stop strings, and TypeError for an item that a source may not yield.
    """
    given = [stops] if isinstance(stops, str) else list(stops or ())
    if not all(isinstance(stop, str) for stop in given):
        raise TypeError("stop strings are a str or a list of them")
    if not all(given):
        raise ValueError("a stop string has at least one character")
    several = isinstance(streams, Sequence)
    opened: list[EventStream] = list(streams) if isinstance(streams, Sequence) else [streams]
    watches = [_Watch(stream.parser, [stop.encode() for stop in given], regions) for stream in opened]
    return _cut(source, watches, several) if given else aiter(source)


async def _cut(source: AsyncIterable[Any], watches: list[_Watch], several: bool) -> AsyncIterator[Any]:
    try:
        async for item in source:
            choice = 0
            if several and isinstance(item, tuple) and len(item) == 2:
                choice, item = item
            elif isinstance(item, Finished):  # of all that are open
                for choice, watch in enumerate(watches):
                    for made in watch.rest():
                        yield (choice, made) if several else made
                yield item
                return
            watch = watches[choice]
            if watch.ended:
                continue
            for made in watch.take(item):
                yield (choice, made) if several else made
            if watch.stop is not None:
                last = all(one.ended for one in watches)
                end = Finished(stop=watch.stop, usage=_usage(watches) if last else None)
                yield (choice, end) if several else end
            if all(one.ended for one in watches):
                return
        for choice, watch in enumerate(watches):
            for made in watch.rest():
                yield (choice, made) if several else made
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def _usage(watches: list[_Watch]) -> dict[str, int] | None:
    counts = [watch.read for watch in watches]
    return None if None in counts else {"completion_tokens": sum(count for count in counts if count is not None)}


class _Watch:
    """One choice: its items that are held back, and how much of each stop string they match."""

    def __init__(self, parser: Parser, stops: list[bytes], regions: Collection[Region]) -> None:
        self.parser, self.regions = parser, regions
        self.matches = [_Match(stop) for stop in sorted(stops, key=len, reverse=True)]
        """The longer first, which is the one that is found where two end together."""
        self.first = bytes({stop[0] for stop in stops})
        self.held: deque[_Held] = deque()
        self.size = 0  # of what is held, in bytes
        self.read: int | None = 0  # ids; None: it is text
        self.stop: str | None = None  # the one that was found
        self.ended = False

    def take(self, item: Any) -> Iterator[Any]:
        """The items that can be passed on after this one."""
        if isinstance(item, Finished):
            self.ended = True
            yield from self.rest()
            yield item
        elif isinstance(item, Framed):
            raise TypeError("stopping() reads tokens or text, not Framed, whose frames have been made")
        elif isinstance(item, (str, bytes)):
            self.read = None
            yield from self._watched(item.encode() if isinstance(item, str) else item, item)
        else:
            yield from self._ids(item)

    def rest(self) -> Iterator[Any]:
        """The items still held back, which are not part of a stop string."""
        held, self.held, self.size = self.held, deque(), 0
        for match in self.matches:
            match.length = 0
        yield from (item for _, item in held)

    def _ids(self, item: Any) -> Iterator[Any]:
        sampled = item if isinstance(item, Sampled) else Sampled(item)
        ids = EventStream._listed(sampled.ids)
        if sampled.logprobs is not None and len(sampled.logprobs) != len(ids):
            raise ValueError(f"{len(sampled.logprobs)} logprobs for {len(ids)} tokens")
        for at, tid in enumerate(ids):
            self.read = None if self.read is None else self.read + 1
            one = tid if sampled.logprobs is None else Sampled([tid], [sampled.logprobs[at]])
            if self.parser.vocab.is_control(tid):
                yield from self.rest()
                yield one
            elif self.held or self.parser.region in self.regions:
                yield from self._watched(self.parser.vocab.token_bytes(tid), one)
            else:
                yield one
            if self.stop is not None:
                return

    def _watched(self, said: bytes, item: Any) -> Iterator[Any]:
        if not self.held and len(said.translate(None, self.first)) == len(said):
            yield item
            return
        self.held.append((said, item))
        for at, byte in enumerate(said):
            for match in self.matches:
                if match.step(byte):
                    self.stop, self.ended = match.stop.decode(), True
                    yield from self._before(self.size + at + 1 - len(match.stop))
                    return
        self.size += len(said)
        needed = max(match.length for match in self.matches)
        while self.held and self.size - len(self.held[0][0]) >= needed:
            free, one = self.held.popleft()
            self.size -= len(free)
            yield one

    def _before(self, size: int) -> Iterator[Any]:
        """The first bytes of what is held."""
        for said, item in self.held:
            if size < len(said):
                if size:
                    yield said[:size] if self.read is None else spelled(self.parser.vocab, said[:size])
                return
            size -= len(said)
            yield item


class _Match:
    """Knuth, Morris and Pratt: how much of a stop string the text ends with, byte by byte."""

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
        """Is it all there?"""
        self.length = self._after(self.length, byte)
        return self.length == len(self.stop)
