"""Each way to leave a loop, after each of its events: no task, thread, open file, engine stream or warning is left."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing, suppress
from typing import Any

import pytest
from loops import TEXT, USER
from scripted import Scripted, call
from test_faults import Leaks, other_tasks

from harmonystream.agent import LoopEnd, agent_loop, agent_loop_sync
from harmonystream.engines import EngineError
from harmonystream.tools import Tool, Tools

FORM = {"type": "object"}
EVENTS = 12
"""A loop of two rounds, with two calls in the first, has this many events, or fewer."""


class LeftError(Exception):
    pass


def engine(dies: int | None = None, error: BaseException | None = None) -> Scripted:
    first = ["Let me look. ", 0.0, call("slow"), 0.0, call("plain"), 0.0]
    second = ["It is ", 0.0, "fine."]
    if dies is None:
        return Scripted(first, second)
    assert error is not None
    whole: list[Any] = [*first[:dies], error]
    return Scripted(whole) if dies < len(first) else Scripted(first, [*second[: dies - len(first)], error])


class Work:
    """Tools that say whether they still run."""

    def __init__(self, fails: BaseException | None = None, inner: bool = False) -> None:
        self.running = 0
        self.fails, self.inner = fails, inner
        self.engines: list[Scripted] = []

    async def slow(self) -> str:
        self.running += 1
        try:
            if self.inner:
                self.engines.append(Scripted(["Inside ", 0.0, "it is fine."]))
                async with aclosing(agent_loop(self.engines[-1], USER, **TEXT)) as source:
                    async for event in source:
                        if isinstance(event, LoopEnd):
                            return event.outcome
            await asyncio.sleep(0.002)
            if self.fails is not None:
                raise self.fails
            return "done"
        finally:
            self.running -= 1

    def plain(self) -> str:
        return "1"

    def tools(self, early: bool) -> Tools:
        return Tools(Tool("slow", "", FORM, self.slow, early=early), Tool("plain", "", FORM, self.plain, early=early))


# --- the ways -----------------------------------------------------------------------------------------------------


async def broken_off(source: AsyncIterator[Any], most: int) -> None:
    """As most people do it, without a word to the loop: Python's own hooks close it."""
    seen = 0
    async for _ in source:
        seen += 1
        if seen > most:
            break


async def closed(source: Any, most: int) -> None:
    async with aclosing(source):
        await broken_off(source, most)


async def thrown_into(source: Any, most: int) -> None:
    await broken_off(source, most)
    with suppress(LeftError, StopAsyncIteration):
        await source.athrow(LeftError())


async def raised_beside(source: Any, most: int) -> None:
    with suppress(LeftError):
        async with aclosing(source):
            await broken_off(source, most)
            raise LeftError


async def timed_out(source: Any, most: int) -> None:
    async def wait() -> None:
        async with aclosing(source):
            await broken_off(source, most)
            await asyncio.sleep(30)

    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(wait(), 0.01)


async def cancelled(source: Any, most: int) -> None:
    """The task is cancelled while it waits for the next event."""
    reached = asyncio.Event()

    async def wait() -> None:
        async with aclosing(source):
            await broken_off(source, most)
            reached.set()
            async for _ in source:
                pass

    task = asyncio.create_task(wait())
    await reached.wait()
    await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def sibling_failed(source: Any, most: int) -> None:
    """Another task of a gather() fails, and the loop's is cancelled."""

    async def fail() -> None:
        for _ in range(most):
            await asyncio.sleep(0)
        raise LeftError

    tasks = [asyncio.create_task(closed(source, EVENTS)), asyncio.create_task(fail())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def forgotten(source: Any, most: int) -> None:
    """The last reference goes, and the garbage collector runs."""
    await broken_off(source, most)
    del source
    gc.collect()


WAYS: dict[str, Callable[[Any, int], Any]] = {
    way.__name__: way
    for way in (broken_off, closed, thrown_into, raised_beside, timed_out, cancelled, sibling_failed, forgotten)
}


class Quiet:
    """Nothing is said behind the caller's back: no warning, no unraisable error, nothing to the event loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[str] = []
        monkeypatch.setattr("sys.unraisablehook", lambda args: self.said.append(repr(args.exc_value)))
        monkeypatch.setattr(threading, "excepthook", lambda args: self.said.append(repr(args.exc_value)))

    def heard(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.said.append(str(context.get("message")))

    def run(self, made: Callable[[], Any]) -> None:
        async def main() -> None:
            asyncio.get_running_loop().set_exception_handler(self.heard)
            await made()
            for _ in range(400):
                if not other_tasks():
                    break
                await asyncio.sleep(0.002)
            assert not other_tasks()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asyncio.run(main())
            gc.collect()
        assert self.said + [str(one.message) for one in caught] == []


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Quiet]:
    leaks = Leaks()
    yield Quiet(monkeypatch)
    leaks.check()


@pytest.mark.parametrize(("inner", "early"), [(False, False), (False, True), (True, True)])
@pytest.mark.parametrize("most", range(0, EVENTS, 2))
@pytest.mark.parametrize("way", WAYS)
def test_it_is_left(quiet, way, most, inner, early):
    work, made = Work(inner=inner), engine()

    async def leave() -> None:
        await WAYS[way](agent_loop(made, USER, tools=work.tools(early), **TEXT), most)

    quiet.run(leave)
    assert work.running == 0
    for one in (made, *work.engines):
        assert one.closed == len(one.prompts)


FAULTS: list[BaseException] = [EngineError("gone"), ValueError("x"), OSError("reset"), asyncio.TimeoutError()]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("error", FAULTS, ids=repr)
@pytest.mark.parametrize("dies", range(9))
def test_its_engine_dies(quiet, dies, error, early):
    work, made = Work(), engine(dies, error)
    ends: list[LoopEnd] = []

    async def read() -> None:
        async for event in agent_loop(made, USER, tools=work.tools(early), **TEXT):
            if isinstance(event, LoopEnd):
                ends.append(event)

    quiet.run(read)
    assert (work.running, [end.reason for end in ends]) == (0, ["error"])
    assert ends[0].error is not None
    assert made.closed == len(made.prompts)


BAD = [ValueError("x"), KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError(), StopIteration(), LeftError()]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("error", BAD, ids=repr)
@pytest.mark.parametrize("way", ["closed", "broken_off", "cancelled"])
@pytest.mark.parametrize("most", [5, EVENTS])
def test_its_tool_raises(quiet, error, way, most, early):
    work, made = Work(error), engine()

    async def leave() -> None:
        await WAYS[way](agent_loop(made, USER, tools=work.tools(early), **TEXT), most)

    quiet.run(leave)
    assert work.running == 0
    assert made.closed == len(made.prompts)


# --- without async ------------------------------------------------------------------------------------------------


def sync_broken_off(source: Iterator[Any], most: int) -> None:
    for seen, _ in enumerate(source):
        if seen >= most:
            break


def sync_closed(source: Any, most: int) -> None:
    with closing(source):
        sync_broken_off(source, most)


def sync_thrown_into(source: Any, most: int) -> None:
    sync_broken_off(source, most)
    with suppress(LeftError, StopIteration):
        source.throw(LeftError())


def sync_in_a_thread(source: Any, most: int) -> None:
    thread = threading.Thread(target=sync_closed, args=(source, most))
    thread.start()
    thread.join()


def sync_forgotten(source: Any, most: int) -> None:
    sync_broken_off(source, most)
    del source
    gc.collect()


SYNC = {way.__name__: way for way in (sync_broken_off, sync_closed, sync_thrown_into, sync_in_a_thread, sync_forgotten)}


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("dies", [None, 3, 7])
@pytest.mark.parametrize("most", range(0, EVENTS, 2))
@pytest.mark.parametrize("way", SYNC)
def test_it_is_left_without_async(quiet, way, most, dies, early):
    work = Work()
    made = engine(dies, EngineError("gone"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SYNC[way](agent_loop_sync(made, USER, tools=work.tools(early), **TEXT), most)
        gc.collect()
    assert quiet.said + [str(one.message) for one in caught] == []
    assert work.running == 0
    assert made.closed == len(made.prompts)
