"""Listeners: functions that are called when something happens to a tool."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..checks import shown

if TYPE_CHECKING:
    from typing import TypeAlias

    from .results import ToolResult
    from .tool import Tool

__all__ = ["Answered", "Called", "Listeners", "Moment", "Registered"]

Moment: TypeAlias = Literal["registered", "called", "answered"]


class Registered(NamedTuple):
    """A tool is offered to a request."""

    tool: Tool
    request: Any


class Called(NamedTuple):
    """A call is about to run: its arguments fit, and it is approved."""

    tool: Tool
    call_id: str | None
    arguments: Mapping[str, Any]


class Answered(NamedTuple):
    """A call has its result. `tool` is None if no tool has this name."""

    tool: Tool | None
    result: ToolResult


_MOMENTS: dict[str, type] = {"registered": Registered, "called": Called, "answered": Answered}


class Listeners:
    """Functions, grouped by the moment of their call. Their exceptions are logged, and the tool's call continues."""

    def __init__(self) -> None:
        self._by_type: dict[type, list[Callable[[Any], object]]] = {made: [] for made in _MOMENTS.values()}

    def on(self, moment: Moment, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Call the listener at every such moment, until the returned function is called."""
        if moment not in _MOMENTS:
            raise ValueError(f"a moment is one of {', '.join(map(repr, _MOMENTS))}, not {moment!r}")
        if not callable(listener):
            raise TypeError(f"a listener is a function, not {shown(listener)}")
        if inspect.iscoroutinefunction(listener):
            raise TypeError("a listener is a plain function: start a task in it for what takes time")
        listening = self._by_type[_MOMENTS[moment]]
        entry = _Entry(listener)
        listening.append(entry)

        def stop() -> None:
            if entry in listening:
                listening.remove(entry)

        return stop

    def once(self, moment: Moment, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Call the listener at the next such moment only."""

        def first(happened: Any) -> None:
            stop()
            listener(happened)

        stop = self.on(moment, first)
        return stop

    def notify(self, happened: Registered | Called | Answered) -> None:
        for listener in list(self._by_type[type(happened)]):
            try:
                listener(happened)
            except Exception:
                logging.getLogger("harmonystream.tools").exception("a listener of %s raised", type(happened).__name__)


class _Entry:
    """One registration: the same function may be registered twice."""

    __slots__ = ("_listener",)

    def __init__(self, listener: Callable[[Any], object]) -> None:
        self._listener = listener

    def __call__(self, happened: Any) -> None:
        self._listener(happened)
