"""One round: a generation, and the tools that it calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from ..completion import ToolCall, cut_call
from ..engines import Output
from ..events import Event, ToolCallEnd
from ..prompt import tool_results
from ..tools import ToolResult
from .deadline import Deadline
from .generation import Generation
from .history import CallIds, assistant_message
from .outcome import LoopEvent, Steered, ToolRunEnd, ToolRunStart
from .runs import ToolRuns
from .unreadable import unreadable_result

__all__ = ["Round"]


class Round:
    """Connects a generation's events and its tools.

    number: counted from 1. ids: gives each call its id. calls: all calls that the model closed, in order. steered: as
    in `RoundEnd`.
    """

    def __init__(
        self, number: int, generation: Generation, runs: ToolRuns, ids: CallIds, steered: Steered | None = None
    ) -> None:
        self.number, self.steered = number, steered
        self.generation = generation
        self.runs = runs
        self.calls: list[ToolCall] = []
        self._ids = ids
        self._ended_calls, self._news = generation.calls, runs.news
        self._known = 0  # how many calls, including cut ones, `take` has seen
        self._end = 0  # where the last of them ended

    @property
    def broken(self) -> bool:
        """Did the generation fail, or did the time end before it?"""
        return self.generation.failure is not None or self.generation.timed_out

    def take(self, item: Output) -> Sequence[LoopEvent]:
        """The events of an item. An early run's start follows the end of its call, and finished runs come last."""
        events = self.generation.take(item)
        if len(self._ended_calls) == self._known and not self._news:  # fast path: nearly every token takes it
            return events
        return self._with_runs(events)

    def finish(self) -> Sequence[LoopEvent]:
        """The last events of a generation that ended without an end event."""
        return () if self.generation.ended else self._with_runs(self.generation.finish())

    def _with_runs(self, events: Sequence[Event]) -> Sequence[LoopEvent]:
        made: list[LoopEvent] = []
        cut = cut_call(events)
        for event in events:
            made.append(event)
            if isinstance(event, ToolCallEnd):
                call = self.generation.calls[self._known]
                if event is cut:
                    self._ids.skip()
                else:
                    call = call._replace(id=self._ids.next(call.id))
                    self.calls.append(call)
                    made += self.runs.take(call, None if event.complete else self._unreadable(call, event))
                self._known, self._end = self._known + 1, event.start
        return [*made, *self.runs.ended()]

    def _unreadable(self, call: ToolCall, end: ToolCallEnd) -> ToolResult:
        noted = [one.code for one in self.generation.parser.deviations if self._end <= one.position <= end.start]
        return unreadable_result(call, noted)

    async def run_tools(self, deadline: Deadline) -> AsyncIterator[ToolRunStart | ToolRunEnd]:
        """Run the tools that have waited for the end of the generation. After a broken generation, none is started."""
        await self.generation.close()
        if self.broken:
            await self.runs.cancel()
        else:
            for start in self.runs.start_rest():
                yield start
        while (end := await self.runs.next_ended(deadline)) is not None:
            yield end

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The assistant's message, and the results in the order of the calls. Stealth calls are left out.

        A call without an answer is left out, too, because the end cut it or the generation broke: a conversation must
        not have a call without its result. Calls that are handed back are included, because the caller will answer
        them.
        """
        runs, generation = self.runs, self.generation
        answered = [call for call in runs.calls if call.index in runs.results and call.index not in runs.stealth]
        calls = sorted([*answered, *runs.handed_back], key=lambda call: call.index)
        message = assistant_message(generation.content, generation.reasoning, calls)
        results = [runs.results[call.index] for call in answered]
        return [*([message] if message else ()), *tool_results(answered, results)]

    async def close(self) -> None:
        """Stop the running tools, and the engine."""
        try:
            await self.runs.cancel()
        finally:  # the caller may be cancelled while it waits for the tools
            await self.generation.close()
