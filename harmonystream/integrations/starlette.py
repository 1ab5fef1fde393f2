"""For Starlette and FastAPI: converts a source of tokens to a response of server-sent events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from time import monotonic
from typing import Any, TypeAlias, overload

from ..errors import missing_extra

try:
    from starlette.background import BackgroundTask
    from starlette.responses import Response
    from starlette.types import Message, Receive, Scope, Send
except ImportError as error:
    raise missing_extra("starlette", error) from error

from .source import Failure, Finished, Framed, Parsed, Reader, Reasons, Sampled, Stream, Usages
from .stops import stopping

__all__ = ["EventStreamResponse", "Finished", "Framed", "Sampled", "Stream", "Parsed", "stopping", "whole_response"]

_TICK = 0.1  # seconds between checks of the time limits
PING = b": keep-alive\n\n"  # a comment: no client shows it
FAILED = "The response ended with an internal error."

Hook: TypeAlias = "Callable[[Any], Awaitable[Any] | Any]"

_log = logging.getLogger("harmonystream")


class _GoneError(Exception):
    """The client has disconnected."""


class EventStreamResponse(Response):
    """Feeds the items of `tokens` to `stream`, an emitter that has not started, and sends its frames.

    tokens: yields token ids (an int, or anything else that Parser.feed takes), Sampled, text (str or bytes), Framed, or
    Parsed.
    The last item may be a Finished.
    stream: one emitter, or the list of all emitters of ChatStream.several(). With a list, the source yields
    (choice, item). A (choice, Finished) ends that choice, and a Finished alone ends all open choices. With a list of
    one emitter, the source may yield the item alone.
    reason, usage: the finish reason and the usage of a choice that ends without a Finished. Either may be a function;
    it is called at the end, the one for the usage once. The usage of a Finished has priority.
    send_timeout: if the client accepts nothing for this many seconds, the response is aborted and the source is closed.
    None sets no limit.
    total: after this many seconds, the response is aborted if it waits for the client. None sets no limit.
    keep_alive: after so many seconds without a frame, a comment is sent. None: never.
    error_message: sent to the client if the source or the parser raises: a string, a dict with the arguments of the
    emitter's error(), or a function that takes the exception and returns one of these. The default reveals nothing
    about the exception.
    on_end: called with the stream (the first one of a list) after its end and before its last frame is sent, so that a
    stored response exists when the client asks for it. May be async. It may return a function, which gets the last
    frames and returns what is sent instead, for example because the response could not be stored.
    on_error: called with the exception, which is then not logged. May be async.

    Raises TypeError or ValueError for arguments that cannot become a response.

    One task per response reads the source and sends. No token needs a task of its own. When the client disconnects, the
    task is cancelled, and the source gets CancelledError where it waits. The source may await during cleanup, and is
    not cancelled again.

    Nothing is raised after the last frame. A server would close the connection of a response that raises, and the
    client may already use it for its next request. Exceptions of the source, on_end, on_error and the background task
    are logged by the logger "harmonystream".
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        tokens: AsyncIterable[Any],
        stream: Stream | Sequence[Stream],
        *,
        reason: Reasons = None,
        usage: Usages = None,
        keep_alive: float | None = 15.0,
        send_timeout: float | None = None,
        total: float | None = None,
        error_message: Failure | Callable[[BaseException], Failure] = FAILED,
        on_end: Hook | None = None,
        on_error: Hook | None = None,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        background: BackgroundTask | None = None,
    ) -> None:
        if keep_alive is not None and not keep_alive > 0:
            raise ValueError(f"keep_alive is more than 0 seconds, or None, not {keep_alive!r}")
        for name, seconds in (("send_timeout", send_timeout), ("total", total)):
            if seconds is not None and not seconds > 0:
                raise ValueError(f"{name} is more than 0 seconds, or None, not {seconds!r}")
        self._reader = Reader(tokens, stream, reason, usage)
        self._send_timeout, self._until = send_timeout, None if total is None else monotonic() + total
        self.status_code, self.background = status_code, background
        self.init_headers(headers)
        self.headers.setdefault("cache-control", "no-cache, no-transform")
        self.headers.setdefault("x-accel-buffering", "no")  # nginx and similar proxies would buffer frames
        self._tokens, self._keep_alive, self._error_message = tokens, keep_alive, error_message
        self._on_end, self._on_error = on_end, on_error
        self._sent_at = monotonic()
        self._sending = True  # is the source's task? It begins with the head
        self._comment: asyncio.Event | None = None  # set once the comment that is being sent has been sent
        self._complete = False  # set once the last frame has been sent
        self._ending: asyncio.Future[bytes] | None = None  # on_end, which a disconnect does not interrupt
        self._stopped = False  # have we cancelled the task ourselves?

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send_all(send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await self._attend(sending, gone, send)
            if self._complete:
                await asyncio.wait({sending})  # the source's own cleanup
        finally:
            self._stopped = True
            gone.cancel()
            sending.cancel()
            failure, _ = await asyncio.gather(sending, gone, return_exceptions=True)
            if self._ending is not None:
                await asyncio.wait({self._ending})
        if isinstance(failure, Exception):
            if not self._complete:
                raise failure
            await self._report(failure)
        await self._run_background()

    async def _run_background(self) -> None:
        if self.background is None:
            return
        try:
            await self.background()
        except Exception as error:
            await self._report(error)

    # --- the task of the response ---

    async def _send_all(self, send: Send) -> None:
        reader, take = self._reader, self._reader.take
        feed = None if reader.several else reader.stream.feed
        frames: bytes | None = None  # the last frames; None unless the source itself has ended
        try:
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await self._send(send, head)
            await self._send(send, _body(reader.start()))
            async for item in self._tokens:
                if feed is not None and type(item) is list:  # nearly all items take this path
                    made = feed(item)
                else:
                    made = take(item)
                    if reader.done:
                        frames = made
                        break
                if not made:
                    continue
                if self._comment is not None or self._stopped:
                    await self._send(send, _body(made))
                    continue
                self._sending = True  # the same as in `_send`, but without its frame
                try:
                    await send({"type": "http.response.body", "body": made, "more_body": True})
                except OSError as error:
                    raise _GoneError from error
                self._sending = False
                self._sent_at = monotonic()
            if frames is None:
                frames = reader.finish(Finished())
            await self._send(send, _body(await self._end(frames), last=True), last=True)
        except _GoneError:
            pass
        except (Exception, asyncio.CancelledError) as error:
            if self._stopped or self._complete:
                raise
            await self._fail(send, error)
        finally:
            await _close(self._tokens)

    async def _end(self, frames: bytes) -> bytes:
        """Finish everything on the server before the client can ask for the stored response. Returns the last frames
        that are sent.
        """
        if self._on_end is None:
            return frames
        self._ending = asyncio.ensure_future(self._run_on_end(frames))
        return await asyncio.shield(self._ending)

    async def _run_on_end(self, frames: bytes) -> bytes:
        try:
            changed = await _call(self._on_end, self._reader.streams[0])
            return frames if changed is None else bytes(changed(frames))
        except Exception as error:
            await self._report(error)
            return frames

    async def _fail(self, send: Send, error: BaseException) -> None:
        frames = self._last_words(error)
        frames = await self._end(frames)
        with suppress(_GoneError):
            await self._send(send, _body(frames, last=True), last=True)
        if isinstance(error, asyncio.CancelledError):
            error = _caused(RuntimeError("the source of a response was cancelled"), error)
        await self._report(error)

    async def _report(self, error: BaseException) -> None:
        """Pass an error to on_error, or log it."""
        try:
            if self._on_error is not None:
                await _call(self._on_error, error)
                return
        except Exception as worse:
            _log.error("on_error itself has raised", exc_info=worse)
        _log.error("a response has ended with an error: %r", error, exc_info=error)

    def _last_words(self, error: BaseException) -> bytes:
        say = self._error_message
        try:
            return self._reader.error(say(error) if callable(say) else say)
        except Exception as worse:  # the client's end must not depend on it, so the log gets both
            worse.__context__, error.__context__ = error.__context__, worse  # and not each other: that is for ever
            return self._reader.error(FAILED)

    async def _send(self, send: Send, message: Message, last: bool = False) -> None:
        if self._comment is not None:
            await self._comment.wait()
        if self._stopped:  # the source yields although it was asked to stop
            raise _GoneError
        self._sending = True
        self._complete = last  # set before sending, because servers report a disconnect after a whole response
        try:
            await send(message)
        except OSError as error:  # servers raise this if the client is gone
            raise _GoneError from error
        self._sending = False
        self._sent_at = monotonic()

    # --- beside the task ---

    async def _attend(self, sending: asyncio.Future[None], gone: asyncio.Future[None], send: Send) -> None:
        """Until all is sent, or the client is gone or takes nothing: comments while the source is silent."""
        seen, since = 0.0, 0.0  # of the frame that is being sent: when the one before it was sent; since when it waits
        while True:
            await asyncio.wait({sending, gone}, timeout=self._until_look(), return_when=asyncio.FIRST_COMPLETED)
            if sending.done() or gone.done():
                return
            now = monotonic()
            if self._sending:  # a slow client does not count as silence
                if seen != self._sent_at:
                    seen, since = self._sent_at, now
                if self._is_over(now, since):
                    _log.warning("a client is left that does not read its response")
                    return
                continue
            silent = not self._complete and self._keep_alive is not None and now >= self._sent_at + self._keep_alive
            if silent and not await self._comment_on_silence(gone, send):
                return

    def _until_look(self) -> float | None:
        """Seconds until a limit may be reached. None if there is none."""
        times = [self._send_timeout]
        if self._keep_alive is not None:
            silent = 0.0 if self._sending or self._complete else monotonic() - self._sent_at
            times.append(self._keep_alive - silent if silent < self._keep_alive else self._keep_alive)
        if self._until is not None:
            times.append(max(self._until - monotonic(), _TICK))
        return min((time for time in times if time is not None), default=None)

    def _is_over(self, now: float, since: float) -> bool:
        """Has the client, which has accepted nothing since then, used all of its time?"""
        return (self._send_timeout is not None and now - since >= self._send_timeout) or (
            self._until is not None and now >= self._until
        )

    async def _comment_on_silence(self, gone: asyncio.Future[None], send: Send) -> bool:
        """Send a comment. Does the client still accept data?"""
        self._comment = asyncio.Event()
        commenting: asyncio.Future[Any] = asyncio.ensure_future(_sent(send, _body(PING)))
        try:
            waiting: set[asyncio.Future[Any]] = {commenting, gone}
            await asyncio.wait(waiting, timeout=self._send_timeout, return_when=asyncio.FIRST_COMPLETED)
            self._sent_at = monotonic()
            return bool(commenting.done() and commenting.result())
        finally:
            commenting.cancel()
            await asyncio.gather(commenting, return_exceptions=True)
            self._comment.set()
            self._comment = None


async def _sent(send: Send, message: Message) -> bool:
    try:
        await send(message)
    except OSError:
        return False
    return True


@overload
async def whole_response(
    tokens: AsyncIterable[Any],
    stream: Stream | Sequence[Stream],
    *,
    reason: Reasons = None,
    usage: Usages = None,
    on_end: Hook | None = None,
    receive: None = None,
) -> dict[str, Any]: ...
@overload
async def whole_response(
    tokens: AsyncIterable[Any],
    stream: Stream | Sequence[Stream],
    *,
    receive: Receive,
    reason: Reasons = None,
    usage: Usages = None,
    on_end: Hook | None = None,
) -> dict[str, Any] | None: ...
async def whole_response(
    tokens: AsyncIterable[Any],
    stream: Stream | Sequence[Stream],
    *,
    reason: Reasons = None,
    usage: Usages = None,
    on_end: Hook | None = None,
    receive: Receive | None = None,
) -> dict[str, Any] | None:
    """The response object for a request without streaming. Raises what the source and the parser raise.

    receive: the request's. When the client disconnects, the source is cancelled as in a stream, and the result is None.
    on_end: called with the stream, or the first of several, before this returns. It may be async.
    """
    reader = Reader(tokens, stream, reason, usage)
    if receive is None:
        return await _whole(reader, tokens, on_end)
    reading = asyncio.ensure_future(_whole(reader, tokens, on_end))
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        complete = reading.done()
        reading.cancel()
        gone.cancel()
        await asyncio.gather(reading, gone, return_exceptions=True)
    return reading.result() if complete else None


async def _whole(reader: Reader, tokens: AsyncIterable[Any], on_end: Hook | None) -> dict[str, Any]:
    try:
        reader.start()
        async for item in tokens:
            reader.take(item)
            if reader.done:
                break
        if not reader.done:
            reader.finish(Finished())
        await _call(on_end, reader.streams[0])
        return reader.streams[0].response()
    finally:
        await _close(tokens)


async def _call(hook: Hook | None, about: Any) -> Any:
    made = None if hook is None else hook(about)
    return await made if isawaitable(made) else made


def _caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def _body(frames: bytes, last: bool = False) -> Message:
    return {"type": "http.response.body", "body": frames, "more_body": not last}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _close(tokens: AsyncIterable[Any]) -> None:
    close = getattr(tokens, "aclose", None)
    if close is not None:
        await close()
