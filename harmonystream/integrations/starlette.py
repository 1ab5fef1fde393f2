"""For Starlette and FastAPI: a source of tokens in, a response of server-sent events out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeAlias

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

__all__ = ["EventStreamResponse", "Finished", "Stream", "whole_response"]

PING = b": keep-alive\n\n"  # a comment: no client shows it

_Usage = dict[str, Any]
_Reasons: TypeAlias = "str | Callable[[], str | None] | None"
_Usages: TypeAlias = "_Usage | Callable[[], _Usage | None] | None"


class Stream(Protocol):
    """What all emitters have: ChatStream, ResponsesStream, MessagesStream."""

    def start(self) -> bytes: ...
    def feed(self, ids: Any, /) -> bytes: ...
    def feed_text(self, text: str | bytes, /) -> bytes: ...
    def finish(self, reason: str | None = None, usage: _Usage | None = None) -> bytes: ...
    def error(self, message: str) -> bytes: ...
    def response(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Finished:
    """A source may yield it as its last item: why the engine stopped, and the API's usage object."""

    reason: str | None = None
    usage: _Usage | None = None


class _GoneError(Exception):
    """The client is."""


class EventStreamResponse(Response):
    """Streams what `tokens` yields through `stream`, an emitter that has not started.

    tokens: yields token ids (an int, or whatever else Parser.feed takes) or text (str, bytes), and may end with a
    Finished. reason, usage: what a source that ends without one is finished with; or functions, called then.
    keep_alive: seconds of silence after which a comment is sent; None: never. error_message: what the client is told
    when the source or the parser raises, or a function of the exception; by default nothing of the exception.

    One task per response reads the source and sends; none per token. When the client is gone it is cancelled, so that
    the source sees CancelledError where it waits, and what it awaits while it cleans up is not cancelled again. An
    exception is raised again once the client has its terminal event, for the server's log.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        tokens: AsyncIterable[Any],
        stream: Stream,
        *,
        reason: _Reasons = None,
        usage: _Usages = None,
        keep_alive: float | None = 15.0,
        error_message: str | Callable[[BaseException], str] = "The response ended with an internal error.",
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
    ) -> None:
        self.status_code, self.background = status_code, background
        self.init_headers(headers)
        self.headers.setdefault("cache-control", "no-cache, no-transform")
        self.headers.setdefault("x-accel-buffering", "no")  # nginx and its kin would collect frames
        self._tokens, self._stream, self._keep_alive = tokens, stream, keep_alive
        self._reason, self._usage, self._error_message = reason, usage, error_message
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
            await self._send(send, _body(self._stream.start()))
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
        stream = self._stream
        async for item in self._tokens:
            if isinstance(item, Finished):
                return _finish(stream, item, self._reason, self._usage)
            frames = _feed(stream, item)
            if frames:
                await self._send(send, _body(frames))
        return _finish(stream, Finished(), self._reason, self._usage)

    async def _fail(self, send: Send, error: BaseException) -> None:
        say = self._error_message
        with suppress(_GoneError):
            frames = self._stream.error(say if isinstance(say, str) else say(error))
            await self._send(send, _body(frames, last=True), last=True)
        if isinstance(error, Exception):
            raise error
        raise RuntimeError("the source of a response was cancelled") from error

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
    stream: Stream,
    *,
    reason: _Reasons = None,
    usage: _Usages = None,
) -> dict[str, Any]:
    """The same for a request without streaming: the response object. Raises what the source and the parser raise."""
    stream.start()
    try:
        end = Finished()
        async for item in tokens:
            if isinstance(item, Finished):
                end = item
                break
            _feed(stream, item)
        _finish(stream, end, reason, usage)
        return stream.response()
    finally:
        await _close(tokens)


def _body(frames: bytes, last: bool = False) -> Message:
    return {"type": "http.response.body", "body": frames, "more_body": not last}


def _feed(stream: Stream, item: Any) -> bytes:
    return stream.feed_text(item) if isinstance(item, (str, bytes)) else stream.feed(item)


def _finish(stream: Stream, end: Finished, reason: _Reasons, usage: _Usages) -> bytes:
    why = reason() if callable(reason) else reason
    used = usage() if callable(usage) else usage
    return stream.finish(why if end.reason is None else end.reason, used if end.usage is None else end.usage)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _close(tokens: AsyncIterable[Any]) -> None:
    close = getattr(tokens, "aclose", None)
    if close is not None:
        await close()
