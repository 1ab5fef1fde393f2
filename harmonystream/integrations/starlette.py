"""For Starlette and FastAPI: a source of tokens in, a response of server-sent events out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import signature
from time import monotonic
from typing import Any, Protocol, TypeAlias

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ..emit.chat import ChatStream

__all__ = ["EventStreamResponse", "Finished", "Stream", "Tokens", "whole_response"]

PING = b": keep-alive\n\n"  # a comment: no client shows it
FAILED = "The response ended with an internal error."

_Usage = dict[str, Any]
_Reasons: TypeAlias = "str | Callable[[], str | None] | None"
_Usages: TypeAlias = "_Usage | Callable[[], _Usage | None] | None"
_Said: TypeAlias = "str | Mapping[str, str | None]"


class Stream(Protocol):
    """What all emitters have: ChatStream, ResponsesStream, MessagesStream."""

    @property
    def is_new(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    def start(self) -> bytes: ...
    def feed(self, ids: Any, /, logprobs: Any = None) -> bytes: ...
    def feed_text(self, text: str | bytes, /) -> bytes: ...
    def finish(self, reason: str | None = None, usage: _Usage | None = None) -> bytes: ...
    def error(self, message: str) -> bytes: ...
    def response(self) -> dict[str, Any]: ...


class _Told:
    """What a source yields beside ids and text: one check for each token, not one for each class."""

    def _tell(self, reader: _Reader) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True)
class Tokens(_Told):
    """Ids, and the API's logprobs object for each, as ChatStream.feed takes them; other APIs' streams refuse them."""

    ids: Any
    logprobs: Sequence[dict[str, Any]] | None = None

    def _tell(self, reader: _Reader) -> bytes:
        return reader.stream.feed(self.ids, self.logprobs)


@dataclass(frozen=True)
class Finished(_Told):
    """A source may yield it as its last item: why the engine stopped, and the API's usage object.

    stop_sequence: the stop string that ended it; the reason is "stop" then, unless given. Messages tells the client
    which one it was, and so does Chat Completions, as `stop_reason`; Responses has no word for it.
    """

    reason: str | None = None
    usage: _Usage | None = None
    stop_sequence: str | None = None

    def _tell(self, reader: _Reader) -> bytes:
        return reader.finish_one(self)


class _Reader:
    """Makes frames of a source's items. streams: one; or a sequence, all choices of a request."""

    def __init__(self, tokens: object, streams: Stream | Sequence[Stream], reason: _Reasons, usage: _Usages) -> None:
        if not hasattr(tokens, "__aiter__"):
            raise TypeError(f"tokens is an async iterator, such as an async generator, not {type(tokens).__name__}")
        self.several = isinstance(streams, Sequence)
        self.streams: list[Stream] = list(streams) if isinstance(streams, Sequence) else [streams]
        first = self.streams[0] if self.streams else None
        if self.streams != (list(first._streams) if isinstance(first, ChatStream) else [first]):
            raise ValueError("a response takes all streams of one ChatStream.several(), in order, or a single stream")
        if not all(stream.is_new for stream in self.streams):
            raise ValueError("this stream has started already: each response needs a new one")
        self.stream = self.streams[0]  # the one whose turn it is
        self.done = False  # have all choices finished?
        self._reason, self._usage = reason, usage
        self._unsent = b""

    def start(self) -> bytes:
        return b"".join([stream.start() for stream in self.streams])

    @property
    def take(self) -> Callable[[Any], bytes]:
        """Item -> frames."""
        return self._take_pair if self.several else self._take

    def _take(self, item: Any) -> bytes:
        if isinstance(item, _Told):
            return item._tell(self)
        return self.stream.feed_text(item) if isinstance(item, (str, bytes)) else self.stream.feed(item)

    def _take_pair(self, pair: Any) -> bytes:
        if isinstance(pair, Finished):
            return self.finish(pair)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"the source of several streams yields (choice, item), not {type(pair).__name__}")
        choice, item = pair
        if choice not in range(len(self.streams)):
            raise ValueError(f"the source speaks for choice {choice!r} of {len(self.streams)}")
        self.stream = self.streams[choice]
        return self._take(item)

    def finish(self, end: Finished) -> bytes:
        """The last frames of all choices that are open."""
        opened = [stream for stream in self.streams if not stream.ended]
        for self.stream in opened:
            last = self.stream is opened[-1]
            self._unsent += self.finish_one(end if last else replace(end, usage=None))
        return self._unsent

    def finish_one(self, end: Finished) -> bytes:
        """The last frames of this one's turn."""
        stream, reason, usage, more = self.stream, end.reason, end.usage, {}
        last = all(one.ended for one in self.streams if one is not stream)
        if end.stop_sequence is not None:
            reason = "stop" if reason is None else reason
            taken = signature(stream.finish).parameters
            more = {name: end.stop_sequence for name in ("stop_sequence", "stop_reason") if name in taken}
        if reason is None:
            reason = self._reason() if callable(self._reason) else self._reason
        if usage is None and last:  # it is the whole request's
            usage = self._usage() if callable(self._usage) else self._usage
        frames = stream.finish(reason, usage, **more)
        self.done = last
        return frames

    def error(self, said: _Said) -> bytes:
        """The last frames of a response that cannot go on; those of the stream that broke, if it has not ended."""
        more = {"message": said} if isinstance(said, str) else dict(said)
        if not more.get("message") or not all(isinstance(value, str) for value in more.values() if value is not None):
            raise TypeError(f"error_message is a text, or a dict of error()'s arguments, not {said!r}")
        for stream in (self.stream, *self.streams):
            if not stream.ended:
                return self._unsent + stream.error(**more)
        return self._unsent


class _GoneError(Exception):
    """The client is."""


class EventStreamResponse(Response):
    """Streams what `tokens` yields through `stream`, an emitter that has not started.

    tokens: yields token ids (an int, or whatever else Parser.feed takes), Tokens, or text (str, bytes), and may end
    with a Finished. stream: or a list, all of ChatStream.several(); the source then yields (choice, item), where a
    Finished ends its choice, the last one the response, and a Finished by itself all that are open. reason, usage: of
    what ends without; or functions, called then, the usage's once. keep_alive: seconds of silence after which a comment
    is sent; None: never. error_message: what the client is told when the source or the parser raises, a text or a dict
    of the arguments of the emitter's error(); or a function of the exception that gives one; by default nothing of the
    exception. Raises TypeError or ValueError for what cannot become a response.

    One task per response reads the source and sends; none per token. When the client is gone it is cancelled, so that
    the source sees CancelledError where it waits, and what it awaits while it cleans up is not cancelled again. An
    exception is raised again once the client has its terminal event, for the server's log.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        tokens: AsyncIterable[Any],
        stream: Stream | Sequence[Stream],
        *,
        reason: _Reasons = None,
        usage: _Usages = None,
        keep_alive: float | None = 15.0,
        error_message: _Said | Callable[[BaseException], _Said] = FAILED,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
    ) -> None:
        if keep_alive is not None and not keep_alive > 0:
            raise ValueError("keep_alive is seconds > 0, or None")
        self._reader = _Reader(tokens, stream, reason, usage)
        self.status_code, self.background = status_code, background
        self.init_headers(headers)
        self.headers.setdefault("cache-control", "no-cache, no-transform")
        self.headers.setdefault("x-accel-buffering", "no")  # nginx and its kin would collect frames
        self._tokens, self._keep_alive, self._error_message = tokens, keep_alive, error_message
        self._sent_at = monotonic()
        self._sending = True  # is the source's task? It begins with the head
        self._comment: asyncio.Event | None = None  # is a comment being sent? Set when it is
        self._complete = False  # has the last frame been sent?
        self._stopped = False  # is a cancellation ours?

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send_all(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await self._attend(sending, gone, send)
            if self._complete:
                await asyncio.wait({sending})  # the source's own end
        finally:
            self._stopped = True
            gone.cancel()
            sending.cancel()
            failure, _ = await asyncio.gather(sending, gone, return_exceptions=True)
        if isinstance(failure, Exception):
            raise failure
        if self.background is not None:
            await self.background()

    # --- the task of the response ---

    async def _send_all(self, send: Send) -> None:
        try:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await self._send(send, head)
            await self._send(send, _body(self._reader.start()))
            await self._send(send, _body(await self._through(send), last=True), last=True)
        except _GoneError:
            pass
        except (Exception, asyncio.CancelledError) as error:
            if self._stopped or self._complete:
                raise
            await self._fail(send, error)
        finally:
            await _close(self._tokens)

    async def _through(self, send: Send) -> bytes:
        """Sends what the source's items make; the last frames."""
        reader, take = self._reader, self._reader.take
        async for item in self._tokens:
            frames = take(item)
            if reader.done:
                return frames
            if frames:
                await self._send(send, _body(frames))
        return reader.finish(Finished())

    async def _fail(self, send: Send, error: BaseException) -> None:
        with suppress(_GoneError):
            await self._send(send, _body(self._last_words(error), last=True), last=True)
        if isinstance(error, Exception):
            raise error
        raise RuntimeError("the source of a response was cancelled") from error

    def _last_words(self, error: BaseException) -> bytes:
        say = self._error_message
        try:
            return self._reader.error(say(error) if callable(say) else say)
        except Exception as worse:  # the client's end must not depend on it; the log has both
            worse.__context__, error.__context__ = error.__context__, worse  # and not each other: that is for ever
            return self._reader.error(FAILED)

    async def _send(self, send: Send, message: Message, last: bool = False) -> None:
        if self._comment is not None:
            await self._comment.wait()
        if self._stopped:  # and yet the source goes on
            raise _GoneError
        self._sending = True
        self._complete = last  # before it is sent: servers say "disconnected" behind a whole response
        try:
            await send(message)
        except OSError as error:  # what servers raise if the client is gone
            raise _GoneError from error
        self._sending = False
        self._sent_at = monotonic()

    # --- beside it ---

    async def _attend(self, sending: asyncio.Future[None], gone: asyncio.Future[None], send: Send) -> None:
        """Until all is sent or the client is gone: comments while the source is silent."""
        due = self._keep_alive
        while True:
            await asyncio.wait({sending, gone}, timeout=due, return_when=asyncio.FIRST_COMPLETED)
            if sending.done() or gone.done():
                return
            assert self._keep_alive is not None  # there was a timeout
            due = self._sent_at + self._keep_alive - monotonic()
            if due > 0:
                continue
            due = self._keep_alive
            if self._sending or self._complete:
                continue  # a slow client is no silence
            self._comment = asyncio.Event()
            try:
                await send(_body(PING))
            except OSError:
                return
            finally:
                self._comment.set()
                self._comment = None


async def whole_response(
    tokens: AsyncIterable[Any],
    stream: Stream | Sequence[Stream],
    *,
    reason: _Reasons = None,
    usage: _Usages = None,
) -> dict[str, Any]:
    """The same for a request without streaming: the response object. Raises what the source and the parser raise."""
    reader = _Reader(tokens, stream, reason, usage)
    try:
        reader.start()
        async for item in tokens:
            reader.take(item)
            if reader.done:
                break
        if not reader.done:
            reader.finish(Finished())
        return reader.streams[0].response()
    finally:
        await _close(tokens)


def _body(frames: bytes, last: bool = False) -> Message:
    return {"type": "http.response.body", "body": frames, "more_body": not last}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _close(tokens: AsyncIterable[Any]) -> None:
    close = getattr(tokens, "aclose", None)
    if close is not None:
        await close()
