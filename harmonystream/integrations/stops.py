"""Stop strings: ends a source of tokens where the first stop string begins."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterator, Sequence
from typing import Any

from .._native.stream.parser import Parser
from ..emit.common.stream import EventStream
from ..regions import Region
from ..stop_strings import StopChecker, StopStrings, stops_of
from .source import Finished, Framed, Sampled

__all__ = ["stopping"]


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
    regions: a stop string counts only in the text of these regions: CONTENT, REASONING, ARGUMENTS. A source of text has
    no regions, so stop strings are found everywhere in it, even in markers.

    Ids are yielded one by one. An id waits while it may begin a stop string, and until it is known whether it is text.
    If a stop string begins inside a token, tokens of one byte each replace the part before it. The usage counts all ids
    that were read, including those of the stop string.

    Raises TypeError or ValueError for invalid stop strings, and TypeError for an item that a source may not yield.
    """
    given = stops_of(stops)
    several = isinstance(streams, Sequence)
    opened: list[EventStream] = list(streams) if isinstance(streams, Sequence) else [streams]
    watches = [_Watch(stream.parser, given, regions) for stream in opened]
    return _cut(source, watches, several) if given else aiter(source)


async def _cut(source: AsyncIterable[Any], watches: list[_Watch], several: bool) -> AsyncIterator[Any]:
    try:
        async for item in source:
            choice = 0
            if several and isinstance(item, tuple) and len(item) == 2:
                choice, item = item
            elif isinstance(item, Finished):  # it ends all open choices
                for choice, watch in enumerate(watches):
                    for made in () if watch.ended else watch.items(item):
                        if not several or made is not item:
                            yield (choice, made) if several else made
                if several:
                    yield item
                return
            watch = watches[choice]
            if watch.ended:
                continue
            for made in watch.items(item):
                yield (choice, made) if several else made
            if watch.found is not None and not isinstance(item, Finished):
                last = all(one.ended for one in watches)
                end = Finished(stop=watch.found, usage=_usage(watches) if last else None)
                yield (choice, end) if several else end
            if all(one.ended for one in watches):
                return
        for choice, watch in enumerate(watches):
            for made in () if watch.ended else watch.items(Finished()):
                if made != Finished():
                    yield (choice, made) if several else made
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def _usage(watches: list[_Watch]) -> dict[str, int] | None:
    counts = [watch.read for watch in watches]
    return None if None in counts else {"completion_tokens": sum(count for count in counts if count is not None)}


class _Watch(StopChecker):
    """One choice, and its stop strings. read: how many ids have arrived. None: it is text."""

    def __init__(self, parser: Parser, stops: Sequence[str], regions: Collection[Region]) -> None:
        super().__init__(stops, parser, regions=regions)
        self._in_text = StopStrings(stops, parser.vocab)  # for a source of text
        self.read: int | None = 0
        self.ended = False

    def items(self, item: Any) -> Iterator[Any]:
        """The items that can be passed on after this one."""
        if isinstance(item, Finished):
            self.ended = True
            yield from self._rest()
            yield item if self.found is None else Finished(stop=self.found, usage=item.usage)
        elif isinstance(item, Framed):
            raise TypeError("stopping() reads tokens or text, not Framed, whose frames have been made")
        elif isinstance(item, (str, bytes)):
            self.read = None
            yield from self._in_text.take(item.encode() if isinstance(item, str) else item, item)
        else:
            yield from self._ids(item)
        self.ended = self.ended or self.found is not None

    @property
    def found(self) -> str | None:
        return super().found or self._in_text.found

    def _rest(self) -> list[Any]:
        return [*super()._rest(), *self._in_text.rest()]

    def _ids(self, item: Any) -> Iterator[Any]:
        sampled = item if isinstance(item, Sampled) else Sampled(item)
        ids = EventStream._listed(sampled.ids)
        if sampled.logprobs is not None and len(sampled.logprobs) != len(ids):
            raise ValueError(f"{len(sampled.logprobs)} logprobs for {len(ids)} tokens")
        for at, tid in enumerate(ids):
            self.read = None if self.read is None else self.read + 1
            yield from self._passed(tid, tid if sampled.logprobs is None else Sampled([tid], [sampled.logprobs[at]]))
            if self.found is not None:
                return
