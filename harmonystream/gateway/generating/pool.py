"""The engines of one model. The pool chooses an engine, and another one if that fails before its first token."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from hashlib import blake2b
from typing import Any

from ...engines import Engine, EngineError, Finished, Sampling
from ...engines.base import Arrived, Opened
from ...prompt import Prompt
from ..limits import Limits
from ..refused import Refused, is_engines_fault
from .timeouts import Timeouts

__all__ = ["Pool"]

PREFIX = 256
"""How many tokens of a prompt choose its engine, so that equal beginnings share one. In text, four times as many."""
SLACK = 4
"""How many more generations than the least busy engine this engine may have."""
COOLING = 1.0, 30.0
"""How many seconds an engine that failed is avoided: the first time, and at most."""


class Member:
    """An engine. open: its running generations. failures: how many in a row. place: its address, the same in all
    gateways.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.place: str = getattr(engine, "url", "") or name
        self.open = self.failures = 0
        self.avoided_until = 0.0

    def opened(self, prompt: Prompt, sampling: Sampling) -> AbstractAsyncContextManager[Opened]:
        """A generation, from which items can be taken as they come."""
        own = getattr(self.engine, "opened", None)
        found: AbstractAsyncContextManager[Opened] = (
            _OneByOne(self.engine.generate(prompt, sampling)) if own is None else own(prompt, sampling)
        )
        return found

    def failed(self, now: float) -> None:
        self.failures += 1
        doubled = min(self.failures - 1, 16)  # an engine may fail any number of times, and a float would overflow
        self.avoided_until = now + min(COOLING[0] * 2**doubled, COOLING[1])

    def answered(self) -> None:
        self.failures, self.avoided_until = 0, 0.0


class Pool:
    """Engines that serve one model. open: the time limits of all running generations. limits: for generations that
    begin from now on.

    on_error: called with the engine's name and the error, for each attempt that fails.
    """

    def __init__(self, engines: Sequence[Engine], limits: Limits, on_error: Callable[[str, EngineError], None]) -> None:
        self.members = [Member(engine, str(at)) for at, engine in enumerate(engines)]
        self.open: set[Timeouts] = set()
        self.limits = limits
        self._stopped = False
        self._on_error = on_error

    def choose(self, prompt: Prompt, tried: Sequence[Member], now: float) -> Member:
        """The engine for a prompt. It prefers engines that do not fail, and among these the usual one for the prompt's
        prefix.
        """
        fresh = [one for one in self.members if one not in tried] or self.members
        sound = [one for one in fresh if one.avoided_until <= now]
        if not sound:
            return min(fresh, key=lambda one: one.avoided_until)
        if len(sound) == 1:
            return sound[0]
        least = min(one.open for one in sound)
        usual = max(sound, key=lambda one: _weight(prompt, one.place))
        if usual.open <= least + SLACK:
            return usual
        return min(sound, key=lambda one: one.open)

    async def generate(
        self,
        prompt: Prompt,
        sampling: Sampling,
        until: float,
        on_end: Callable[[Finished], None] | None = None,
        together: bool = False,
    ) -> AsyncGenerator[Any, None]:
        """The items of a generation, from the first engine that produces an item.

        Raises EngineError, and `Refused` when the gateway stops.

        until: a time of the event loop, at which the generation must be over. on_end: called with the `Finished` of a
        generation. together: join items that arrive together into one `Arrived`.
        """
        now = asyncio.get_running_loop().time
        tried: list[Member] = []
        while True:
            member = self.choose(prompt, tried, now())
            tried.append(member)
            began = False
            timeouts = Timeouts(self.limits.first_token, self.limits.silence, until)
            self.open.add(timeouts)
            member.open += 1
            try:
                timeouts.enter()
                async with member.opened(prompt, sampling) as source:
                    while not source.ended:
                        timeouts.task = current_task()
                        if timeouts.expired:
                            raise timeouts.over()
                        try:
                            come = await source.wait()
                        except Exception as error:
                            items = source.rest(error)
                        else:
                            items = source.take(come)
                        timeouts.task = None
                        if not items:
                            continue
                        if not began:
                            began = True
                            member.answered()
                            timeouts.first_came()
                        if on_end is not None and isinstance(items[-1], Finished):
                            on_end(items[-1])
                        if together and len(items) > 1:
                            yield Arrived(items)
                        else:
                            for item in items:
                                yield item
                        timeouts.since = now()
                return
            except BaseException as caught:
                failure: BaseException | None = timeouts.meant(caught)
                if not isinstance(failure, EngineError):
                    raise
                if self._stopped:
                    raise Refused(503, "The gateway stops.", code="draining", retry_after=1) from None
                self._on_error(member.name, failure)
                if is_engines_fault(failure):
                    member.failed(now())
                retries = self.limits.retries - len(tried) + 1
                if began or retries < 1 or not is_engines_fault(failure) or now() >= until:
                    if failure is caught:
                        raise
                    raise failure from None
            finally:
                failure = None  # its traceback holds this frame: the cycle would hold the prompt
                timeouts.close()
                member.open -= 1
                self.open.discard(timeouts)
            if len(tried) >= len(self.members):
                await asyncio.sleep(0.1 * 4 ** (len(tried) - len(self.members)))

    def stop(self, what: str) -> None:
        """End all generations now, without another attempt."""
        self._stopped = True
        for timeouts in list(self.open):
            timeouts.stop(what)

    async def is_ready(self) -> bool:
        """Does an engine answer? An engine without `is_ready` counts as ready."""
        asked = [getattr(member.engine, "is_ready", None) for member in self.members]
        if None in asked:
            return True
        return any(await asyncio.gather(*(ask() for ask in asked if ask is not None)))


class _OneByOne:
    """Items of an engine that has only `generate`, in the form of `Opened`."""

    def __init__(self, items: AsyncIterator[Any]) -> None:
        self._items = items
        self.wait, self.ended = items.__anext__, False

    def take(self, item: Any) -> Sequence[Any]:
        return (item,)

    def rest(self, error: Exception) -> Sequence[Any]:
        if not isinstance(error, StopAsyncIteration):
            raise error
        self.ended = True
        return ()

    async def __aenter__(self) -> Opened:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        close = getattr(self._items, "aclose", None)
        if close is not None:
            await close()


def _weight(prompt: Prompt, place: str) -> bytes:
    """Rendezvous hashing: each prefix has its own order of engines, which changes little when engines come and go."""
    start: Any = prompt.text[: 4 * PREFIX] if prompt.ids is None else prompt.ids[:PREFIX]
    return blake2b(f"{place} {start}".encode("utf-8", "replace"), digest_size=8).digest()
