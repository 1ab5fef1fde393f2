"""The items of a token source, and the frames that streams make of them. Independent of any server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Protocol, TypeAlias

from ..checks import shown
from ..emit.chat import ChatStream
from ..emit.common.usage import CHAT, counted
from ..engines.base import Arrived, Finished, Sampled

__all__ = ["Failure", "Finished", "Framed", "Reader", "Sampled", "Stream", "Parsed", "Usages"]

_Usage = Mapping[str, Any]
Reasons: TypeAlias = "str | Callable[[], str | None] | None"
Usages: TypeAlias = "_Usage | Callable[[], _Usage | None] | None"
Failure: TypeAlias = "str | Mapping[str, str | None]"


class Stream(Protocol):
    """The common interface of ChatStream, ResponsesStream and MessagesStream."""

    @property
    def is_new(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    def start(self) -> bytes: ...
    def feed(self, ids: Any, /, logprobs: Any = None) -> bytes: ...
    def feed_text(self, text: str | bytes, /) -> bytes: ...
    def feed_events(self, events: Iterable[Any]) -> bytes: ...
    def finish(self, reason: Any = None, usage: Any = None) -> bytes: ...
    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes: ...
    def response(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Framed:
    """Frames that the stream has already made, such as in a `Batch`. They are sent unchanged.

    The frames of the stream's finish() end the response.
    """

    frames: bytes


@dataclass(frozen=True)
class Parsed:
    """Events of other parsers, such as those of `agent_loop`, for an emitter's `feed_events()`.

    A response has either these or tokens. Its `Finished` should have the usage.
    """

    events: Iterable[Any]


_MARKED = (Arrived, Finished, Framed, Sampled, Parsed)


class Reader:
    """Makes frames from a source's items. streams: one stream, or a sequence with all choices of a request."""

    def __init__(self, tokens: object, streams: Stream | Sequence[Stream], reason: Reasons, usage: Usages) -> None:
        if not hasattr(tokens, "__aiter__"):
            raise TypeError(f"tokens is an async iterator, such as an async generator, not {type(tokens).__name__}")
        self.several = isinstance(streams, Sequence)
        self.streams: list[Stream] = list(streams) if isinstance(streams, Sequence) else [streams]
        first = self.streams[0] if self.streams else None
        if self.streams != (list(first._streams) if isinstance(first, ChatStream) else [first]):
            raise ValueError("a response takes all streams of one ChatStream.several(), in order, or a single stream")
        for stream in self.streams:
            if not hasattr(stream, "is_new"):
                raise TypeError(f"a stream is a ChatStream, ResponsesStream or MessagesStream, not {shown(stream)}")
        if not all(stream.is_new for stream in self.streams):
            raise ValueError("this stream has started already: each response needs a new one")
        self.stream = self.streams[0]  # the stream of the current item
        self.done = False  # have all choices finished?
        self._reason, self._usage = reason, usage
        self._unsent = b""

    def start(self) -> bytes:
        return b"".join([stream.start() for stream in self.streams])

    @property
    def take(self) -> Callable[[Any], bytes]:
        """A function from an item to frames."""
        return self._take_pair if self.several else self._take

    def _take(self, item: Any) -> bytes:
        if isinstance(item, _MARKED):
            return self._take_marked(item)
        return self.stream.feed_text(item) if isinstance(item, (str, bytes)) else self.stream.feed(item)

    def _take_marked(self, item: Arrived | Finished | Framed | Sampled | Parsed) -> bytes:
        if isinstance(item, Finished):
            return self._finish_one(item)
        if isinstance(item, Arrived):
            return self._take_arrived(item.items)
        if isinstance(item, Parsed):
            return self.stream.feed_events(item.events)
        if isinstance(item, Sampled):
            return self.stream.feed(item.ids, item.logprobs)
        if not isinstance(item.frames, bytes):
            raise TypeError(f"Framed has the frames of a stream as bytes, not {type(item.frames).__name__}")
        self.done = all(stream.ended for stream in self.streams)
        return item.frames

    def _take_arrived(self, items: Sequence[Any]) -> bytes:
        """The frames of items that arrived together. If one raises, the frames of those before it are sent, too."""
        frames, feed = self._unsent, self.stream.feed
        for item in items:
            self._unsent = frames
            frames += feed(item) if type(item) is list else self._take(item)
            if self.done:
                break
        self._unsent = b""
        return frames

    def _take_pair(self, pair: Any) -> bytes:
        if isinstance(pair, Finished):
            return self.finish(pair)
        if not isinstance(pair, tuple) or len(pair) != 2:
            if len(self.streams) == 1 and not isinstance(pair, tuple):
                return self._take(pair)
            raise TypeError(f"the source of several streams yields (choice, item), not {type(pair).__name__}")
        choice, item = pair
        if choice not in range(len(self.streams)):
            raise ValueError(f"the source yielded choice {choice!r}, and the choices are 0 to {len(self.streams) - 1}")
        self.stream = self.streams[choice]
        return self._take(item)

    def finish(self, end: Finished) -> bytes:
        """The last frames of all choices that are open."""
        opened = [stream for stream in self.streams if not stream.ended]
        for self.stream in opened:
            last = self.stream is opened[-1]
            self._unsent += self._finish_one(end if last else replace(end, usage=None))
        return self._unsent

    def _finish_one(self, end: Finished) -> bytes:
        """The last frames of the current stream."""
        stream, reason, usage, more = self.stream, end.reason, end.usage, {}
        last = all(one.ended for one in self.streams if one is not stream)
        if end.stop is not None:
            reason = "stop" if reason is None else reason
            taken = signature(stream.finish).parameters
            more = {name: end.stop for name in ("stop_sequence", "stop_reason") if name in taken}
        if reason is None:
            reason = self._reason() if callable(self._reason) else self._reason
        if last:  # the usage covers the whole request
            known = self._usage() if callable(self._usage) else self._usage
            if usage is None or known is None:
                usage = known if usage is None else usage
            else:  # translated to one API, so that the source's own counts win
                usage = {**(counted(known, CHAT) or {}), **(counted(usage, CHAT) or {})}
        frames = stream.finish(reason, usage, **more)
        self.done = last
        return frames

    def error(self, failure: Failure) -> bytes:
        """The last frames after a failure. They are those of the stream that failed, if it has not ended."""
        more = {"message": failure} if isinstance(failure, str) else dict(failure)
        if not more.get("message") or not all(isinstance(value, str) for value in more.values() if value is not None):
            raise TypeError(f"error_message must be a string, or a dict of error()'s arguments, not {failure!r}")
        for stream in (self.stream, *self.streams):
            if not stream.ended:
                return self._unsent + stream.error(**more)
        return self._unsent
