"""Functions in threads that may be left behind."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from harmonystream.tools.threads import Threads, TooManyThreadsError


def test_a_function_returns_and_raises_through_the_thread():
    async def main():
        threads = Threads(2)
        assert await threads.run(lambda a, *, b: a + b, 1, b=2) == 3
        with pytest.raises(KeyError):
            await threads.run({}.__getitem__, "x")
        for error in (
            StopIteration("s"),
            SystemExit(3),
            KeyboardInterrupt(),
            GeneratorExit(),
            asyncio.CancelledError(),
        ):
            with pytest.raises(RuntimeError, match=type(error).__name__):
                await threads.run(raising(error))
        assert threads.alive == 0

    asyncio.run(main())


def raising(error: BaseException):
    def function():
        raise error

    return function


def test_the_function_sees_the_callers_context():
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")

    async def main():
        variable.set(7)
        return await Threads(1).run(variable.get)

    assert asyncio.run(main()) == 7


def test_an_abandoned_thread_counts_until_it_ends_and_hurts_nobody():
    leave = threading.Event()
    threads = Threads(1)

    async def main():
        waiting = asyncio.create_task(threads.run(leave.wait))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert threads.alive == 1
        with pytest.raises(TooManyThreadsError, match="1 earlier calls still run"):
            await threads.run(int)

    asyncio.run(main())
    (abandoned,) = (one for one in threading.enumerate() if one.name == "harmonystream-tool")
    assert abandoned.daemon  # it does not keep the interpreter from ending
    leave.set()
    abandoned.join()
    assert threads.alive == 0
    assert asyncio.run(threads.run(int)) == 0


def test_a_thread_that_cannot_start_is_reported(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads = Threads(1)
    with pytest.raises(TooManyThreadsError, match="can't start new thread"):
        asyncio.run(threads.run(int))
    assert threads.alive == 0
