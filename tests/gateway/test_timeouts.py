"""How long an engine may take: only the time in which it is awaited counts."""

from __future__ import annotations

import asyncio

import pytest

from harmonystream.errors import EngineError
from harmonystream.gateway.generating.timeouts import Timeouts

LONG = 30.0


def read(*items, first=LONG, silence=LONG, total=LONG, slow=0.0):
    """Reads a source, whose floats are slept, with a consumer that sleeps; the items, and how often it was closed."""
    closed = []

    async def source():
        try:
            for item in items:
                if isinstance(item, float):
                    await asyncio.sleep(item)
                else:
                    yield item
        finally:
            closed.append(True)

    async def main():
        found = []
        patience = Timeouts(first, silence, asyncio.get_running_loop().time() + total)
        reading = patience.items(source())
        try:
            async for item in reading:
                found.append(item)
                await asyncio.sleep(slow)
        except EngineError as error:
            found.append(error.kind)
        finally:
            await reading.aclose()
        assert asyncio.current_task().cancelled() is False
        await asyncio.sleep(0)
        return found

    return asyncio.run(asyncio.wait_for(main(), 20)), closed


def test_all_items_come():
    assert read(1, 0.001, 2, 3) == ([1, 2, 3], [True])


def test_the_first_token_is_late():
    assert read(LONG, 1, first=0.01) == (["timeout"], [True])


def test_a_later_token_is_late():
    assert read(1, 2, LONG, 3, silence=0.01) == ([1, 2, "timeout"], [True])


def test_all_together_take_too_long():
    assert read(1, LONG, total=0.02) == ([1, "timeout"], [True])


def test_a_slow_client_is_no_silence():
    assert read(1, 2, 3, silence=0.01, slow=0.03) == ([1, 2, 3], [True])


def test_a_slow_client_does_not_go_on_for_ever():
    found, closed = read(*range(1000), total=0.05, slow=0.01)
    assert found[-1] == "timeout"
    assert closed == [True]


def test_stop_ends_it_at_once():
    async def main():
        async def source():
            yield 1
            await asyncio.sleep(LONG)

        patience = Timeouts(LONG, LONG, asyncio.get_running_loop().time() + LONG)
        reading = patience.items(source())
        assert await reading.__anext__() == 1
        asyncio.get_running_loop().call_later(0.01, patience.stop, "the gateway stops")
        with pytest.raises(EngineError, match="the gateway stops"):
            await reading.__anext__()

    asyncio.run(main())


def test_what_the_engine_raises_is_raised():
    async def main():
        async def source():
            yield 1
            raise EngineError("broken", "protocol")

        patience = Timeouts(LONG, LONG, asyncio.get_running_loop().time() + LONG)
        with pytest.raises(EngineError, match="broken"):
            async for _ in patience.items(source()):
                pass

    asyncio.run(main())


def test_a_cancellation_from_outside_stays_one():
    async def main():
        async def source():
            await asyncio.sleep(LONG)
            yield 1

        async def reading():
            patience = Timeouts(LONG, LONG, asyncio.get_running_loop().time() + LONG)
            async for _ in patience.items(source()):
                pass

        task = asyncio.ensure_future(reading())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
