"""The first item of a source is awaited apart from the rest."""

from __future__ import annotations

import asyncio

import pytest

from harmonystream.gateway.generating.first_item import StartedSource


def run(main):
    return asyncio.run(asyncio.wait_for(main(), 20))


async def numbers(closed, first=0.0, error=None):
    try:
        await asyncio.sleep(first)
        if error is not None:
            raise error
        for number in range(3):
            yield number
    finally:
        closed.append(True)


@pytest.mark.parametrize("seconds", [None, 5.0, 0.001])
def test_no_item_is_lost(seconds):
    async def main():
        closed: list[bool] = []
        begun = StartedSource(numbers(closed, 0.02))
        assert await begun.wait(asyncio.get_running_loop().create_future(), seconds)
        assert [item async for item in begun] == [0, 1, 2]
        await begun.aclose()
        return closed

    assert run(main) == [True]


def test_an_error_comes_before_the_first_item():
    async def main():
        closed: list[bool] = []
        begun = StartedSource(numbers(closed, error=ValueError("no")))
        with pytest.raises(ValueError, match="no"):
            await begun.wait(asyncio.get_running_loop().create_future(), None)
        await begun.aclose()
        return closed

    assert run(main) == [True]


def test_a_source_without_items_ends():
    async def nothing():
        for item in ():
            yield item

    async def main():
        begun = StartedSource(nothing())
        assert await begun.wait(asyncio.get_running_loop().create_future(), None)
        return [item async for item in begun]

    assert run(main) == []


def test_a_client_that_goes_closes_the_source_where_it_waits():
    async def main():
        closed: list[bool] = []
        gone = asyncio.get_running_loop().create_future()
        begun = StartedSource(numbers(closed, 60))
        asyncio.get_running_loop().call_later(0.01, gone.set_result, None)
        assert not await begun.wait(gone, None)
        await begun.aclose()
        return closed

    assert run(main) == [True]
