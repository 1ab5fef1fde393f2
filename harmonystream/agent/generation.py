"""One generation: from the engine's items to the parser's events."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import TracebackType
from typing import Any

from .._native.stream.parser import Parser
from ..completion import Collector, ToolCall
from ..engines import EngineError, Finished, Output, Sampled, Sampling
from ..engines.base import chat_usage
from ..events import Event
from ..prompt import Prompt
from ..reasons import normal
from .bounds import Bounds
from .deadline import Deadline, is_cancelled

__all__ = ["Generation"]

_END = Finished()
_FAILURES = ("abort", "error")  # reasons of a generation that has broken


class Generation:
    """Reads an engine to its end, and keeps what the model has written.

    failure: the exception of the engine, or of the parser if it refused the engine's output. timed_out: has the
    deadline passed? ended: have all events been given? parser: the parser that reads the output. calls: all calls that
    have ended so far.
    """

    def __init__(
        self,
        begin: Callable[[], AsyncIterator[Output]],
        parser: Parser,
        prompt: Prompt,
        sampling: Sampling,
        deadline: Deadline,
    ) -> None:
        """begin: starts the engine. prompt, sampling: its arguments. The output is cut at their ends: what follows a
        stop, or exceeds `max_tokens`, is not read.
        """
        self._begin = begin
        self._deadline = deadline
        self._items: AsyncIterator[Output] | None = None
        self.parser = parser
        self._prompt_tokens = len(prompt.ids or ())
        self._bounds = Bounds(prompt, sampling)
        self._own_stops = prompt.stops
        self._collector = Collector()
        self._texts = 0  # how many items were text
        self._end = _END
        self.ended = False
        self.failure: Exception | None = None
        self.timed_out = False
        self.calls: list[ToolCall] = self._collector.calls

    def items(self) -> AsyncIterator[Output]:
        """Start the engine. Read the items inside `with` this generation, and between `Deadline.enter` and
        `Deadline.leave`.
        """
        self._deadline.enter()
        self._items = self._begin()
        return self._items

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Keep the engine's exception as the failure. An exception that the consumer raises at a `yield` propagates."""
        deadline = self._deadline
        waited = deadline.task is not None
        error = deadline.error_of(error)
        self.timed_out = deadline.expired and isinstance(error, TimeoutError)
        if error is None or self.timed_out:
            return True
        if isinstance(error, asyncio.CancelledError) and waited and not is_cancelled(current_task()):
            error = EngineError("the engine was cancelled, and not by its consumer")
        if not waited or not isinstance(error, Exception):
            return False
        self.failure = error
        return True

    def take(self, item: Output) -> tuple[Event, ...]:
        """The events of an item. After a `Finished` or a failure, these are the last events."""
        try:
            if isinstance(item, Finished):
                return self.finish(item)
            over = self._bounds.over
            if over is not None and item:
                return self.finish(Finished(over))
            if isinstance(item, str):
                self._texts += 1
                events = self.parser.feed_text(self._bounds.text(item))
            else:
                ids = item.ids if isinstance(item, Sampled) else item
                events = self.parser.feed(self._bounds.ids(ids))
        except Exception as error:  # an engine may yield neither ids nor text, or both
            self.failure = error
            return self.finish()
        self._collector.add(events)
        return events

    def finish(self, end: Finished = _END) -> tuple[Event, ...]:
        """The last events."""
        self.ended = True
        self._end = end
        if self._bounds.over is not None and (end.reason is None or self._bounds.cut):
            self._end = end = replace(end, reason=self._bounds.over)
        if normal(end.reason) in _FAILURES and self.failure is None:
            self.failure = EngineError(f"the engine ended the generation with {end.reason!r}")
        reason = "error" if self.failure is not None else "timeout" if self.timed_out else end.reason
        if end.stop is not None and end.stop not in self._own_stops and normal(reason) == "stop":
            reason = None  # the parser must not take a stop string for the model's own stop
        events = self.parser.finish(reason)
        self._collector.add(events)
        return events

    async def close(self) -> None:
        """Stop the engine. If it has already ended, this does nothing."""
        close: Any = getattr(self._items, "aclose", None)
        if close is not None:
            try:
                await close()
            except Exception as error:
                self.failure = self.failure or error

    @property
    def reason(self) -> str | None:
        """The reason, as in `StreamEnd`."""
        return self._collector.finish_reason

    @property
    def content(self) -> str:
        return "".join(self._collector.content)

    @property
    def reasoning(self) -> str:
        return "".join(self._collector.reasoning)

    @property
    def usage(self) -> dict[str, Any]:
        """The engine's usage. What it does not count is counted here: ids, or items of text, which is a lower bound."""
        given = dict(self._end.usage or {})
        counted = {"prompt_tokens": self._prompt_tokens, "completion_tokens": self._texts or self.parser.usage.total}
        counted.update((name, given[name]) for name in counted if type(given.get(name)) is int)
        return {**given, **chat_usage(**counted)}
