"""The shared part of adapters for HTTP servers: a session, requests, and the JSON objects of an event stream."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..checks import check_number, check_text
from ..errors import EngineError, missing_extra

try:
    import aiohttp
except ImportError as error:
    raise missing_extra("engines", error) from error
try:
    import orjson

    loads: Callable[[bytes], Any] = orjson.loads
except ImportError:  # it is only faster
    loads = json.loads

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["EventSource", "HttpEngine", "SseReader", "loads", "object_of", "taken"]

MAX_EVENT = 1 << 24
"""The limit for the bytes of one server-sent event. vLLM's first event repeats the ids of the whole prompt."""
MAX_REFUSAL = 1 << 12
"""How many bytes are read of the body of a refusal."""
LINGER = 0.2
"""How many seconds a body may take to end after `[DONE]`."""
EXPLAINING = 1.0
"""How many seconds the body of a refusal may take. Its status is known without it."""
SHOWN = 200
"""How many bytes of an answer an error shows."""
PAUSE = 0.5
"""The seconds before a request is repeated. They double each time."""
LONGEST_PAUSE = 30.0
"""The most seconds, even if a server asks for more in `Retry-After`."""
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed."""
_DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"
"""A stream may begin with this mark. It does not belong to the first line."""
_IDS = ("prompt", "token_ids", "input_ids")
"""The servers' names for a prompt's ids."""
_PICTURED = frozenset({"features", "messages", "image_data"})
"""Fields that may have pictures."""
LONG = 1 << 14
"""From this many ids or characters of a prompt, or bytes of a body, it is written and sent in pieces."""


class SseReader:
    """Turns pieces of a `text/event-stream` into the data of its events. Comments and other fields are dropped."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # the pieces of an unfinished line
        self._data: list[bytes] = []  # the data lines of an unfinished event
        self._line_size = self._data_size = 0  # the bytes in each
        self._is_first = True  # has no line ended yet?
        self.is_between = True
        """Has every event that has begun ended?"""

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each event that is complete now. Raises EngineError for an event above `MAX_EVENT` bytes."""
        *lines, rest = piece.split(b"\n")
        events: list[bytes] = []
        if lines:
            lines[0] = b"".join((*self._line, lines[0]))
            self._line, self._line_size = [], 0
            if self._is_first:
                lines[0], self._is_first = lines[0].removeprefix(_BOM), False
            for line in lines:
                self._take(line.removesuffix(b"\r"), events)
        if rest:
            self._line.append(rest)
            self._line_size += len(rest)
        self.is_between = not self._line and not self._data
        if self._line_size + self._data_size > MAX_EVENT:
            raise EngineError(f"the engine sent an event of more than {MAX_EVENT} bytes", "protocol")
        return events

    def _take(self, line: bytes, events: list[bytes]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
            self._data_size += len(line)
        elif not line and self._data:
            events.append(b"\n".join(self._data))
            self._data, self._data_size = [], 0


class EventSource:
    """The events of an answer. `take(await wait())` returns the events that are complete, until `ended`.

    As a context manager it also reads the end of the body, so that the connection can be used again.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.wait: Callable[[], Awaitable[bytes]] = response.content.readany
        self.ended = False
        self.is_between = True
        """Has every event that has begun ended, and was there at least one?"""
        self.url = str(response.url)
        self._content = response.content
        self._reader = SseReader()
        self._start: bytes | None = b""  # the first bytes; None once they contained an event
        self._broken = False

    def take(self, piece: bytes) -> list[Any]:
        """The data of the events that these bytes complete. Raises EngineError."""
        return self._events(piece)

    def rest(self, error: Exception) -> list[Any]:
        """The connection is broken. Returns what arrived before, or raises the error."""
        if self._broken or not isinstance(error, (aiohttp.ClientError, OSError)):
            raise error
        self._broken = True
        self.fail(error)
        piece = _unread(self._content)
        return self.take(piece) if piece else []

    def fail(self, error: Exception) -> None:
        """Let the next wait raise this error."""
        self.ended, self.wait = False, partial(_raised, error)

    def _events(self, piece: bytes) -> list[bytes]:
        """The data of each event that is complete now, up to `[DONE]`."""
        if not piece:
            if self._start and self._start.strip():
                message = f"{self.url}: the answer is not an event stream: {self._start[:SHOWN]!r}"
                raise EngineError(message, "protocol")
            self.ended = True
            return []
        if self._start is not None and len(self._start) < SHOWN:
            self._start += piece
        found = self._reader.feed(piece)
        if found:
            self._start = None
        if _DONE in found:
            self.ended = True
            del found[found.index(_DONE) :]
        self.is_between = self._start is None and self._reader.is_between
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Read the end of the body. If a server does not send it, this costs little."""
        if self.ended and not self._broken:
            with suppress(aiohttp.ClientError, OSError, RuntimeError, asyncio.TimeoutError):  # nothing is missing
                await asyncio.wait_for(self._content.read(MAX_REFUSAL), LINGER)


async def taken(source: EventSource) -> AsyncGenerator[list[Any], None]:
    """The events of a source, in lists of those that arrived together."""
    while not source.ended:
        try:
            piece = await source.wait()
        except Exception as error:
            found = source.rest(error)
        else:
            found = source.take(piece)
        if found:
            yield found


async def _raised(error: Exception) -> bytes:
    raise error


class HttpEngine:
    """An HTTP server that generates. As an async context manager, it keeps connections open between requests.

    Outside of `async with`, each generation opens and closes its own connection, so that nothing is left open.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None,
        connect_timeout: float,
        silence: float | None,
        retries: int = 0,
    ) -> None:
        """url: of the server, without the API's path. connect_timeout, silence: in seconds. silence is how long the
        server may send nothing; None sets no limit. retries: how often a request is repeated if it made no connection,
        or if a busy server refused it. A generation that has begun is never repeated.
        """
        check_text("url", url, none=False)
        check_number("connect_timeout", connect_timeout, above=0)
        check_number("silence", silence, above=0, none=True)
        check_number("retries", retries, least=0, whole=True)
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"an engine's url begins with http:// or https://, unlike {url!r}")
        self.url: str = url.rstrip("/")
        self._headers = dict(headers or {})
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout, sock_read=silence)
        self._session: aiohttp.ClientSession | None = None
        self._retries = retries

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    async def __aenter__(self) -> Self:
        self._session = self._new_session()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _new_session(self) -> aiohttp.ClientSession:
        # Each stream has a connection, so a pool's limit would make streams wait for each other.
        connector = aiohttp.TCPConnector(limit=0)
        return aiohttp.ClientSession(timeout=self._timeout, headers=self._headers, connector=connector)

    async def is_ready(self, seconds: float = 5.0) -> bool:
        """Does the server answer? A server without `/health`, or one that needs another key there, counts as ready,
        too. A redirect is an answer, and is not followed.
        """
        session = self._session or self._new_session()
        try:
            limit = aiohttp.ClientTimeout(total=seconds)
            async with session.get(self.url + "/health", timeout=limit, allow_redirects=False) as response:
                return response.status < 500
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
            return False
        finally:
            if session is not self._session:
                await session.close()

    async def _stream(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """The data of the events that the server streams in answer to a POST, up to `[DONE]` or the end.

        Events in one list have arrived together. Raises EngineError. Closing the iterator closes the connection, and
        then the server stops generating.
        """
        async with self._answer("POST", path, body, headers) as response, EventSource(response) as source:
            async for events in taken(source):
                yield events

    async def _get(self, path: str) -> dict[str, Any]:
        """The JSON object at `path`. Raises EngineError."""
        async with self._answer("GET", path) as response:
            return await self._object(path, response, MAX_EVENT)

    async def _posted(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None, most: int
    ) -> dict[str, Any]:
        """The JSON object that answers a POST, of at most this many bytes. Raises EngineError."""
        async with self._answer("POST", path, body, headers) as response:
            return await self._object(path, response, most)

    async def _object(self, path: str, response: aiohttp.ClientResponse, most: int) -> dict[str, Any]:
        """The JSON object that is the whole body, of at most this many bytes. Raises EngineError."""
        content = bytearray()
        async for piece in response.content.iter_chunked(1 << 16):
            content += piece
            if len(content) > most:
                raise EngineError(f"{self.url}{path}: the answer has more than {most} bytes", "protocol")
        return await asyncio.to_thread(object_of, bytes(content)) if len(content) >= LONG else object_of(bytes(content))

    async def _asked(
        self, session: aiohttp.ClientSession, method: str, where: str, body: Any, headers: Mapping[str, str] | None
    ) -> aiohttp.ClientResponse:
        """The response to a request, which is repeated as often as `retries` allows."""
        data = b""
        if body is not None:
            data = await asyncio.to_thread(_encoded, body) if _is_long(body) else _encoded(body)
            headers = {"Content-Type": "application/json", **(headers or {})}
        for attempt in range(self._retries):
            wanted: str | None = None
            try:
                response = await self._responded(session, method, where, data, headers)
            except aiohttp.SocketTimeoutError:  # after so long a silence, the server must have received the request
                raise
            except (aiohttp.ClientConnectionError, OSError):
                pass
            else:
                if response.status not in BUSY:
                    return response
                wanted = response.headers.get("Retry-After")
                response.close()
            await asyncio.sleep(_pause(attempt, wanted))
        return await self._responded(session, method, where, data, headers)

    async def _responded(
        self, session: aiohttp.ClientSession, method: str, where: str, data: bytes, headers: Mapping[str, str] | None
    ) -> aiohttp.ClientResponse:
        """The response to one request. aiohttp waits without end for a server that does not read a long body, so body
        and response may be silent once each.
        """
        asking = session.request(method, where, data=_payload(data), headers=headers, allow_redirects=False)
        connect, silence = self._timeout.sock_connect, self._timeout.sock_read
        if len(data) < LONG or connect is None or silence is None:
            return await asking
        try:
            return await asyncio.wait_for(asking, connect + 2 * silence)
        except asyncio.TimeoutError as error:
            if isinstance(error, aiohttp.ServerTimeoutError):
                raise
            raise aiohttp.SocketTimeoutError("it does not read the request") from None

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to a request, with the status 200. Errors in the block are raised as EngineError."""
        session = self._session or self._new_session()
        where = self.url + path
        try:
            async with await self._asked(session, method, where, body, headers) as response:
                with _ending_with_its_connection(response):
                    if response.status != 200:
                        reason = (await _beginning(response.content)).decode("utf-8", "replace").strip()
                        if 300 <= response.status < 400:  # a redirect's target would get the prompt and the key
                            reason = f"it is elsewhere, at {response.headers.get('Location')}: pass that URL"
                        raise EngineError(f"{where}: HTTP {response.status}: {reason}", "status", response.status)
                    yield response
        except aiohttp.ServerTimeoutError as error:
            raise EngineError(f"{where}: {str(error) or 'silent for too long'}", "timeout") from error
        except (aiohttp.ClientError, OSError) as error:
            raise EngineError(f"{where}: {str(error) or type(error).__name__}", "connection") from error
        finally:
            if session is not self._session:
                await session.close()


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    """The beginning of a refusal's body, as much as comes in time. A body that breaks changes nothing."""
    found = bytearray()

    async def read() -> None:
        while len(found) < MAX_REFUSAL and (piece := await content.read(MAX_REFUSAL - len(found))):
            found.extend(piece)

    with suppress(aiohttp.ClientError, OSError, RuntimeError, asyncio.TimeoutError):
        await asyncio.wait_for(read(), EXPLAINING)
    return bytes(found)


def _is_long(body: Mapping[str, Any]) -> bool:
    """Does writing it as JSON take long?"""
    return any(len(body.get(name) or ()) >= LONG for name in _IDS) or (
        not _PICTURED.isdisjoint(body) or isinstance(body.get("prompt"), dict)
    )


def _encoded(body: Mapping[str, Any]) -> bytes:
    """A request's body as JSON. The ids of a long prompt are written in pieces, between which other threads run."""
    named = next((name for name in _IDS if name in body), "")
    ids = body.get(named)
    if not isinstance(ids, list) or len(ids) < LONG:
        return json.dumps(body).encode()
    pieces = [json.dumps(ids[at : at + LONG])[1:-1] for at in range(0, len(ids), LONG)]
    rest = json.dumps({name: value for name, value in body.items() if name != named})
    return f'{{"{named}": [{", ".join(pieces)}], {rest[1:]}'.encode()


def _payload(data: bytes) -> bytes | io.BytesIO | None:
    """The body for aiohttp. A long body is sent in pieces, so that others are served meanwhile."""
    return (io.BytesIO(data) if len(data) >= LONG else data) or None


def _pause(attempt: int, asked: str | None) -> float:
    """Seconds to wait before another attempt. asked: a server's `Retry-After`, in seconds or as a date."""
    wanted = float(asked) if asked is not None and asked.strip().isdecimal() else PAUSE * 2.0**attempt
    return min(wanted, LONGEST_PAUSE)


@contextmanager
def _ending_with_its_connection(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Let a lost connection end the body. If what follows is not HTTP, aiohttp closes the connection, but a reader of
    the body then waits without end, or gets a RuntimeError.
    """
    content, connection = response.content, response.connection
    protocol = None if connection is None else connection.protocol
    if protocol is None:  # the whole body is there
        yield
        return
    closed = protocol.closed  # None if it is lost already
    lost = aiohttp.ClientPayloadError("the connection was lost")

    def end(_: asyncio.Future[None]) -> None:
        if content.exception() is None and not content.is_eof():
            content.set_exception(lost)

    if closed is not None:
        closed.remove_done_callback(_note)  # from the connection's earlier response
        closed.add_done_callback(_note)
        closed.add_done_callback(end)
    try:
        yield
    except RuntimeError as error:  # a read just before the callback
        if protocol.connected:
            raise
        raise lost from error
    finally:
        if closed is not None:
            closed.remove_done_callback(end)


def _note(closed: asyncio.Future[None]) -> None:
    """Read the error of a lost connection, also of an idle one. asyncio logs an error that was not read."""
    if not closed.cancelled():
        closed.exception()


def _unread(content: aiohttp.StreamReader) -> bytes:
    """What arrived before the connection broke. aiohttp keeps it, but raises the connection's error instead."""
    content.set_exception(None)  # type: ignore[arg-type]
    return content.read_nowait()


def object_of(data: bytes) -> dict[str, Any]:
    """The JSON object in an event's data. Raises EngineError for anything else, and for an object with an `error`."""
    try:
        try:
            value = loads(data)
        except ValueError:  # only the standard library accepts some values, such as -Infinity in logprobs
            value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EngineError(f"the engine sent a chunk that is not JSON: {error}: {data[:200]!r}", "protocol") from None
    if not isinstance(value, dict):
        raise EngineError(f"the engine sent a chunk that is not an object: {data[:200]!r}", "protocol")
    reported = value.get("error")
    if reported:
        message = reported.get("message", reported) if isinstance(reported, dict) else reported
        status = reported.get("code") if isinstance(reported, dict) else None
        status = status if type(status) is int else None
        raise EngineError(f"the engine reports: {str(message)[:MAX_REFUSAL]}", "engine", status)
    return value
