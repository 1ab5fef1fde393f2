"""The agent loop: render, generate, parse, run the tools, and repeat until the model answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from ..checks import check_number, check_text, shown
from ..engines import Engine, Output, Sampling
from ..engines.base import add_usage
from ..errors import EngineError, PromptError
from ..formats import Format, HeaderFormat
from ..prompt import Prompt, Template, normalize, render
from ..prompt.rendering import Day
from ..tools import Tools
from .answers import AnswerError, AnswerForm
from .deadline import Deadline
from .generation import Generation
from .given import AnyEngine, AnySampling, engine_of, hint, prompt_options, sampling_of, tools_of, with_system
from .history import CallIds, continued, length
from .outcome import LoopEnd, LoopEvent, LoopReason, RoundEnd
from .round import Round
from .runs import Repeats, ToolRuns
from .steering import Plan, call_plan, steered
from .support import supports_tools

__all__ = ["agent_loop"]

LONG = 1 << 15
"""From this many characters on, a conversation's prompt is written in a thread, so that other tasks can run."""


async def agent_loop(
    engine: AnyEngine,
    messages: Any,
    *,
    tools: Any = None,
    system: str | None = None,
    answer: Any = None,
    tool_choice: str = "auto",
    context: Any = None,
    request: Any = None,
    max_rounds: int = 8,
    max_tokens: int | None = None,
    timeout: float | None = None,
    max_repeats: int = 2,
    sampling: AnySampling = None,
    model: str | None = None,
    format: str | Format | HeaderFormat | None = None,
    template: str | os.PathLike[str] | Template | None = None,
    vocab: Any = None,
    reasoning: str | None = None,
    thinking: bool | None = None,
    date: Day = "today",
    dialect: str | None = None,
    **variables: Any,
) -> AsyncGenerator[LoopEvent, None]:
    """Generate, and run the tools that the model calls, until it answers. Yields the parser's events and the loop's
    own.

    engine: an engine, or the URL of a server that has `/v1/completions`.
    messages: the conversation, as `render` takes it. `LoopEnd.messages` has the messages to add.
    tools: `Tools`, one tool or several: functions, definitions, classes. MCP servers of `Tools` that are not entered
    are connected while the loop runs.
    system: text for the system message. It goes before the system message of the conversation.
    answer: the form of the answer, as a type that pydantic knows or as a JSON Schema. `LoopEnd.answer` is the object.
    An answer that does not fit is sent back once, with the reason.
    tool_choice: "auto"; "none": tools are not offered; "required", or a tool's name: the first round calls one.
    context: the value for tools that have a `Context` parameter. request: the argument of the tools' `when=`.
    max_rounds: in how many generations the model may call tools. The next generation answers without tools.
    max_tokens, timeout: limits for all rounds together, in tokens and seconds.
    max_repeats: how often a call with the same arguments may give the same result again.
    sampling: a `Sampling`, or a dict of its fields.
    model, format, template, vocab, reasoning, thinking, date, dialect, variables: as for `render`. An engine that knows
    its model (`TransformersEngine`, `Completions`) fills in what you do not pass.

    The last event is a `LoopEnd`, even if the engine or the tools fail. Exceptions of `render` and `when=` are raised.
    To leave early, close the generator (`contextlib.aclosing`), which stops the engine and the tools.
    """
    options: dict[str, Any] = {
        "model": model,
        "format": format,
        "template": template,
        "vocab": vocab,
        "reasoning": reasoning,
        "thinking": thinking,
        "dialect": dialect,
    }
    given = {**{name: value for name, value in options.items() if value is not None}, "date": date, **variables}
    loop = _Loop(engine_of(engine), normalize(messages), sampling_of(sampling), variables)
    loop.limit(max_rounds, max_tokens, max_repeats)
    loop.ask(system, answer)
    check_number("timeout", timeout, least=0, none=True)
    if not isinstance(tool_choice, str):
        raise TypeError(f"tool_choice is 'auto', 'none', 'required' or the name of a tool, not {shown(tool_choice)}")
    deadline = Deadline(timeout)
    try:
        async with AsyncExitStack() as stack:
            known = await stack.enter_async_context(tools_of(tools).connected())
            loop.offer(known.offered(request), tool_choice, context)
            if (end := await loop.find_model(given)) is not None:
                yield end
                return
            while True:
                turn = await loop.begin(deadline)
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
                ended = loop.ended(turn)
                yield loop.end(turn)
                if ended is not None:
                    yield loop.last(turn, ended)
                    return
    finally:
        deadline.close()


class _Loop:
    """What a loop remembers between rounds."""

    def __init__(
        self, engine: Engine, messages: list[dict[str, Any]], sampling: Sampling, variables: Mapping[str, Any]
    ) -> None:
        self._engine = engine
        self._messages = messages
        self._sampling = sampling
        self._variables = variables
        self._prompt: dict[str, Any] = {}
        self._round = 0  # how many rounds have begun
        self._last: LoopReason | None = None  # why this round is the last one, without tools; None if it is not
        self._ids = CallIds(messages)
        self._added: list[dict[str, Any]] = []
        self._called: list[str] = []
        self._usage: dict[str, Any] = {}
        self._answer: Any = None
        self._misfit: AnswerError | None = None  # why the last answer did not fit
        self._asked_again: list[dict[str, Any]] = []  # the message that asks for another answer, until a round sends it

    def limit(self, max_rounds: int, max_tokens: int | None, max_repeats: int) -> None:
        """Set the limits. Raises ValueError for numbers that are too small."""
        check_number("max_rounds", max_rounds, least=0, whole=True)
        check_number("max_repeats", max_repeats, least=0, whole=True)
        check_number("max_tokens", max_tokens, least=1, whole=True, none=True)
        self._max_rounds = max_rounds
        self._left = max_tokens  # how many tokens may still be generated; None: any number
        self._repeats = Repeats(max_repeats)

    def ask(self, system: str | None, answer: Any) -> None:
        """Set the text of the system message, and the form of the answer."""
        check_text("system", system)
        self._form = None if answer is None else AnswerForm(answer)
        texts = [text for text in (system, None if self._form is None else self._form.request) if text is not None]
        self._messages = with_system(self._messages, "\n\n".join(texts))

    def offer(self, tools: Tools, choice: str, context: Any) -> None:
        """Set the tools, and those that the first round must call. Raises ValueError for an unknown tool."""
        self._tools, self._context = tools, context
        self._offers = choice != "none"
        self._forced = Tools()  # one of these must be called
        if choice == "required":
            self._forced = tools
        elif choice not in ("auto", "none"):
            if choice not in tools:
                names = ", ".join(tool.name for tool in tools) or "none"
                raise ValueError(
                    f"tool_choice is 'auto', 'none', 'required' or the name of a tool, not {choice!r}; "
                    f"the tools are {names}"
                )
            self._forced = tools.only(choice)
        if choice == "required" and not len(tools):
            raise ValueError("tool_choice is 'required', and no tool is offered: pass tools=")

    async def find_model(self, given: Mapping[str, Any]) -> LoopEnd | None:
        """Set the options of the prompt. If the engine cannot be asked for its model, the loop ends."""
        try:
            self._prompt = await prompt_options(self._engine, given)
        except EngineError as error:
            return LoopEnd("error", "", error=error)
        return None

    async def begin(self, deadline: Deadline) -> Round:
        """The next round."""
        self._round += 1
        if self._round > self._max_rounds:
            self._last = self._last or "rounds"
        forced = self._forced if self._round == 1 and self._last is None else Tools()
        tools = forced if len(forced) else self._tools
        offers = self._offers and self._last is None and len(tools) > 0
        prompt = await self._render(tools if offers else None)
        # Offered tools and read tools differ: a model may call a tool that is no longer offered.
        parser = prompt.parser(tools=self._tools)
        assert prompt.format is not None  # parser() refuses a prompt without a format
        if len(self._tools) and not supports_tools(prompt.format):
            raise ValueError(f"there are tools, and the format {parser.format} has no calls: pass tools=None")
        sampling = self._sampling
        if self._cut_by_budget:
            assert self._left is not None
            sampling = replace(sampling, max_tokens=self._left)
        plan = self._plan(prompt, forced, offers)
        generation = Generation(lambda: self._generate(prompt, sampling, plan), parser, prompt, sampling, deadline)
        may_run = self._last is None and self._offers
        runs = ToolRuns(self._tools, tools, self._repeats, self._round, context=self._context, may_run=may_run)
        return Round(self._round, generation, runs, self._ids, None if plan is None else plan.how)

    async def _render(self, tools: Tools | None) -> Prompt:
        messages, options = [*self._messages, *self._added], self._prompt
        if self._added and options.get("continue_final"):
            messages, options = continued(self._messages, self._added), {**options, "continue_final": False}
        write = partial(render, messages, tools=tools, **options)
        try:
            return await asyncio.to_thread(write) if length(messages) >= LONG else write()
        except PromptError as error:
            raise hint(error, self._variables, signature(agent_loop).parameters) from error

    def _plan(self, prompt: Prompt, forced: Tools, offers: bool) -> Plan | None:
        """The plan for the generation. None leaves it unchanged."""
        plan = call_plan(prompt, [tool.name for tool in forced], list(forced), self._engine) if len(forced) else Plan()
        constrain = getattr(self._engine, "form_fields", None)
        if self._form is not None and constrain is not None and (not offers or isinstance(prompt.format, HeaderFormat)):
            plan = plan._replace(form=constrain(self._form.response_format))
        return None if plan == Plan() else plan

    def _generate(self, prompt: Prompt, sampling: Sampling, plan: Plan | None) -> AsyncIterator[Output]:
        if plan is None:
            return self._engine.generate(prompt, sampling)
        return steered(self._engine.generate, prompt, sampling, plan)

    @property
    def _cut_by_budget(self) -> bool:
        """Has the loop fewer tokens left than a generation may have?"""
        return self._left is not None and self._left < self._sampling.max_tokens

    def end(self, turn: Round) -> RoundEnd:
        """Add a round to the conversation."""
        messages, usage = [*turn.messages, *self._asked_again], turn.generation.usage
        self._asked_again = []
        self._added += messages
        self._called += [call.name for call in turn.calls if call not in turn.runs.unanswered]
        add_usage(self._usage, usage)
        parser, reason = turn.generation.parser, turn.generation.reason
        return RoundEnd(self._round, reason, tuple(messages), usage, parser, turn.steered)

    def last(self, turn: Round, reason: LoopReason) -> LoopEnd:
        """The end of the loop, after its last round."""
        error: Exception | None = turn.generation.failure
        if reason == "invalid":
            error = self._misfit
        return LoopEnd(
            reason=reason,
            text=turn.generation.content,
            calls=tuple(turn.runs.handed_back),
            called=tuple(self._called),
            messages=tuple(self._added),
            usage=self._usage,
            rounds=self._round,
            error=error,
            unanswered=tuple(turn.runs.unanswered),
            answer=self._answer,
        )

    def ended(self, turn: Round) -> LoopReason | None:
        """Why the loop ends after this round; None if it continues."""
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
            return self._answered(turn)
        if self._left is not None and self._left < 1:
            return "tokens"
        if runs.refused == len(runs.calls):
            self._last = "repeated"
        return None

    def _answered(self, turn: Round) -> LoopReason | None:
        """The model has called no tool that runs here. Does its answer fit?"""
        reason = self._last or "answer"
        if self._form is None:
            return reason
        before, self._misfit = self._misfit, None
        if turn.runs.unanswered:
            self._misfit = before
            return reason if before is None else "invalid"
        try:
            self._answer = self._form.read(turn.generation.content)
        except AnswerError as error:
            self._misfit = error
            if before is not None or (self._left is not None and self._left < 1):
                return "invalid"
            self._asked_again, self._last = [AnswerForm.repair(error)], reason
            return None
        return reason
