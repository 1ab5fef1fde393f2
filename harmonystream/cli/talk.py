"""The conversation of `harmonystream chat`: what the user writes, and how a turn is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import import_module
from typing import Any

from ..agent import LoopEnd, LoopEvent, RoundEnd, ToolRunEnd, ToolRunStart, agent_loop_sync
from ..engines import Engine
from ..errors import HarmonyStreamError
from ..events import ContentDelta
from ..prompt import tool_results
from ..tools import Tools
from .show import Show

__all__ = ["Talk", "lines"]


class Talk:
    """A conversation: its messages, and how a turn is shown."""

    def __init__(self, engine: Engine, tools: Tools, show: Show, options: dict[str, Any]) -> None:
        self.messages: list[dict[str, Any]] = []
        self.show = show
        self._engine = engine
        self._tools = tools
        self._options = options
        self._said: list[str] = []  # content of the present round

    def answer(self, text: str) -> None:
        """One turn of the user, and all that the model does until it is the user's turn again."""
        self.messages.append({"role": "user", "content": text})
        self._said = []
        events = agent_loop_sync(self._engine, tuple(self.messages), tools=self._tools, **self._options)
        try:
            with closing(events):
                for event in events:
                    self._take(event)
        except KeyboardInterrupt:
            if self._said:
                self.messages.append({"role": "assistant", "content": "".join(self._said)})
            self.show.line("stopped", "bad")
        except (HarmonyStreamError, ImportError, OSError, TypeError, ValueError) as error:
            self.show.line(str(error), "bad")

    def _take(self, event: LoopEvent) -> None:
        show = self.show
        match event:
            case ToolRunStart(call=call, message=message):
                show.line(message or f"{call.name} runs", "note")
            case ToolRunEnd(call=call, result=result):
                show.quote(f"result of {call.name}" + (f" ({result.error})" if result.error else ""), result.text)
                show.line()
            case RoundEnd(messages=messages):
                self.messages += messages
                self._said = []
            case LoopEnd():
                self._end(event)
            case _:
                if isinstance(event, ContentDelta):
                    self._said.append(event.text)
                show.add(event)

    def _end(self, end: LoopEnd) -> None:
        usage = end.usage
        counted = f"{usage.get('prompt_tokens', 0)} + {usage.get('completion_tokens', 0)} tokens"
        rounds = "1 round" if end.rounds == 1 else f"{end.rounds} rounds"
        self.show.gap()
        if end.error is not None:
            self.show.line(f"error: {end.error}", "bad")
        for call in end.calls:
            self.show.line(f"{call.name} has no function here", "bad")
        self.messages += tool_results(end.calls, ["This tool cannot be run here."] * len(end.calls))
        self.show.line(f"{end.reason} · {rounds} · {counted}", "note")


def lines() -> Iterator[str]:
    """What the user writes. An interrupt at the prompt begins a new line."""
    prompt = "> " if sys.stdin.isatty() else ""
    if prompt:
        with suppress(ImportError):  # with it, input() edits lines and keeps a history
            import_module("readline")
    while True:
        try:
            line = input(prompt).strip()
        except EOFError:
            if prompt:
                print()
            return
        except KeyboardInterrupt:
            if not prompt:
                raise
            print("\nCtrl-D leaves.")
            continue
        if line:
            yield line
