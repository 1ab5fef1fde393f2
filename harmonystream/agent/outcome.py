"""The events of the agent loop, beside the parser's events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .._native.stream.parser import Parser
from ..completion import ToolCall
from ..events import Event
from ..tools import ToolResult

__all__ = ["LoopEnd", "LoopEvent", "LoopReason", "RoundEnd", "Steered", "ToolRunEnd", "ToolRunStart"]

LoopReason: TypeAlias = Literal[
    "answer", "calls", "stealth", "rounds", "repeated", "tokens", "length", "timeout", "error", "invalid"
]
"""Why a loop ended.

- `answer`: the model answered and called nothing.
- `calls`: it called tools that have no function. `LoopEnd.calls` has these calls.
- `stealth`: it called a stealth tool.
- `rounds`: it still called tools when its rounds were used up, and was then to answer without tools.
- `repeated`: a round had only repeated calls, and the model was then to answer without tools.
- `tokens`, `timeout`: a limit of the loop.
- `length`: a generation was cut at its own limit.
- `error`: the engine failed. `LoopEnd.error` is its exception.
- `invalid`: the answer does not have the form of `answer=`. `LoopEnd.error` says why.
"""

Steered: TypeAlias = Literal["grammar", "call_begun", "form"]
"""What kept a generation to what was asked. `RoundEnd` says what each word means."""


@dataclass(frozen=True, slots=True)
class ToolRunStart:
    """A call is complete and gets its turn: it is checked, approved where a tool asks for that, and then runs.

    early: True if the model is still writing.
    message: text that a user may read while the tool runs, or None.
    """

    round: int
    call: ToolCall
    early: bool = False
    message: str | None = None


@dataclass(frozen=True, slots=True)
class ToolRunEnd:
    """A tool has run, or was not run after all. Each `ToolRunStart` has one. `result` is the text for the model."""

    round: int
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """A generation and its tools have ended.

    round: counted from 1.
    reason: why the generation ended, as in `StreamEnd`.
    messages: the messages that the round adds to the conversation, in Chat Completions' form.
    usage: the usage of this generation.
    parser: the parser that read it, with its token counts and its deviations.
    steered: "grammar": a grammar allowed only what was asked for. "call_begun": the loop wrote the beginning of a call
    for the model. "form": the engine kept the answer to its form. None: nothing kept the model to anything.
    """

    round: int
    reason: str | None
    messages: tuple[dict[str, Any], ...]
    usage: Mapping[str, Any]
    parser: Parser | None = field(default=None, repr=False, compare=False)
    steered: Steered | None = None


@dataclass(frozen=True, slots=True)
class LoopEnd:
    """The last event of a loop.

    text: the content of the last generation.
    calls: the calls without a result, because their tools have no function.
    called: the names of all tools that were called, in order.
    messages: the messages that the loop adds to the conversation.
    usage: the sum over all rounds.
    error: the exception of the engine, or the reason why the answer does not fit. None if there is neither.
    unanswered: calls of the last generation that were not run, because it had to answer without tools. They are neither
    in `called` nor in `messages`.
    answer: the answer as an object, if `answer=` asked for one. None otherwise.
    """

    reason: LoopReason
    text: str
    calls: tuple[ToolCall, ...] = ()
    called: tuple[str, ...] = ()
    messages: tuple[dict[str, Any], ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 0
    error: Exception | None = None
    unanswered: tuple[ToolCall, ...] = ()
    answer: Any = None

    @property
    def outcome(self) -> Literal["text", "calls", "neither"]:
        """The result: "text" to show, "calls" to answer, or "neither", for which the caller needs a plan."""
        if self.calls:
            return "calls"
        return "text" if self.text.strip() and not self.unanswered else "neither"


LoopEvent: TypeAlias = Event | ToolRunStart | ToolRunEnd | RoundEnd | LoopEnd
