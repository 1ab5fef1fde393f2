"""The state that gateways on several machines share, in Valkey or Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from ..limits import Limits, Quota
from ..requests.bodies import IN_A_THREAD
from . import redis_scripts as scripts
from .quotas import Quotas, too_many, used_up
from .redis_link import RedisLink
from .sealing import Seal
from .state import StateError

__all__ = ["RedisState"]

BEAT, LEASE = 1.0, 10.0
"""Seconds between signs of life, and after which a gateway without one counts as gone, with what it had open."""
PAUSE = 5.0
"""Seconds in which nothing is stored after something could not be: the store is full, say."""
MOST_OWED = 10_000
"""Owners whose use is remembered while the store cannot be reached."""
TOGETHER = 256
"""How many reports the store gets in one message."""
_LONGEST_KEY = 64
"""Bytes that are read of a response's key, which is shorter."""
log = logging.getLogger("harmonystream.gateway")
_P = scripts.PREFIX
_Any = TypeVar("_Any")
_Report = tuple[Callable[[Any, str, str], Awaitable[None]], str, str]
"""What writes the report into a pipeline, and for which owner and request."""


class _Owed:
    """Used tokens that the store does not know of yet. sent: those in the report that is under way."""

    def __init__(self) -> None:
        self.sent = self.more = 0
        self.number = 0


class RedisState:
    """The state of many gateways. If the store does not answer, requests go on. Then nothing is stored, and each
    gateway applies the limits of keys to its own requests only. When the store is back, the gateway reports its open
    requests and its counts.

    url, password: as in `RedisLink`. seal: the text from which the key for sealing responses is made.
    """

    def __init__(self, url: str, limits: Limits, password: str | None = None, seal: str | None = None) -> None:
        self._link = RedisLink(url, limits.store_wait, password)
        self._limits, self._seal = limits, Seal(seal)
        self.me = uuid4().hex
        self._own = Quotas(limits)
        self._open: dict[str, list[str]] = {}
        self._entering: dict[str, set[str]] = {}
        self._owed: dict[str, tuple[Quota, _Owed]] = {}
        self._closed: list[tuple[str, str]] = []  # what the store must still delete
        self._stale: set[str] = set()  # owners whose counts in the store may be wrong
        self._uncounted: set[str] = set()  # owners whose reports the store refused
        self._turns = count(1)
        self._report = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._there = 1
        self._sound = True
        self._full_until = 0.0
        self._scripts = {
            name: self._link.script(getattr(scripts, name))
            for name in ("BEAT", "DELETE", "ENTER", "PUT", "READ", "SYNC", "TAKE")
        }

    @property
    def is_there(self) -> bool:
        return self._link.is_up and self._sound and monotonic() >= self._full_until

    async def __aenter__(self) -> RedisState:
        await self._beat()
        self._tasks = [asyncio.ensure_future(self._beats()), asyncio.ensure_future(self._reports())]
        return self

    async def __aexit__(self, *exception: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(StateError):
            await self._send_reports()
            await self._link.ask(lambda: self._link.client.zrem(f"{_P}alive", self.me))
        await self._link.close()

    # --- what keys use ------------------------------------------------------------------------------------------------

    async def enter(self, owner: str, quota: Quota) -> None:
        if not any(quota):
            return
        self._own.enter(owner, quota)  # a request that is too much here is too much in all
        one, is_in = f"{self.me}:{next(self._turns)}", False
        self._entering.setdefault(owner, set()).add(one)
        try:
            state, left = await self._link.ask(lambda: self._ask_in(one, owner, quota))
            if state != b"in":
                raise (
                    too_many(quota.concurrent) if state == b"open" else used_up(quota.tokens_per_minute, float(left))
                )
            is_in = True
        except StateError as error:
            if self._link.is_up:
                log.error("limits of keys hold for each gateway alone: %s", error)
            self._stale.add(owner)
            is_in = True
        finally:
            _discard(self._entering, owner, one)
            if quota.concurrent:
                self._open.setdefault(owner, []).append(one)
            if not is_in:
                self.leave(owner, quota)

    def _ask_in(self, one: str, owner: str, quota: Quota) -> Any:
        name = self._seal.name(owner)
        keys = [f"{_P}alive", f"{_P}open:{name}", f"{_P}tokens:{name}"]
        return self._scripts["ENTER"](keys=keys, args=[one, *quota, self._kept])

    @property
    def _kept(self) -> int:
        """How many seconds counts of open requests are kept. It is longer than a request may take."""
        return int(2 * (self._limits.total + self._limits.queue_seconds)) + 60

    def leave(self, owner: str, quota: Quota) -> None:
        self._own.leave(owner, quota)
        if quota.concurrent:
            self._closed.append((owner, self._open[owner][-1]))
            _discard(self._open, owner, self._open[owner][-1])
            self._report.set()

    def take(self, owner: str, tokens: int, quota: Quota) -> None:
        if not quota.tokens_per_minute or not tokens:
            return
        self._own.take(owner, tokens, quota)
        if owner in self._owed or len(self._owed) < MOST_OWED:
            _, owed = self._owed.get(owner, (quota, _Owed()))
            owed.more += tokens
            self._owed[owner] = quota, owed
            self._report.set()

    def hold(self, limits: Limits) -> None:
        self._limits = limits

    def open(self) -> dict[str, int]:
        return {owner: len(ones) for owner, ones in self._open.items()}

    # --- reports to the store, beside the requests -------------------------------------------------------------------

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(BEAT)
            await self._beat()

    async def _beat(self) -> None:
        """Send a sign of life. If the store did not know this gateway, also send all that is open here."""
        was_up = self._link.is_up
        try:
            beat = self._scripts["BEAT"]
            known, self._there = await self._link.try_again(lambda: beat(keys=[f"{_P}alive"], args=[self.me, LEASE]))
        except StateError as error:
            if self._sound and self._link.is_up:
                log.error("%s", error)
            self._sound, self._there = False, 1
            return
        self._sound = True
        if not known or not was_up:
            self._stale |= self._open.keys()
        if self._stale or self._owed:
            self._report.set()

    async def _reports(self) -> None:
        while True:
            await self._report.wait()
            self._report.clear()
            with suppress(StateError):  # the next sign of life that is answered starts it again
                await self._send_reports()

    async def _send_reports(self) -> None:
        """Report open requests and used tokens. What fails is reported again later.

        Tokens are reported before the ends of requests. Once the store knows that a request has ended, another gateway
        may let the next one in, and its tokens must be counted by then. Requests that end during a report wait for the
        next one. The store may refuse the report of an owner, if another program has changed the owner's counts. The
        other owners are still reported.
        """
        closed, self._closed = self._closed, []
        stale, self._stale = self._stale, set()
        reports: list[_Report] = [(self._report_used, owner, "") for owner in self._owed]
        reports += [(self._report_closed, owner, one) for owner, one in closed]
        reports += [(self._report_open, owner, "") for owner in stale]
        refused: set[str] = set()
        try:
            for part in _parts(reports):
                answers = await self._link.ask(partial(self._send, part))
                for (report, owner, _), answer in zip(part, answers):
                    if isinstance(answer, Exception):
                        refused.add(owner)
                    elif report == self._report_used:
                        self._counted(owner)
        except BaseException:
            self._stale |= stale.union(owner for owner, _ in closed)
            raise
        finally:
            self._stale |= refused
        if new := refused - self._uncounted:
            log.error("the store refuses the counts of %d keys, because another program has changed them", len(new))
        self._uncounted = refused

    async def _send(self, reports: list[_Report]) -> list[Any]:
        """-> for each report the store's answer, or the error with which it refuses the report."""
        async with self._link.client.pipeline(transaction=False) as pipe:  # given up, it keeps nothing open
            for report, owner, one in reports:
                await report(pipe, owner, one)
            answers: list[Any] = await pipe.execute(raise_on_error=False)
        return answers

    async def _report_used(self, pipe: Any, owner: str, _: str) -> None:
        quota, owed = self._owed[owner]
        if not owed.sent:
            owed.sent, owed.more, owed.number = owed.more, 0, next(self._turns)
        arguments = [owed.sent, quota.tokens_per_minute, self.me, owed.number]
        await self._scripts["TAKE"](keys=[f"{_P}tokens:{self._seal.name(owner)}"], args=arguments, client=pipe)

    def _counted(self, owner: str) -> None:
        _, owed = self._owed[owner]
        owed.sent = 0
        if not owed.more:
            del self._owed[owner]
        else:
            self._report.set()

    async def _report_closed(self, pipe: Any, owner: str, one: str) -> None:
        pipe.srem(f"{_P}open:{self._seal.name(owner)}", one)

    async def _report_open(self, pipe: Any, owner: str, _: str) -> None:
        own = [*self._open.get(owner, ()), *self._entering.get(owner, ())]
        keys, arguments = [f"{_P}open:{self._seal.name(owner)}"], [self.me, self._kept, *own]
        await self._scripts["SYNC"](keys=keys, args=arguments, client=pipe)

    # --- stored responses ---------------------------------------------------------------------------------------------

    async def put(self, owner: str, items: list[Any], response: dict[str, Any]) -> bool:
        limits, key = self._limits, self._seal.name(owner, response["id"])
        packed = await _handled(_length_of(items, response), self._packed, key, items, response)
        if sum(map(len, packed)) > limits.stored_bytes or limits.stored < 1:
            return False
        named = [self._seal.name(owner, "item", item["id"]) for item in response["output"]]
        bounds = [limits.stored_seconds, limits.stored, limits.stored_bytes, limits.stored_per_key]
        arguments = [key, self._seal.name(owner), *packed, *bounds, *named]
        try:
            kept = await self._link.ask(partial(self._scripts["PUT"], keys=[_P], args=arguments))
        except StateError:
            if self._link.is_up:  # it answers, and does not store
                self._full_until = monotonic() + PAUSE
            raise
        self._full_until = 0.0
        return bool(kept)

    def _packed(self, key: str, items: list[Any], response: dict[str, Any]) -> list[bytes]:
        return [self._seal.packed(f"{key} input", items), self._seal.packed(f"{key} response", response)]

    async def response(self, owner: str, id: str) -> tuple[list[Any], dict[str, Any]] | None:
        return await self._stored(owner, self._seal.name(owner, id))

    async def _stored(self, owner: str, key: str) -> tuple[list[Any], dict[str, Any]] | None:
        most = self._limits.stored_bytes
        found = await self._link.ask(lambda: self._scripts["READ"](keys=[f"{_P}r:{key}"], args=[most]))
        if len(found) == 1:
            raise StateError(f"a stored response is larger than all may be: {found[0]} bytes")
        if None in found:
            return None
        return await _handled(sum(map(len, found)), self._opened, owner, key, *found)

    def _opened(self, owner: str, key: str, items: bytes, response: bytes) -> tuple[list[Any], dict[str, Any]]:
        """What was stored. Others may have written there, so it must look like what a gateway stores."""
        try:
            given, answered = self._seal.opened(f"{key} input", items), self._seal.opened(f"{key} response", response)
            objects = [*given, answered, *answered["output"]]
            lists = isinstance(given, list) and isinstance(answered["output"], list)
            if not lists or not all(isinstance(one, dict) for one in objects):
                raise ValueError("a stored response is not one")
            if not isinstance(answered["status"], str) or self._seal.name(owner, answered["id"]) != key:
                raise ValueError("a stored response is another one")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StateError(f"a stored response cannot be read: {error}") from error
        return given, answered

    async def item(self, owner: str, id: str) -> dict[str, Any] | None:
        name = self._seal.name(owner, "item", id)
        key = await self._link.ask(lambda: self._link.client.getrange(f"{_P}i:{name}", 0, _LONGEST_KEY))
        stored = await self._stored(owner, key.decode("ascii", "replace")) if key else None
        if stored is None:
            return None
        return next((item for item in stored[1]["output"] if item.get("id") == id), None)

    async def delete(self, owner: str, id: str) -> bool:
        key = self._seal.name(owner, id)
        return bool(await self._link.ask(lambda: self._scripts["DELETE"](keys=[_P], args=[key])))

    async def count(self) -> int:
        found = await self._link.ask(lambda: self._link.client.hget(f"{_P}totals", "count"))
        if not (found or b"0").isdigit() or len(found or b"") > 15:
            raise StateError("the store's count cannot be read")
        return int(found or 0)

    async def is_sound(self) -> bool:
        return self.is_there

    async def gateways(self) -> int:
        return self._there

    async def is_alive(self, gateway: str) -> bool:
        # Each sign of life, also ours, removes the gateways that have given none.
        return await self._link.ask(lambda: self._link.client.zscore(f"{_P}alive", gateway)) is not None


def _discard(of: dict[str, Any], owner: str, one: str) -> None:
    of[owner].remove(one)
    if not of[owner]:
        del of[owner]


async def _handled(size: int, call: Callable[..., _Any], *arguments: Any) -> _Any:
    """The result of a call that handles so many bytes. Only many of them are worth the way to a thread and back."""
    return call(*arguments) if size < IN_A_THREAD else await asyncio.to_thread(call, *arguments)


def _length_of(*values: Any) -> int:
    """About how many bytes of JSON these are. Counting ends where a thread is needed anyway."""
    waiting, length = list(values), 0
    while waiting and length < IN_A_THREAD:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        length += len(value) if isinstance(value, str) else 8
    return length


def _parts(all: list[_Any]) -> Iterator[list[_Any]]:
    for at in range(0, len(all), TOGETHER):
        yield all[at : at + TOGETHER]
