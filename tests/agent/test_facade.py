"""The loop without async."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from loops import TEXT, USER, end_of
from scripted import Scripted, call

import harmonystream as hs
from harmonystream.agent import agent_loop_sync
from harmonystream.tools import Tool, Tools


def tools(**options: Any) -> Tools:
    async def look(**given: Any) -> str:
        await asyncio.sleep(0)
        return "seen"

    return Tools(Tool("look", "", {"type": "object"}, look, **options))


def test_the_events_are_those_of_the_loop():
    events = list(agent_loop_sync(Scripted([call("look")], ["Done."]), USER, tools=tools(), **TEXT))
    end = end_of(events)
    assert (end.reason, end.text, end.messages[1]["content"]) == ("answer", "Done.", "seen")


def test_an_event_comes_before_the_engine_goes_on():
    steps = []

    class Engine:
        async def generate(self, prompt: Any, sampling: Any) -> Any:
            for step in "abc":
                steps.append(step)
                yield step

    for event in agent_loop_sync(Engine(), USER, **TEXT):
        if isinstance(event, hs.ContentDelta):
            assert len(steps) <= "abc".index(event.text) + 2


def test_leaving_it_stops_the_engine_and_cancels_the_tools():
    cancelled = []

    async def hang(**given: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    engine = Scripted(["Hi ", call("hang"), 0.01, "more", 60.0])
    hanging = Tools(Tool("hang", "", {"type": "object"}, hang, early=True))
    events = agent_loop_sync(engine, USER, tools=hanging, **TEXT)
    before = threading.active_count()
    while "more" not in getattr(next(events), "text", ""):
        pass
    events.close()
    assert (engine.closed, cancelled, threading.active_count()) == (1, [1], before)


def test_what_the_loop_raises_is_raised():
    with pytest.raises(ValueError, match="or more"):
        list(agent_loop_sync(Scripted(["x"]), USER, max_rounds=-1, **TEXT))


def test_inside_an_event_loop_it_says_what_to_do():
    async def main() -> None:
        agent_loop_sync(Scripted(["x"]), USER, **TEXT)

    with pytest.raises(RuntimeError, match="async for event in agent_loop"):
        asyncio.run(main())


@pytest.fixture
def heeded_interrupts() -> Iterator[None]:
    """Whoever runs the tests in the background of a shell ignores SIGINT, and this process has inherited that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends itself a signal")
def test_an_interrupt_stops_the_generation_and_can_be_caught(heeded_interrupts):
    closed = []

    class Engine:
        async def generate(self, prompt: Any, sampling: Any) -> Any:
            try:
                yield "Hi"
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
                await asyncio.sleep(600)
            finally:
                closed.append(1)

    got = []
    with pytest.raises(KeyboardInterrupt):
        for event in agent_loop_sync(Engine(), USER, **TEXT):
            got.append(event)
    assert closed == [1]
    assert any(isinstance(event, hs.ContentDelta) for event in got)
    assert list(agent_loop_sync(Scripted(["again"]), USER, **TEXT))  # and another one runs


@pytest.mark.skipif(os.name != "posix", reason="sends itself a signal")
def test_an_interrupt_at_any_call_inside_the_event_loop(heeded_interrupts):
    """Ctrl-C breaks nothing, wherever in asyncio's own code it comes."""
    calls = next(at for at in range(1, 100_000, 5) if not interrupted_at(at))
    assert calls > 100


def interrupted_at(wanted: int) -> bool:
    """Interrupts a loop at the wanted call of one of asyncio's functions. False: it has ended before."""
    count = 0

    def watch(frame: Any, event: str, _: object) -> None:
        nonlocal count
        if event == "call" and f"{os.sep}asyncio{os.sep}" in frame.f_code.co_filename:
            count += 1
            if count == wanted:
                signal.raise_signal(signal.SIGINT)

    engine = Scripted(["Hi ", call("look"), 0.0], ["Done.", 0.0])
    before = threading.active_count()
    events = agent_loop_sync(engine, USER, tools=tools(), **TEXT)
    next(events)
    sys.setprofile(watch)
    try:
        for _ in events:
            pass
    except KeyboardInterrupt:
        assert count >= wanted
    finally:
        sys.setprofile(None)
    assert engine.closed == len(engine.prompts)
    assert threading.active_count() == before
    return count >= wanted
