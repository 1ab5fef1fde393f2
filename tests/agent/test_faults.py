"""Whatever engines and tools do, the loop ends with a defined event, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest
from loops import TEXT, USER, end_of, events_of, of_kind
from scripted import STOP, Scripted, call
from upstream import DONE, DROP, HANG, Upstream, event, serving

from harmonystream.agent import LoopEnd, ToolRunEnd, agent_loop
from harmonystream.engines import Completions, EngineError, Finished
from harmonystream.tools import Tool, Tools


class Leaks:
    """Counts what a test could leave behind: tasks, open files and sockets, threads."""

    def __init__(self) -> None:
        self.threads = threading.active_count()
        self.files = self._files()

    def _files(self) -> int:
        return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

    def check(self) -> None:
        """Raise unless all is as it was, after what ends by itself has had time to."""
        for _ in range(600):
            if threading.active_count() <= self.threads and self._files() <= self.files:
                return
            gc.collect()
            time.sleep(0.005)
        assert (threading.active_count(), self._files()) == (self.threads, self.files)


def other_tasks() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def settled(events: Any) -> list[Any]:
    """The events; then there may be no other task."""
    made = await asyncio.wait_for(events, 30)
    for _ in range(100):
        if not other_tasks():
            break
        await asyncio.sleep(0.01)
    assert not other_tasks()
    return made


# --- engines ------------------------------------------------------------------------------------------------------


def chunk(text: str, end: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "text": text, "finish_reason": end}]})


HTTP: dict[str, tuple[Upstream, str]] = {
    "status 500": (Upstream([b"oops"], status=500), "HTTP 500"),
    "status 401": (Upstream([b"{}"], status=401), "HTTP 401"),
    "malformed chunk": (Upstream([chunk("Hi"), b"data: {\n\n"]), "not JSON"),
    "chunk of another kind": (Upstream([chunk("Hi"), event(["x"])]), "not an object"),
    "chunk without choices": (Upstream([chunk("Hi"), event({})]), "without choices"),
    "ids that are none": (Upstream([event({"choices": [{"token_ids": ["x"]}]})]), "not ids"),
    "engine drops": (Upstream([chunk("Hi"), DROP]), "completions"),
    "stream ends early": (Upstream([chunk("Hi")]), "ended before"),
    "done without an end": (Upstream([chunk("Hi"), DONE]), "ended before"),
    "error event": (Upstream([chunk("Hi"), event({"error": {"message": "out of memory"}}), DONE]), "out of memory"),
    "engine is silent": (Upstream([chunk("Hi"), HANG]), "[Tt]imeout|silent"),
    "engine aborts": (Upstream([chunk("Hi", "abort"), DONE]), "'abort'"),
    "bytes that are not text": (Upstream([b"data: \xff\xfe\n\n"]), "not JSON"),
}


@pytest.mark.parametrize("name", HTTP)
def test_a_broken_server_ends_the_loop_with_its_error(name):
    upstream, said = HTTP[name]

    async def main() -> list[Any]:
        async with serving(upstream) as url:
            engine = Completions(url, "m", silence=0.3 if name == "engine is silent" else 30.0)
            return await asyncio.wait_for(events_of(engine, Tools("f")), 30)

    leaks = Leaks()
    end = end_of(asyncio.run(main()))
    leaks.check()
    assert (end.reason, type(end.error)) == ("error", EngineError)
    with pytest.raises(EngineError, match=said):
        raise end.error
    sent = b"".join(item for item in upstream.script if isinstance(item, bytes))
    if upstream.status == 200:  # what came before is not lost
        assert end.text == ("Hi" if b'"Hi"' in sent else "")


class Plain:
    """An engine whose `generate` is no generator function."""

    def __init__(self, generate: Callable[[Any, Any], Any]) -> None:
        self.generate = generate


async def _bad_cleanup(prompt: Any, sampling: Any) -> AsyncIterator[Any]:
    try:
        yield "Hi"
        yield STOP
    finally:
        raise RuntimeError("cleanup failed")


def _raises(prompt: Any, sampling: Any) -> Any:
    raise RuntimeError("no generator")


ENGINES: dict[str, tuple[Any, str, str]] = {
    "raises at once": (Scripted([RuntimeError("oops")]), "oops", ""),
    "raises in the stream": (Scripted(["Hi", ValueError("oops")]), "oops", "Hi"),
    "raises OSError": (Scripted(["Hi", OSError("reset")]), "reset", "Hi"),
    "raises TimeoutError": (Scripted(["Hi", TimeoutError("slow")]), "slow", "Hi"),
    "cancels itself": (Scripted(["Hi", asyncio.CancelledError()]), "cancelled", "Hi"),
    "ids after text": (Scripted(["Hi", [1]]), "vocabulary", "Hi"),
    "an object": (Scripted(["Hi", object()]), "", "Hi"),
    "a negative id": (Scripted([[-1]]), "", ""),
    "an id too large": (Scripted([[1 << 40]]), "", ""),
    "raises before it begins": (Plain(_raises), "no generator", ""),
    "gives no iterator": (Plain(lambda prompt, sampling: 7), "", ""),
    "breaks in its cleanup": (Plain(_bad_cleanup), "cleanup failed", "Hi"),
}


@pytest.mark.parametrize("name", ENGINES)
def test_a_broken_engine_ends_the_loop_with_its_error(name):
    engine, said, text = ENGINES[name]
    leaks = Leaks()
    end = end_of(asyncio.run(settled(events_of(engine, Tools("f")))))
    leaks.check()
    assert (end.reason, end.text) == ("error", text)
    assert said in str(end.error)


def test_nothing_is_read_after_the_end():
    engine = Scripted(["Hi", STOP, "more", RuntimeError("unread")])
    end = end_of(asyncio.run(settled(events_of(engine))))
    assert (end.reason, end.text, engine.closed) == ("answer", "Hi", 1)


def test_tools_that_run_when_the_engine_fails_are_cancelled_and_those_that_are_done_are_kept():
    async def hang() -> None:
        await asyncio.Event().wait()

    async def quick() -> str:
        return "quick"

    tools = Tools(_tool("hang", hang, early=True), _tool("quick", quick, early=True), _tool("late", quick))
    script = [call("quick"), call("hang"), call("late"), 0.05, RuntimeError("oops")]
    events = asyncio.run(settled(events_of(Scripted(script), tools)))
    end = end_of(events)
    assert end.reason == "error"
    assert {one.call.name: one.result.error for one in of_kind(events, ToolRunEnd)} == {
        "quick": None,
        "hang": "cancelled",
    }
    assert [message.get("name") for message in end.messages] == [None, "quick", "hang"]


# --- tools --------------------------------------------------------------------------------------------------------


class Fault(NamedTuple):
    function: Callable[..., Any] | None
    error: str | None
    arguments: str = "{}"
    options: Any = None


def _tool(name: str, function: Any, **options: Any) -> Tool:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}
    return Tool(name, name, schema, function, **options)


async def _hang(**given: Any) -> None:
    await asyncio.Event().wait()


async def _stubborn(**given: Any) -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0.05)
    return "late"


async def _cancels(**given: Any) -> None:
    raise asyncio.CancelledError


def _raise(error: BaseException) -> Callable[..., Any]:
    def function(**given: Any) -> Any:
        raise error

    return function


def _cyclic(**given: Any) -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _deep(**given: Any) -> Any:
    value: Any = 0
    for _ in range(100_000):
        value = [value]
    return value


FAULTS = {
    "raises": Fault(_raise(RuntimeError("oops")), "failed"),
    "raises without words": Fault(_raise(ValueError()), "failed"),
    "exits": Fault(_raise(SystemExit(3)), "failed"),
    "loses its server": Fault(_raise(ConnectionResetError("the MCP server is gone")), "failed"),
    "cancels itself": Fault(_cancels, "failed"),
    "hangs": Fault(_hang, "timeout", options={"timeout": 0.05}),
    "hangs in a thread": Fault(lambda **given: time.sleep(0.4), "timeout", options={"timeout": 0.05}),
    "does not want to end": Fault(_stubborn, "timeout", options={"timeout": 0.05}),
    "returns bytes": Fault(lambda **given: b"text", None),
    "returns bytes that are not text": Fault(lambda **given: b"\xff\xfe\x00", "invalid_result"),
    "returns 10 MB": Fault(lambda **given: "x" * 10_000_000, None),
    "returns NaN": Fault(lambda **given: float("nan"), None),
    "returns an object": Fault(lambda **given: object(), "invalid_result"),
    "returns a cycle": Fault(_cyclic, "invalid_result"),
    "returns a deep list": Fault(_deep, "invalid_result"),
    "returns nothing": Fault(lambda **given: None, None),
    "is called with bad JSON": Fault(lambda **given: 1, "incomplete_call", "{oops}"),
    "is called with a list": Fault(lambda **given: 1, "incomplete_call", "[1]"),
    "is called with what does not fit": Fault(lambda **given: 1, "invalid_arguments", '{"y": 1}'),
    "is refused": Fault(lambda **given: 1, "refused", options={"approve": lambda pending: "not today"}),
    "breaks in its approval": Fault(lambda **given: 1, "refused", options={"approve": _raise(KeyError("x"))}),
    "is unknown": Fault(None, "unknown_tool"),
}


@pytest.mark.parametrize("early", [False, True], ids=["late", "early"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_tool_gives_a_result_and_the_model_answers(name, early):
    fault = FAULTS[name]
    tools = Tools("other")
    if fault.function is not None:
        tools.add(_tool("f", fault.function, early=early, **(fault.options or {})))
    leaks = Leaks()
    engine = Scripted(["<tool_call>\n", f'{{"name": "f", "arguments": {fault.arguments}}}\n</tool_call>'], ["Done."])
    events = asyncio.run(settled(events_of(engine, tools)))
    end = end_of(events)
    leaks.check()
    assert (end.reason, end.text) == ("answer", "Done.")
    result = of_kind(events, ToolRunEnd)[0].result
    assert result.error == fault.error
    assert len(result.text) < 200_000
    assert end.messages[1]["content"] == result.text


# --- cancellation -------------------------------------------------------------------------------------------------


async def _cancelled_after(steps: int) -> tuple[bool, Scripted, int]:
    """Cancel a loop after so many turns of the event loop. Was it over by then? And how many tools still ran?"""
    running = 0

    async def slow(**given: Any) -> str:
        nonlocal running
        running += 1
        try:
            for _ in range(5):
                await asyncio.sleep(0)
        finally:
            running -= 1
        return "slow"

    def threaded(**given: Any) -> int:
        return 1

    tools = Tools(_tool("slow", slow, early=True), _tool("late", slow), _tool("threaded", threaded))
    engine = Scripted(["Hi ", 0.0, call("slow"), 0.0, call("late"), call("threaded"), 0.0, STOP], [0.0, "Done.", STOP])
    task = asyncio.create_task(events_of(engine, tools))
    for _ in range(steps):
        await asyncio.sleep(0)
        if task.done():
            return True, engine, running
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(200):
        if not other_tasks():
            break
        await asyncio.sleep(0.005)
    assert not other_tasks()
    return False, engine, running


def test_cancelled_at_every_await_it_leaves_nothing():
    leaks = Leaks()
    steps, done = 0, False
    while not done:
        done, engine, running = asyncio.run(_cancelled_after(steps))
        assert running == 0
        assert engine.closed == len(engine.prompts)
        steps += 1 + steps // 20  # a loaded machine takes many turns to start a thread
    leaks.check()
    assert steps > 10


def test_a_loop_that_is_left_early_stops_its_engine_and_its_tools():
    async def main() -> tuple[int, str]:
        state = "new"

        async def hang(**given: Any) -> None:
            nonlocal state
            state = "running"
            try:
                await asyncio.Event().wait()
            finally:
                state = "cancelled"

        engine = Scripted([call("hang"), 0.01, "more", 60.0])
        events = agent_loop(engine, USER, tools=Tools(_tool("hang", hang, early=True)), **TEXT)
        async for one in events:
            if state == "running" and not isinstance(one, LoopEnd):
                break
        await events.aclose()
        assert not other_tasks()
        return engine.closed, state

    assert asyncio.run(main()) == (1, "cancelled")


def test_a_cancelled_consumer_closes_the_connection():
    async def main() -> int:
        upstream = Upstream([chunk("Hi"), HANG])
        async with serving(upstream) as url:
            task = asyncio.create_task(events_of(Completions(url, "m")))
            while not upstream.requests:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            for _ in range(400):
                if upstream.gone:
                    break
                await asyncio.sleep(0.005)
        return upstream.gone

    leaks = Leaks()
    assert asyncio.run(main()) == 1
    leaks.check()


def test_a_cut_generation_is_an_end_and_not_a_fault():
    end = end_of(asyncio.run(settled(events_of(Scripted(["Hi", Finished("length")])))))
    assert (end.reason, end.error) == ("length", None)
