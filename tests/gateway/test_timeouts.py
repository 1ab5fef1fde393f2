"""How long an engine may take: only the time in which it is awaited counts."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

import harmonystream as hs
from harmonystream.engines import Sampling
from harmonystream.engines.base import Arrived
from harmonystream.errors import EngineError
from harmonystream.gateway.generating.pool import Pool
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.refused import Refused

LONG = 30.0
PROMPT = hs.render("?", model="gpt-oss")


class Sleepy:
    """An engine that yields these items. Floats are slept, and errors raised. closed: how often it was."""

    def __init__(self, *items):
        self.items, self.closed = items, 0

    async def generate(self, prompt, sampling):
        try:
            for item in self.items:
                if isinstance(item, float):
                    await asyncio.sleep(item)
                elif isinstance(item, Exception):
                    raise item
                else:
                    yield [item]
        finally:
            self.closed += 1


def reading(engine, first=LONG, silence=LONG, total=LONG):
    pool = Pool([engine], Limits(first_token=first, silence=silence, retries=0), lambda name, error: None)
    return pool, pool.generate(PROMPT, Sampling(), asyncio.get_running_loop().time() + total)


def read(*items, slow=0.0, **limits):
    """What a consumer that sleeps after each item gets, and how often the engine was closed."""
    engine = Sleepy(*items)

    async def main():
        found = []
        _, source = reading(engine, **limits)
        try:
            async for item in source:
                found += item
                await asyncio.sleep(slow)
        except EngineError as error:
            found.append(error.kind)
        finally:
            await source.aclose()
        assert asyncio.current_task().cancelled() is False
        await asyncio.sleep(0)
        return found

    return asyncio.run(asyncio.wait_for(main(), 20)), engine.closed


def test_all_items_come():
    assert read(1, 0.001, 2, 3) == ([1, 2, 3], 1)


def test_the_first_token_is_late():
    assert read(LONG, 1, first=0.01) == (["timeout"], 1)


def test_a_later_token_is_late():
    assert read(1, 2, LONG, 3, silence=0.01) == ([1, 2, "timeout"], 1)


def test_all_together_take_too_long():
    assert read(1, LONG, total=0.02) == ([1, "timeout"], 1)


def test_a_slow_client_is_no_silence():
    assert read(1, 2, 3, silence=0.01, slow=0.03) == ([1, 2, 3], 1)


def test_a_slow_client_does_not_go_on_for_ever():
    found, closed = read(*range(1000), total=0.05, slow=0.01)
    assert found[-1] == "timeout"
    assert closed == 1


class Chatty:
    """An engine that sends something all the time. first: the items of its first piece; the others have none."""

    def __init__(self, *first):
        self.first, self.ended, self.pieces = list(first), False, 0

    @asynccontextmanager
    async def opened(self, prompt, sampling):
        yield self

    async def generate(self, prompt, sampling):  # the pool prefers `opened`
        raise AssertionError
        yield

    async def wait(self):
        await asyncio.sleep(0.005)

    def take(self, come):
        self.pieces += 1
        return self.first if self.pieces == 1 else []


@pytest.mark.parametrize("first", [[], [[1]], [[1], [2]]])
@pytest.mark.parametrize("together", [True, False])
def test_only_tokens_end_a_silence(first, together):
    """Such as comments, which some proxies send while an engine hangs."""

    async def main():
        pool = Pool([Chatty(*first)], Limits(first_token=0.1, silence=0.1, retries=0), lambda name, error: None)
        found = []
        with pytest.raises(EngineError, match="no token came in time"):
            async for item in pool.generate(
                PROMPT, Sampling(), asyncio.get_running_loop().time() + LONG, None, together
            ):
                found += item.items if isinstance(item, Arrived) else [item]
        return found

    assert asyncio.run(asyncio.wait_for(main(), 10)) == first


def test_stop_ends_it_at_once():
    async def main():
        pool, source = reading(Sleepy(1, LONG))
        assert await source.__anext__() == [1]
        asyncio.get_running_loop().call_later(0.01, pool.stop, "the gateway stops")
        with pytest.raises(Refused, match="stops"):
            await source.__anext__()
        assert not pool.open

    asyncio.run(main())


def test_what_the_engine_raises_is_raised():
    lost = EngineError("broken", "protocol")
    lost.__cause__ = OSError("why")

    async def main():
        _, source = reading(Sleepy(1, lost))
        assert await source.__anext__() == [1]
        with pytest.raises(EngineError, match="broken") as raised:
            await source.__anext__()
        assert raised.value is lost
        assert isinstance(lost.__cause__, OSError)

    asyncio.run(main())


def test_a_cancellation_from_outside_stays_one():
    async def main():
        async def all_of_it():
            async for _ in reading(Sleepy(LONG))[1]:
                pass

        task = asyncio.ensure_future(all_of_it())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
