"""A limit on waiting that never cuts off the consumer."""

from __future__ import annotations

import asyncio

import pytest

from harmonystream.agent.deadline import Deadline, is_cancelled


def test_it_raises_out_of_its_block_only():
    async def main() -> list[str]:
        said = []
        deadline = Deadline(0.02)
        with deadline:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)  # outside: nothing happens
        said.append("outside")
        try:
            with deadline:
                said.append("inside")
        except TimeoutError:
            said.append("over")
        deadline.close()
        return said

    assert asyncio.run(main()) == ["outside", "over"]


def test_it_ends_what_is_awaited_and_leaves_the_task_uncancelled():
    async def main() -> bool:
        deadline = Deadline(0.02)
        with pytest.raises(TimeoutError), deadline:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        return is_cancelled(asyncio.current_task()) if hasattr(asyncio.Task, "cancelling") else False

    assert asyncio.run(main()) is False


def test_a_cancellation_from_elsewhere_stays_one():
    async def waits() -> None:
        with Deadline(60):
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_without_a_limit_it_does_nothing():
    async def main() -> None:
        deadline = Deadline(None)
        with deadline:
            await asyncio.sleep(0)
        deadline.close()
        assert not deadline.expired

    asyncio.run(main())


def test_another_error_in_the_block_is_that_error():
    async def main() -> None:
        with Deadline(60):
            raise KeyError("mine")

    with pytest.raises(KeyError):
        asyncio.run(main())
