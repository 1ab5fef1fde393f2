"""The steps of one call: find the tool, read and check the arguments, ask for approval, run it, write the result."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..call_arguments import read_arguments
from .listeners import Answered, Called
from .results import Failure, ToolError, ToolResult, error_text, text_of
from .threads import TooManyThreadsError
from .tool import Context, PendingCall

if TYPE_CHECKING:
    from .binding import Bound
    from .calls import Call
    from .listeners import Listeners
    from .threads import Threads
    from .tool import Approve, Tool

__all__ = ["answer"]

GRACE = 1.0
"""How many seconds a cancelled coroutine has to end before it is abandoned."""

_abandoned: set[asyncio.Task[Any]] = set()
"""Coroutines that were cancelled and still run. The loop keeps only weak references to its tasks."""

_T = TypeVar("_T")


class Toolbox(Protocol):
    """The part of `Tools` that a run reads."""

    timeout: float | None
    approve: Approve | None
    max_result: int
    threads: Threads
    listeners: Listeners

    def get(self, name: str) -> Tool | None: ...
    def __iter__(self) -> Iterator[Tool]: ...
    def slots(self) -> AbstractAsyncContextManager[None]: ...


async def answer(tools: Toolbox, call: Call, timeout: float | None, context: Any = None) -> ToolResult:
    """Run a call. Every failure becomes a result. Only cancellation of the caller raises."""
    run = _Run(tools, call, context)
    try:
        text, truncated = await _within(run.text(), timeout)
        result = ToolResult(call.id, call.name, text, None, run.seconds, run.arguments, run.value, None, truncated)
    except Failure as failure:
        text = error_text(failure.kind, failure.message)
        result = ToolResult(
            call.id, call.name, text, failure.kind, run.seconds, run.arguments, run.value, failure.cause
        )
    tools.listeners.notify(Answered(tools.get(call.name), result))
    return result


class _Run:
    """The steps of one call, and what is known about it so far."""

    def __init__(self, tools: Toolbox, call: Call, context: Any) -> None:
        self.tools = tools
        self.call = call
        self.context = context
        self.arguments: dict[str, Any] | None = None  # set when the tool is called
        self.value: Any = None
        self.started: float | None = None
        self.ended: float | None = None

    @property
    def seconds(self) -> float:
        if self.started is None:
            return 0.0
        return (time.monotonic() if self.ended is None else self.ended) - self.started

    async def text(self) -> tuple[str, bool]:
        tool = self._found()
        arguments = self._read(tool)
        bound = _bound(tool, arguments)
        decision = await self._decision(tool, arguments)
        if decision is not None:
            arguments = decision
            bound = _bound(tool, arguments)
        async with self.tools.slots():
            self.arguments = arguments
            self.tools.listeners.notify(Called(tool, self.call.id, arguments))
            self.started = time.monotonic()
            try:
                self.value = await self._value(tool, bound)
            finally:
                self.ended = time.monotonic()
        return text_of(self.value, self.tools.max_result)

    def _found(self) -> Tool:
        if not self.call.complete:
            raise Failure("incomplete_call", "the call was cut off, or could not be read, and did not run")
        tool = self.tools.get(self.call.name)
        if tool is None:
            known = ", ".join(known.name for known in self.tools) or "none"
            raise Failure("unknown_tool", f"there is no tool {self.call.name!r}; the tools are: {known}")
        if tool.function is None:
            raise Failure("unavailable", f"the tool {tool.name!r} cannot be run here")
        return tool

    def _read(self, tool: Tool) -> dict[str, Any]:
        if tool.text_parameter is not None and isinstance(self.call.arguments, str):
            return {tool.text_parameter: self.call.arguments}
        try:
            if isinstance(self.call.arguments, Mapping):
                return copy.deepcopy(dict(self.call.arguments))
            return read_arguments(self.call.arguments)
        except ValueError as error:
            raise Failure("invalid_json", str(error), error) from None
        except RecursionError as error:
            raise Failure("invalid_json", "the arguments are nested too deeply", error) from None

    async def _decision(self, tool: Tool, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """None: run the call unchanged. A dict: run the call with these arguments."""
        approve = tool.approve or self.tools.approve
        if approve is None:
            return None
        pending = PendingCall(tool, self.call.id, copy.deepcopy(arguments), self.context)
        try:
            decision = await self._called(approve, (pending,), {})
        except Exception as error:
            logging.getLogger("harmonystream.tools").exception("approve= of the tool %r raised", tool.name)
            raise Failure("refused", "the call was not approved", error) from None
        if decision is True:
            return None
        if isinstance(decision, Mapping):
            return dict(decision)
        reason = f": {decision}" if isinstance(decision, str) and decision else ""
        raise Failure("refused", f"the call was not approved{reason}")

    async def _value(self, tool: Tool, bound: Bound) -> Any:
        timeout = self.tools.timeout if tool.timeout is None else tool.timeout
        args, kwargs = bound
        if tool.context is not None:
            kwargs = {**kwargs, tool.context: Context(self.context, tool, self.call.id)}
        try:
            return await _within(self._called(tool.function, args, kwargs), timeout)
        except Failure:
            raise
        except TooManyThreadsError as error:
            raise Failure("unavailable", f"the tool {tool.name!r} is busy: {error}", error) from None
        except ToolError as error:
            raise Failure("failed", _message(error), error) from None
        except Exception as error:
            raise Failure("failed", f"{type(error).__name__}: {_message(error)}", error) from None

    async def _called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function's result. A coroutine function runs in the event loop, and any other function in a thread."""
        try:
            if _is_coroutine_function(function):
                value = await function(*args, **kwargs)
            else:
                value = await self.tools.threads.run(function, *args, **kwargs)
                value = await value if inspect.isawaitable(value) else value
            if inspect.isasyncgen(value):
                return _joined([item async for item in value])
            if inspect.isgenerator(value):  # its body has not run yet
                return _joined(await self.tools.threads.run(list, islice(value, self.tools.max_result)))
            return value
        except (Exception, asyncio.CancelledError):
            raise
        except BaseException as error:  # KeyboardInterrupt and similar exceptions would end more than the tool
            raise Failure("failed", f"{type(error).__name__}: {_message(error)}", error) from None


def _joined(items: list[Any]) -> Any:
    """The output of a generator: one string if all items are strings, else the list."""
    return "".join(items) if items and all(isinstance(item, str) for item in items) else items


def _is_coroutine_function(function: Any) -> bool:
    while (inner := getattr(function, "func", None)) is not None:  # partial()
        function = inner
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _bound(tool: Tool, arguments: dict[str, Any]) -> Bound:
    assert tool.bind is not None  # every tool with a function has one
    try:
        return tool.bind(arguments)
    except Exception as error:  # the validators of a pydantic model may raise anything
        raise Failure("invalid_arguments", _message(error), error) from None


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "it has no readable message"


async def _within(work: Coroutine[Any, Any, _T], timeout: float | None) -> _T:
    """The coroutine's result. It runs in a task of its own, so that it can neither cancel the caller nor block it.

    After `timeout` seconds it is cancelled. If it does not end then, it is abandoned.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if not task.done():
            await _cancel(task)
            raise Failure("timeout", f"the tool did not answer within {timeout:g} seconds")
    except asyncio.CancelledError:
        await _cancel(task)
        raise
    if task.cancelled():
        raise Failure("failed", "the tool was cancelled")
    return task.result()


async def _cancel(task: asyncio.Task[Any]) -> None:
    _abandoned.add(task)
    task.add_done_callback(_ended)
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)


def _ended(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # read it to prevent a warning
