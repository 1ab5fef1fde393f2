"""The tools of one round: when each of them starts, and which calls are not run."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Iterator

from ..call_arguments import UNREADABLE, read_arguments
from ..completion import ToolCall
from ..tools import ToolResult, Tools
from ..tools.results import error_text
from .deadline import Deadline
from .outcome import ToolRunEnd, ToolRunStart

__all__ = ["Repeats", "ToolRuns"]

_CANCELLED = "the run was stopped before the tool had answered"


class Repeats:
    """Counts repeated calls over the rounds of a loop. A call is repeated if its name, its arguments as JSON values and
    its result are the same. A call whose result changes is polling, and may be made as often as the model likes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: dict[tuple[str, str], _Seen] = {}

    def add(self, call: ToolCall) -> bool:
        """Count a call that is about to run. Returns True, and does not count it, if it has given the same result too
        often.

        Calls that are still running count as if they gave the same result.
        """
        seen = self._seen.setdefault(_key(call), _Seen())
        if seen.same + seen.running > self._limit:
            return True
        seen.running += 1
        return False

    def answered(self, call: ToolCall, text: str) -> None:
        """Note the result of a call that was added."""
        seen = self._seen[_key(call)]
        seen.running -= 1
        seen.same = seen.same + 1 if seen.text == text else 1
        seen.text = text


class _Seen:
    """A call, with all repetitions of it. same: how many of the last results were `text`."""

    __slots__ = ("running", "same", "text")

    def __init__(self) -> None:
        self.running = self.same = 0
        self.text: str | None = None


def _key(call: ToolCall) -> tuple[str, str]:
    try:
        return call.name, json.dumps(json.loads(call.arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


class ToolRuns:
    """Runs the calls of one round. All of them run at the same time, within the limits of the `Tools`.

    tools: all tools. offered: those that the model may call in this round. context: the value for tools that have a
    `Context` parameter. may_run: False if the model was to answer without tools. Its calls are then `unanswered`.
    """

    def __init__(
        self,
        tools: Tools,
        offered: Tools,
        repeats: Repeats,
        round: int,
        *,
        context: object = None,
        may_run: bool = True,
    ) -> None:
        self._tools = tools
        self._offered = offered
        self._repeats = repeats
        self._round = round
        self._context = context
        self._may_run = may_run
        self._tasks: dict[asyncio.Task[ToolResult], ToolCall] = {}  # running tasks
        self._started: dict[int, float] = {}  # start times, by the call's index
        self.news: deque[ToolRunEnd] = deque()  # runs that have ended since `ended` was last called
        self.results: dict[int, ToolResult] = {}  # by the call's index
        self.calls: list[ToolCall] = []  # in order, without cut calls and calls of tools without a function
        self.handed_back: list[ToolCall] = []  # calls of tools without a function here
        self.unanswered: list[ToolCall] = []  # calls that came although no tool was offered
        self.refused = 0  # calls that were repeated too often
        self.stealth: set[int] = set()  # the indices of calls whose tools are stealth
        self.timed_out = False

    def take(self, call: ToolCall, unreadable: ToolResult | None = None) -> Iterator[ToolRunStart]:
        """Take a call that the model has closed, while it is still writing. The call starts now if its tool is an early
        one.

        unreadable: the result of a call that could not be read, and so does not run.
        """
        if not self._may_run:
            self.unanswered.append(call)
            return
        tool = self._tools.get(call.name)
        if tool is not None and call.name not in self._offered:
            self.calls.append(call)
            names = ", ".join(one.name for one in self._offered)
            advice = f"this tool cannot be called now; the tools are: {names}"
            self._end(call, ToolResult(call.id, call.name, error_text("refused", advice), "refused"))
            return
        if tool is not None and tool.function is None:
            self.handed_back.append(
                call if unreadable is None else call._replace(arguments=call.arguments + UNREADABLE)
            )
            return
        self.calls.append(call)
        if tool is not None and tool.stealth and unreadable is None:  # the model must see why it was not read
            self.stealth.add(call.index)
        if self._repeats.add(call):
            self.refused += 1
            advice = "this call has given the same result again and again: use it, or answer"
            self._end(call, ToolResult(call.id, call.name, error_text("refused", advice), "refused"))
        elif unreadable is not None:
            self._repeats.answered(call, unreadable.text)
            self._end(call, unreadable)
        elif tool is not None and tool.early:
            yield self._start(call, early=True)

    def start_rest(self) -> Iterator[ToolRunStart]:
        """Start the other calls, because the generation is over."""
        begun = {call.index for call in self._tasks.values()} | self.results.keys()
        for call in self.calls:
            if call.index not in begun:
                yield self._start(call, early=False)

    def ended(self) -> Iterator[ToolRunEnd]:
        """The runs that have ended since the last call."""
        while self.news:
            yield self.news.popleft()

    async def next_ended(self, deadline: Deadline) -> ToolRunEnd | None:
        """The next run that ends. None when all have ended."""
        while not self.news and self._tasks:
            try:
                with deadline:
                    await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            except TimeoutError:
                self.timed_out = True
                await self.cancel()
        return self.news.popleft() if self.news else None

    async def cancel(self) -> None:
        """Cancel the running tools, and wait until they have ended. These calls get results, too."""
        running = list(self._tasks)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _start(self, call: ToolCall, *, early: bool) -> ToolRunStart:
        work = self._tools.run(call, context=self._context)
        task = asyncio.create_task(work, name=f"harmonystream tool {call.name}")
        self._tasks[task] = call
        self._started[call.index] = time.monotonic()
        task.add_done_callback(self._done)
        return ToolRunStart(self._round, call, early, self._message(call))

    def _message(self, call: ToolCall) -> str | None:
        tool = self._tools.get(call.name)
        try:
            return None if tool is None else tool.message_for(read_arguments(call.arguments))
        except Exception:  # an error of the application's function, or of arguments that it did not expect
            return None

    def _done(self, task: asyncio.Task[ToolResult]) -> None:
        call = self._tasks.pop(task)
        if task.cancelled():
            seconds = time.monotonic() - self._started[call.index]
            result = ToolResult(call.id, call.name, error_text("cancelled", _CANCELLED), "cancelled", seconds)
        else:
            result = task.result()
        self._repeats.answered(call, result.text)
        self._end(call, result)

    def _end(self, call: ToolCall, result: ToolResult) -> None:
        self.results[call.index] = result
        self.news.append(ToolRunEnd(self._round, call, result))
