"""Whatever a tool does, a call has its result, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tool_calls import call, error_text, run

import harmonystream as hs
from harmonystream.tools import running

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class NoMessageError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class BaseOfItsOwn(BaseException):
    pass


async def late() -> str:
    return "late"


def leave(error: BaseException):
    raise error


ENDS = {
    "bytes": lambda: b"text",
    "bad bytes": lambda: b"\xff",
    "10 MB": lambda: "x" * 10_000_000,
    "10 MB list": lambda: list(range(1_500_000)),
    "NaN": lambda: float("nan"),
    "nothing": lambda: None,
    "an object": object,
    "a generator": lambda: (n for n in range(3)),
    "itself": lambda: (ring := [], ring.append(ring))[0],
    "a coroutine": late,
    "a surrogate": lambda: "\ud800",
    "error": lambda: leave(ValueError("x")),
    "no message": lambda: leave(NoMessageError()),
    "long message": lambda: leave(ValueError("x" * 10_000_000)),
    "exit": lambda: leave(SystemExit(1)),
    "stop": lambda: leave(StopIteration()),
    "cancelled": lambda: leave(asyncio.CancelledError()),
    "recursion": lambda: leave(RecursionError()),
    "memory": lambda: leave(MemoryError()),
    "group": lambda: leave(asyncio.TimeoutError()),
    "interrupt": lambda: leave(KeyboardInterrupt()),
    "closed": lambda: leave(GeneratorExit()),
    "of its own": lambda: leave(BaseOfItsOwn("x")),
}
ERRORS = {
    **dict.fromkeys(("bad bytes", "an object", "itself"), "invalid_result"),
    **dict.fromkeys(list(ENDS)[list(ENDS).index("error") :], "failed"),
}


def in_coroutine(function):
    async def coroutine():
        return function()

    return coroutine


@pytest.mark.parametrize(
    ("end", "way"),
    [(end, way) for end in ENDS for way in ("thread", "coroutine") if (end, way) != ("a coroutine", "coroutine")],
)
def test_whatever_a_tool_ends_with_is_a_result(end, way):
    function = ENDS[end] if way == "thread" else in_coroutine(ENDS[end])
    tools = hs.Tools(hs.Tool("f", function=function, timeout=60), max_result=1000)
    (result,) = run(tools, call("f"))
    assert result.error == ERRORS.get(end)
    assert len(result.text) < 3000
    result.text.encode()
    assert result.truncated == end.startswith("10 MB")
    if result.error:
        assert error_text(result)
    assert tools.threads.alive == 0
    gc.collect()  # an awaitable or a task that nobody looked at would warn now


def test_a_coroutine_that_swallows_its_cancellation_is_abandoned(monkeypatch):
    monkeypatch.setattr(running, "GRACE", 0.01)
    ended = []

    async def stubborn() -> None:
        while not leaving.is_set():
            try:
                await leaving.wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
        ended.append("ended")
        raise ValueError("nobody hears this")

    async def main():
        tools = hs.Tools(hs.Tool("f", function=stubborn, timeout=0.01))
        result = await tools.run(call("f"))
        assert (result.error, ended) == ("timeout", ["cancelled"])
        assert len(running._abandoned) == 1
        leaving.set()
        while running._abandoned:
            await asyncio.sleep(0)
        assert ended == ["cancelled", "ended"]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    leaving = asyncio.Event()
    asyncio.run(main())
    gc.collect()


def test_a_thread_that_hangs_is_abandoned_and_counted():
    ended = threading.Event()
    tools = hs.Tools(hs.Tool("f", function=ended.wait, parameters={}, timeout=0.01), max_threads=2)
    results = [run(tools, call("f"))[0] for _ in range(3)]
    assert [result.error for result in results] == ["timeout", "timeout", "unavailable"]
    assert error_text(results[2]) == "the tool 'f' is busy: 2 earlier calls still run"
    ended.set()
    for thread in threading.enumerate():
        if thread.name == "harmonystream-tool":
            thread.join()
    assert tools.threads.alive == 0
    assert run(tools, call("f"))[0].error is None


def test_a_timeout_of_the_whole_includes_waiting_and_approval():
    async def ask(pending):
        await asyncio.Event().wait()

    tools = hs.Tools(hs.Tool("f", function=late), approve=ask)
    results = run(tools, call("f"), call("f"), timeout=0.01)
    assert [(result.error, result.seconds, result.arguments) for result in results] == [("timeout", 0.0, None)] * 2


@settings(max_examples=40)
@given(st.integers(1, 4), st.lists(st.integers(0, 5), max_size=12))
def test_limits_hold_and_results_are_in_order(limit, steps):
    """At most `limit` tools run at once, whichever end first, and each result is where its call was."""
    most = [0, 0]  # now, ever

    async def f(n: int, steps: int) -> int:
        most[0] += 1
        most[1] = max(most)
        for _ in range(steps):
            await asyncio.sleep(0)
        most[0] -= 1
        return n

    tools = hs.Tools(max_concurrency=limit)
    tools.add(hs.Tool("f", parameters={}, function=f))
    results = run(tools, *(call("f", {"n": n, "steps": count}) for n, count in enumerate(steps)))
    assert [result.text for result in results] == [str(n) for n in range(len(steps))]
    assert most[0] == 0
    assert most[1] <= limit


def test_the_limit_is_used():
    async def f() -> None:
        running.append(1)
        if len(running) == 3:
            all_at_once.set()
        await all_at_once.wait()

    running: list[int] = []
    all_at_once = asyncio.Event()
    tools = hs.Tools(hs.Tool("f", function=f), max_concurrency=3)
    assert [result.error for result in run(tools, *[call("f")] * 7)] == [None] * 7


@pytest.mark.parametrize("way", ["thread", "coroutine", "approval"])
def test_cancellation_at_every_await_leaves_nothing(way):
    """The caller is cancelled after 0, 1, 2 … steps of the loop, until the call is done before."""
    cancelled = hung = 0

    async def approve(pending):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return True

    async def slow(n: int) -> int:
        nonlocal hung
        hung += 1
        try:
            for _ in range(3):
                await asyncio.sleep(0)
        finally:
            hung -= 1
        return n

    async def main(steps: int) -> bool:
        nonlocal cancelled
        function = (lambda n: n) if way == "thread" else slow
        tools = hs.Tools(max_concurrency=1, approve=approve if way == "approval" else None)
        tools.add(hs.Tool("f", parameters=SCHEMA, function=function))
        task = asyncio.create_task(tools.run_all([call("f", {"n": 1}), call("f", {"n": 2})]))
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.done():
            assert [result.text for result in task.result()] == ["1", "2"]
            return True
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled += 1
        assert hung == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert [result.text for result in await tools.run_all([call("f", {"n": 3})])] == ["3"]  # no slot is lost
        return False

    if way == "thread":  # when a thread answers is not a matter of steps
        for steps in range(30):
            asyncio.run(main(steps))
    else:
        assert any(asyncio.run(main(steps)) for steps in range(200))
    assert cancelled > 10


names = st.sampled_from(["f", "g", "nobody"])
texts = st.sampled_from(
    ["", "{}", '{"n": 1}', '{"n": "1"} tail', '{"n": nope}', "[1]", '"{}"', '{"n": 1e999}', "\ud800"]
)


@settings(max_examples=60)
@given(st.lists(st.tuples(names, texts | st.text(max_size=5), st.booleans()), max_size=6))
def test_any_calls_have_results_that_can_be_sent(written):
    def f(n: int) -> int:
        return n

    tools = hs.Tools(f, hs.Tool("g", parameters=SCHEMA, function=in_coroutine_of(lambda n: {"n": n})))
    calls = [hs.ToolCall(n, name, text, str(n), "function", ok, ok) for n, (name, text, ok) in enumerate(written)]
    results = run(tools, *calls)
    assert [(result.call_id, result.name) for result in results] == [(one.id, one.name) for one in calls]
    for result, one in zip(results, calls):
        json.loads(result.text.encode())
        assert one.complete or result.error == "incomplete_call"
        assert (result.error is None) == (result.value is not None)


def in_coroutine_of(function):
    async def coroutine(**arguments):
        return function(**arguments)

    return coroutine


def test_listeners_and_approval_that_raise_change_no_result(caplog):
    tools = hs.Tools(hs.Tool("f", function=lambda: 1))
    tools.on("called", lambda event: 1 / 0)
    tools.on("answered", lambda event: 1 / 0)
    tools.add(hs.Tool("g", function=lambda: 1, approve=lambda pending: 1 / 0))
    with caplog.at_level(logging.CRITICAL, logger="harmonystream.tools"):
        results = run(tools, call("f"), call("g"))
    assert [result.error for result in results] == [None, "refused"]


def test_deep_and_odd_arguments_of_a_client_are_results():
    deep: dict = {}
    for _ in range(100_000):
        deep = {"n": deep}
    tools = hs.Tools(hs.Tool("f", parameters=SCHEMA, function=lambda n: n))
    tools.add(lambda n: n, name="g")
    results = run(tools, call("f", deep), call("f", {"n": object()}), call("g", {"n": object()}), call("g", {1: 2}))
    assert [result.error for result in results] == ["invalid_json"] + ["invalid_arguments"] * 3
    while deep:  # so that freeing it does not recurse
        deep = deep.pop("n")
