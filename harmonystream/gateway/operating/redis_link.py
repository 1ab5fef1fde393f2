"""The connection to Valkey or Redis. Waits are short, and while the server does not answer no request waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ...errors import missing_extra
from .state import StateError

__all__ = ["RedisLink"]

CONNECTIONS = 16
PARTS = 5
"""The parts of a wait. If this process itself is late, one part is over, and the answer may be there by then."""
SCHEMES = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss", "unix": "unix"}
log = logging.getLogger("harmonystream.gateway")
Returned = TypeVar("Returned")


class RedisLink:
    """A client of one server. wait: seconds that an answer may take.

    url: as redis-py reads it: `redis://`, `valkey://`, with TLS `rediss://` or `valkeys://`, or `unix://`. password:
    for a URL that has none. is_up: False after the server has failed to answer, until `try_again` succeeds. Meanwhile
    nothing waits for it. Raises ValueError for any other URL, and ImportError without the extra.
    """

    def __init__(self, url: str, wait: float, password: str | None = None) -> None:
        try:
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import ConnectionError, RedisError, TimeoutError
        except ImportError as error:
            raise missing_extra("store", error) from error
        scheme, _, rest = url.partition("://")
        if scheme not in SCHEMES or not rest:
            raise ValueError(f"the store is one of {', '.join(SCHEMES)}, followed by ://, not {scheme!r}")
        options: dict[str, Any] = {"password": password} if password and not urlsplit(url).password else {}
        try:
            pool = BlockingConnectionPool.from_url(
                f"{SCHEMES[scheme]}://{rest}",
                max_connections=CONNECTIONS,
                timeout=wait,
                socket_connect_timeout=wait,
                retry=Retry(NoBackoff(), 1),  # the server may have restarted, and every request to it may be repeated
                **options,
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"the store's URL cannot be read: {error}") from None
        self._client: Any = Redis(connection_pool=pool)
        self._wait, self._errors, self._gone = wait, (RedisError, OSError), (ConnectionError, TimeoutError, OSError)
        self.is_up = True

    def script(self, source: str) -> Callable[..., Awaitable[Any]]:
        """A function that runs a script, which the server keeps: `script(keys=[…], args=[…])`."""
        ran: Callable[..., Awaitable[Any]] = self._client.register_script(source)
        return ran

    @property
    def client(self) -> Any:
        return self._client

    async def ask(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """The result of a call of the client. Raises `StateError`, and at once while the server does not answer."""
        if not self.is_up:
            raise StateError("the store does not answer")
        return await self._tried(call)

    async def try_again(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Like `ask`, but it also tries while the server does not answer, to find out if it is up again. Raises
        `StateError`.
        """
        answer = await self._tried(call)
        if not self.is_up:
            self.is_up = True
            log.info("the store answers again")
        return answer

    async def _tried(self, call: Callable[[], Awaitable[Any]]) -> Any:
        asking = asyncio.ensure_future(call())
        try:  # asyncio.wait_for may lose a cancellation before Python 3.12
            for _ in range(PARTS):
                if not asking.done():
                    await asyncio.wait({asking}, timeout=self._wait / PARTS)
            if not asking.done():
                self._is_gone(f"no answer in {self._wait} seconds")
                raise StateError("the store does not answer in time")
            return asking.result()
        except self._gone as error:
            self._is_gone(str(error))
            raise StateError(f"the store cannot be reached: {error}") from error
        except self._errors as error:
            raise StateError(f"the store cannot do it: {error}") from error
        finally:
            if not asking.done():  # this closes its connection
                asking.add_done_callback(lambda task: task.cancelled() or task.exception())
                asking.cancel()

    def _is_gone(self, why: str) -> None:
        if self.is_up:
            log.error(
                "the store is not there: responses are not stored, and limits of keys hold for each gateway: %s", why
            )
        self.is_up = False

    async def close(self) -> None:
        await self._client.aclose()
        await self._client.connection_pool.disconnect()
