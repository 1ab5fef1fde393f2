"""The agent loop: render, generate, parse, run the tools, and again until the model answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ..engines import Engine, Sampling
from ..engines.base import add_usage
from ..prompt import normalize, render
from ..tools import Tools
from .deadline import Deadline
from .generation import Generation
from .history import call_count
from .outcome import LoopEnd, LoopEvent, LoopReason, RoundEnd
from .round import Round
from .runs import Repeats, ToolRuns
from .support import supports_tools

__all__ = ["agent_loop"]


async def agent_loop(
    engine: Engine,
    messages: Any,
    *,
    tools: Tools | None = None,
    max_rounds: int = 8,
    max_tokens: int | None = None,
    timeout: float | None = None,
    max_repeats: int = 2,
    request: Any = None,
    sampling: Sampling | None = None,
    **prompt: Any,
) -> AsyncGenerator[LoopEvent, None]:
    """Generates, and runs the tools that the model calls, until it answers. Yields the parser's events and its own.

    messages, prompt: the conversation and the options of `render`. `LoopEnd.messages` has the messages to add.
    tools, request: the tools that the model may call, and the argument of their `when=`.
    max_rounds: the number of generations in which it may call them. In the next one it answers without tools.
    max_tokens, timeout: limits for all rounds, in tokens and seconds. max_repeats: of a call with the same arguments.

    The last event is a `LoopEnd`, whatever happens to the engine and to the tools. Exceptions of `render` and `when=`
    are raised. Close the generator (`contextlib.aclosing`) to leave it early: that stops the engine and the tools.
    """
    loop = _Loop(engine, normalize(messages), tools or Tools(), sampling or Sampling(), prompt, request)
    loop.limit(max_rounds, max_tokens, max_repeats)
    deadline = Deadline(timeout)
    try:
        while True:
            turn = loop.begin(deadline)
            try:
                with turn.generation:
                    async for item in turn.generation.items():
                        deadline.task = None  # the consumer's time does not count
                        for event in turn.take(item):
                            yield event
                        if turn.generation.ended:
                            break
                        deadline.enter()
                for event in turn.finish():
                    yield event
                async for run in turn.run_tools(deadline):
                    yield run
            finally:
                await turn.close()
            yield loop.end(turn)
            if (end := loop.ended(turn)) is not None:
                yield end
                return
    finally:
        deadline.close()


class _Loop:
    """What a loop knows beyond one round."""

    def __init__(
        self,
        engine: Engine,
        messages: list[dict[str, Any]],
        tools: Tools,
        sampling: Sampling,
        prompt: Mapping[str, Any],
        request: Any,
    ) -> None:
        self._engine = engine
        self._messages = messages
        self._tools = tools.offered(request)
        self._sampling = sampling
        self._prompt = prompt
        self._round = 0  # rounds that have begun
        self._last: LoopReason | None = None  # why this round is the last one, without tools; None: it is not
        self._next_call = call_count(messages)
        self._added: list[dict[str, Any]] = []
        self._called: list[str] = []
        self._usage: dict[str, Any] = {}

    def limit(self, max_rounds: int, max_tokens: int | None, max_repeats: int) -> None:
        """Sets the limits. Raises ValueError for numbers that are too small."""
        if max_rounds < 0 or max_repeats < 0:
            raise ValueError(f"max_rounds and max_repeats are 0 or more, not {max_rounds} and {max_repeats}")
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"max_tokens is 1 or more, or None, not {max_tokens}")
        self._max_rounds = max_rounds
        self._left = max_tokens  # tokens that may still be generated; None: any number
        self._repeats = Repeats(max_repeats)

    def begin(self, deadline: Deadline) -> Round:
        """The next round."""
        self._round += 1
        if self._round > self._max_rounds:
            self._last = self._last or "rounds"
        tools = self._tools if self._last is None else Tools()
        prompt = render([*self._messages, *self._added], tools=tools if len(tools) else None, **self._prompt)
        parser = prompt.parser(tools=tools)
        assert prompt.format is not None  # parser() refuses a prompt without one
        if len(tools) and not supports_tools(prompt.format):
            raise ValueError(f"there are tools, and the format {parser.format} has no calls: pass tools=None")
        sampling = self._sampling
        if self._cut_by_budget:
            assert self._left is not None
            sampling = replace(sampling, max_tokens=self._left)
        begin = partial(self._engine.generate, prompt, sampling)
        generation = Generation(begin, parser, len(prompt.ids or ()), deadline)
        return Round(self._round, generation, ToolRuns(tools, self._repeats, self._round), self._next_call)

    @property
    def _cut_by_budget(self) -> bool:
        """Is there less left of the loop's tokens than a generation may have?"""
        return self._left is not None and self._left < self._sampling.max_tokens

    def end(self, turn: Round) -> RoundEnd:
        """Add a round to the conversation."""
        messages, usage = turn.messages, turn.generation.usage
        self._added += messages
        self._called += [call.name for call in turn.calls]
        self._next_call += len(turn.generation.calls)
        add_usage(self._usage, usage)
        return RoundEnd(self._round, turn.generation.reason, tuple(messages), usage, turn.generation.parser)

    def ended(self, turn: Round) -> LoopEnd | None:
        """The end of the loop, if this round was the last one."""
        reason = self._reason(turn)
        if reason is None:
            return None
        return LoopEnd(
            reason=reason,
            text=turn.generation.content,
            calls=tuple(turn.runs.handed_back),
            called=tuple(self._called),
            messages=tuple(self._added),
            usage=self._usage,
            rounds=self._round,
            error=turn.generation.failure,
        )

    def _reason(self, turn: Round) -> LoopReason | None:
        """Why the loop ends here; None if it continues."""
        generation, runs = turn.generation, turn.runs
        cut_by_budget = self._cut_by_budget
        if self._left is not None:
            self._left -= int(generation.usage.get("completion_tokens") or 0)
        if generation.failure is not None:
            return "error"
        if generation.timed_out or runs.timed_out:
            return "timeout"
        if runs.stealth:
            return "stealth"
        if runs.handed_back:
            return "calls"
        if not runs.calls:
            if generation.reason == "length":
                return "tokens" if cut_by_budget else "length"
            return self._last or "answer"
        if self._left is not None and self._left < 1:
            return "tokens"
        if runs.refused == len(runs.calls):
            self._last = "repeated"
        return None
