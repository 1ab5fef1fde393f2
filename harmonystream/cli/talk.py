"""The conversation of `harmonystream chat`: what the user writes, its commands, and how a turn is shown."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ..agent import LoopEnd, LoopEvent, RoundEnd, ToolRunEnd, ToolRunStart, agent_loop_sync
from ..engines import Engine
from ..errors import HarmonyStreamError, suggestion
from ..events import ContentDelta
from ..prompt import tool_results
from ..tools import Tools
from .show import Show

__all__ = ["Talk", "messages"]

_COMMANDS = {
    "/help": "these commands",
    "/reset": "begin again, after the system message",
    "/undo": "take back your last message and all that followed it",
    "/save": "/save FILE writes the conversation as JSON, which `harmonystream render FILE` reads",
    "/tools": "the tools that the model may call",
}


class Talk:
    """A conversation: its messages, and how a turn is shown. ask: is the user asked before a tool runs?

    failed: did the last answer end with an error?
    """

    def __init__(self, engine: Engine, tools: Tools, show: Show, options: dict[str, Any], ask: bool = False) -> None:
        self.messages: list[dict[str, Any]] = []
        self.show = show
        self.failed = False
        self._engine = engine
        self._tools = tools
        self._options = options
        self._content: list[str] = []  # content of the present round
        self._first = 0  # how many messages /reset keeps
        self._always: set[str] = set()  # tools that the user always allows
        self._asks = ask
        if ask:
            tools.approve = self._approve

    def begin(self, messages: list[dict[str, Any]]) -> None:
        """The messages before the first of the user."""
        self.messages, self._first = messages, len(messages)

    def take(self, text: str) -> None:
        """What the user has written: a command, or a message, which is answered."""
        name, _, rest = text.partition(" ")
        if not name.startswith("/") or "\n" in text:
            return self.answer(text)
        if name not in _COMMANDS:
            end = suggestion(name, _COMMANDS)
            return self.show.line(f"{name} is not a command; {end}", "bad")
        commands = (self._help, self._reset, self._undo, self._save, self._list_tools)
        return dict(zip(_COMMANDS, commands))[name](rest.strip())

    def answer(self, text: str) -> None:
        """One turn of the user, and all that the model does until it is the user's turn again."""
        self.messages.append({"role": "user", "content": text})
        self._content, self.failed = [], False
        events = agent_loop_sync(self._engine, tuple(self.messages), tools=self._tools, **self._options)
        try:
            with closing(events):
                for event in events:
                    self._take(event)
        except KeyboardInterrupt:
            if self._content:
                self.messages.append({"role": "assistant", "content": "".join(self._content)})
            self.show.line("stopped", "bad")
        except (HarmonyStreamError, ImportError, OSError, TypeError, ValueError) as error:
            self.failed = True
            self.show.line(str(error), "bad")
        if self.failed and self.messages[-1]["role"] == "user":  # many templates refuse two in a row
            self.messages.pop()
            self.show.line("Your message was not answered, and is not kept.", "note")

    # --- commands -------------------------------------------------------------------------------------------------

    def _help(self, _: str) -> None:
        for name, what in _COMMANDS.items():
            self.show.line(f"{name:8}{what}", "note")

    def _reset(self, _: str) -> None:
        del self.messages[self._first :]
        self.show.line("The conversation begins again.", "note")

    def _undo(self, _: str) -> None:
        mine = [i for i, message in enumerate(self.messages) if message["role"] == "user"]
        if not mine:
            return self.show.line("There is nothing to take back.", "bad")
        taken = self.messages[mine[-1]]["content"]
        del self.messages[mine[-1] :]
        return self.show.line(f"Taken back: {taken.splitlines()[0][:60]}", "note")

    def _save(self, name: str) -> None:
        if not name:
            return self.show.line("/save needs the name of a file: /save talk.json", "bad")
        try:
            text = json.dumps({"messages": self.messages}, ensure_ascii=False, indent=2) + "\n"
            Path(name).expanduser().write_text(text, encoding="utf-8")
        except OSError as error:
            return self.show.line(f"{name}: {error.strerror}", "bad")
        return self.show.line(f"{len(self.messages)} messages are in {name}.", "note")

    def _list_tools(self, _: str) -> None:
        for tool in self._tools:
            self.show.line(
                f"{tool.name}  {tool.description.splitlines()[0] if tool.description else ''}".rstrip(), "note"
            )
        if not len(self._tools):
            self.show.line("There are no tools, or they are an MCP server's, which is asked at each turn.", "note")

    async def _approve(self, pending: Any) -> bool:
        name = pending.tool.name
        if name in self._always:
            return True
        arguments = json.dumps(dict(pending.arguments), ensure_ascii=False, default=str)
        self.show.line(f"{name}({arguments})", "call")
        answer = _asked("run it? [y]es, [n]o, [a]lways: ").lower()
        if answer.startswith("a"):
            self._always.add(name)
        return answer[:1] in ("y", "a")

    # --- what is shown --------------------------------------------------------------------------------------------

    def _take(self, event: LoopEvent) -> None:
        show = self.show
        match event:
            case ToolRunStart(call=call, message=message):
                if not self._asks:  # then the question says it
                    show.line(message or f"{call.name} runs", "note")
            case ToolRunEnd(call=call, result=result):
                show.quote(f"result of {call.name}" + (f" ({result.error})" if result.error else ""), result.text)
                show.line()
            case RoundEnd(messages=messages):
                self.messages += messages
                self._content = []
            case LoopEnd():
                self._end(event)
            case _:
                if isinstance(event, ContentDelta):
                    self._content.append(event.text)
                show.add(event)

    def _end(self, end: LoopEnd) -> None:
        usage = end.usage
        counted = f"{usage.get('prompt_tokens', 0)} + {usage.get('completion_tokens', 0)} tokens"
        rounds = "1 round" if end.rounds == 1 else f"{end.rounds} rounds"
        self.show.gap()
        if end.error is not None:
            self.failed = True
            self.show.line(f"error: {end.error}", "bad")
        for call in end.calls:
            self.show.line(f"{call.name} has no function here", "bad")
        self.messages += tool_results(end.calls, ["This tool cannot be run here."] * len(end.calls))
        self.show.line(f"{end.reason} · {rounds} · {counted}", "note")


def _asked(question: str) -> str:
    """What the user answers while the agent loop runs; "" if the input has ended.

    The loop delays Ctrl-C. During a question Ctrl-C ends the question and then reaches the loop.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return input(question).strip()
    except EOFError:
        return ""
    except KeyboardInterrupt:
        print()
        signal.signal(signal.SIGINT, handler)
        signal.raise_signal(signal.SIGINT)
        return ""
    finally:
        signal.signal(signal.SIGINT, handler)


def messages() -> Iterator[str]:
    """What the user writes. Pasted lines are one message, and a backslash at the end of a line goes on in the next.

    Where the input is not a terminal, each line is a message. An interrupt at the prompt begins a new message.
    """
    prompt = "> " if sys.stdin.isatty() else ""
    if prompt:
        with suppress(ImportError):  # with it, input() edits lines, keeps a history, and takes pasted lines as one
            import_module("readline").parse_and_bind("set enable-bracketed-paste on")
    while True:
        try:
            text = input(prompt)
            while prompt and text.endswith("\\"):
                text = text[:-1] + "\n" + input(". ")
        except EOFError:
            if prompt:
                print()
            return
        except KeyboardInterrupt:
            if not prompt:
                raise
            print("\nCtrl-D leaves.")
            continue
        if text.strip():
            yield text.strip()
