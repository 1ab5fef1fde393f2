"""Tools that run in the gateway. All rounds of an agent are the answer to one request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, NamedTuple

from ..._native.stream.parser import Parser
from ...agent import LoopEnd, LoopEvent, RoundEnd, ToolRunEnd, ToolRunStart, agent_loop
from ...agent.steering import BYTES, Plan
from ...emit import ToolRun
from ...engines import EngineError, Finished, Sampling
from ...engines.base import Arrived, chat_usage
from ...events import Event, MessageEnd, ToolCallDelta, ToolCallEnd, ToolCallStart, ValueDelta, ValueEnd, ValueStart
from ...integrations.source import Parsed
from ...prompt import Prompt
from ...tools import Tools
from ..limits import Limits
from ..refused import Refused
from ..requests.request import ApiRequest
from ..requests.tool_choices import SERVER, pick, tool_name
from .model import Served
from .plans import plan_of

__all__ = ["Generate", "Round", "Rounds", "offered", "rounds_of"]

Generate = Callable[[Prompt, Sampling, "Plan | None"], AsyncIterator[Any]]
"""The items of one generation."""

_UNLIMITED = 1 << 20
"""The tokens of all rounds, if there is no limit."""
_OF_CALLS = (ToolCallDelta, ToolCallEnd, ValueStart, ValueDelta, ValueEnd)


class Round(NamedTuple):
    """A generation that has ended. in_text: did its parser read text, and so count bytes?"""

    parser: Parser
    in_text: bool
    prompt_tokens: int


def offered(model: Served, request: ApiRequest) -> Tools | None:
    """The tools of a request to a model that has tools here. None if none of them is offered.

    They are added to the request's own tools, whose calls the client runs. If a tool of the request has the same name
    as one here, the request's tool is offered. Afterwards `request.tools` has the tools that `tool_choice` permits.
    Raises `Refused` if the model cannot call tools, if the choice names a missing tool, or if the request cannot be
    answered in several generations.
    """
    if request.tools and model.no_calls is not None:
        what = f"This model cannot call tools: {model.no_calls}."
        refusal = Refused(400, what, param="tools", code="unsupported_parameter")
        request.unsupported.meet("tools", refusal, adds=request.choice == "none")
        request.tools = []
    if not request.tools and request.choice != "none":
        request.tools = list(model.model.tools)
    own = model.model.server_tools
    if own is None or request.choice == "none":
        pick(request)
        return None
    try:
        tools = own.with_declared(request.tools).offered(request.body)
    except (TypeError, ValueError) as error:
        raise Refused(400, f"A tool cannot be offered: {error}.", param="tools") from None
    declared = {tool_name(tool) for tool in request.tools}
    here = Tools(*(tool for tool in tools if tool.name not in declared))
    request.tools = [*request.tools, *here.schemas("chat")]
    pick(request, [tool.name for tool in here])
    kept = {tool_name(tool) for tool in request.tools}
    for name in [tool.name for tool in tools if tool.name not in kept]:
        tools.remove(name)
    if not any(tool.name in kept for tool in here):
        return None
    if request.logprobs is not None:
        option = request.logprobs_option
        what = f"{option} is not supported: this model's tools run here, and an answer may be several generations."
        raise Refused(400, what, param=option, code="unsupported_parameter")
    return tools


class Rounds:
    """One choice: the engine of an agent, and the rounds so far."""

    def __init__(self, model: Served, request: ApiRequest, generate: Generate, headers: Any, limits: Limits) -> None:
        self.rounds: list[Round] = []
        self._model, self._asked, self._generate, self._headers = model, request, generate, headers
        self._limits = limits
        self._in_text = False
        self._prompt_tokens = 0
        self._reason: str | None = None  # why the last generation ended
        self._stop: str | None = None  # the stop string that ended the last generation
        self._hides = False  # is the open call one that runs here?

    async def items(
        self, tools: Tools, on_run: Callable[[ToolRunEnd], None]
    ) -> AsyncGenerator[Parsed | Finished, None]:
        """The events for the client, and the end. on_run: called after each run of a tool.

        Raises what the engine raises, and EngineError if the time is over.
        """
        request, limits = self._asked, self._limits
        most = request.max_tokens or self._model.model.max_tokens or self._model.context or _UNLIMITED
        loop = agent_loop(
            self,
            request.messages,
            tools=tools,
            max_rounds=limits.tool_rounds,
            max_tokens=most,
            timeout=limits.total,
            request=request.body,
            sampling=Sampling(max_tokens=most),
            **self._model.prompt_options(request),
        )
        # the ends of a message and of a call; they are sent with the next event, which decides whether they were cut
        held: tuple[Event, ...] = ()
        async with aclosing(loop) as events:
            async for event in events:
                if isinstance(event, LoopEnd):
                    yield self._finished(event)
                elif isinstance(event, RoundEnd):
                    self._end_round(event)
                elif isinstance(event, (ToolRunStart, ToolRunEnd)):
                    if isinstance(event, ToolRunEnd):
                        on_run(event)
                    yield Parsed((*held, _run_of(event)))
                    held = ()
                elif self._is_shown(event, tools):
                    held = (*held, event)
                    if isinstance(event, MessageEnd) or (isinstance(event, ToolCallEnd) and not event.complete):
                        continue
                    yield Parsed(held)
                    held = ()

    def _is_shown(self, event: LoopEvent, tools: Tools) -> bool:
        """True for all events except those of a call that runs here. The client sees the run instead."""
        if isinstance(event, ToolCallStart):
            tool = tools.get(event.name)
            self._hides = tool is None or tool.function is not None
        return not (self._hides and isinstance(event, (ToolCallStart, *_OF_CALLS)))

    def _end_round(self, end: RoundEnd) -> None:
        assert end.parser is not None
        self.rounds.append(Round(end.parser, self._in_text, self._prompt_tokens))
        self._reason = end.reason

    def _finished(self, end: LoopEnd) -> Finished:
        if end.reason == "error":
            raise end.error or EngineError("the engine failed", "engine")
        if end.reason == "timeout":
            raise EngineError("the time for the answer is over", "timeout")
        usage = dict(end.usage)
        if "completion_tokens_details" not in usage and not self._in_text:
            reasoning = sum(one.parser.usage.reasoning for one in self.rounds)
            usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
        reason = "length" if end.reason in ("length", "tokens") else None if self._stop else self._reason
        return Finished(reason, usage, self._stop)

    async def generate(self, prompt: Any, sampling: Sampling) -> AsyncIterator[Any]:
        """The items of a round. If the request demands a call, only the first round has to make one."""
        request = self._asked if not self.rounds else replace(self._asked, choice="auto", named=False)
        self._prompt_tokens, self._stop, size = size_of(prompt), None, 0
        allowed = self._model.sampling(request, prompt, self._headers)
        sampling = replace(allowed, max_tokens=min(allowed.max_tokens, sampling.max_tokens))
        plan = plan_of(request, self._model.row, prompt, self._model.engines[0])
        source = self._generate(prompt, sampling, plan)
        async with aclosing(source) as found:  # type: ignore[type-var]
            async for come in found:
                for item in come.items if isinstance(come, Arrived) else (come,):
                    if isinstance(item, str):
                        self._in_text, size = True, size + len(item.encode("utf-8", "replace"))
                    elif isinstance(item, Finished):
                        self._stop = item.stop
                        if self._in_text and not item.usage:
                            item = replace(item, usage=chat_usage(self._prompt_tokens, size // BYTES))
                    yield item


def _run_of(event: ToolRunStart | ToolRunEnd) -> ToolRun:
    call = event.call
    run = ToolRun(SERVER, call.name, call.arguments, None, key=f"{event.round}.{call.index}")
    if isinstance(event, ToolRunStart):
        return run
    return run._replace(output=event.result.text, failed=event.result.error is not None)


def size_of(prompt: Any) -> int:
    """The tokens of a prompt. Of text, four bytes count as one."""
    return len(prompt.text) // BYTES if prompt.ids is None else len(prompt.ids)


def rounds_of(loops: Iterable[Rounds]) -> tuple[Sequence[Round], int]:
    """The rounds of all choices, the last ones first, and the number of tokens of their prompts."""
    rounds = [one for loop in loops for one in reversed(loop.rounds)]
    return rounds, sum(one.prompt_tokens for one in rounds)
