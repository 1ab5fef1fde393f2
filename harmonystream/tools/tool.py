"""One tool: its description for the model, how it runs, and what its functions get of a call.

`Context` and `PendingCall` name the tool, and the tool names them, so the three classes are in one module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Generic, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from .._schema import TYPES, type_mask
from ..checks import check_flag, check_function, check_number, check_text, shown
from .binding import Binder, annotated

__all__ = ["Approve", "Context", "PendingCall", "Tool"]

MAX_NAME = 256
"""The most characters of a name."""
_NEVER = frozenset(" <>|")
"""A name is used among markers and words, where these characters would end it."""

_T = TypeVar("_T")

Approve: TypeAlias = "Callable[[PendingCall], Any]"
"""Decides about one call, directly or in a coroutine: True runs it, False or a reason (str) refuses it, a dict of other
arguments runs it with these. Everything else refuses it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. A tool without a function is only declared, and your program runs its calls.

    name: the name that the model uses in calls.
    description: text for the model.
    parameters: the JSON Schema of its arguments, an object. None means unknown; with a function, the schema is then
        made from the function's signature.
    function: runs a call, and is given the arguments by name. A coroutine function runs in the event loop, any other
        in a thread of its own.
    timeout: seconds that a run may take; None uses the limit of the `Tools`.
    when: called with the request by `Tools.offered`. If it returns False, this request does not get the tool.
    approve: called before each run (see `PendingCall`); None uses the function of the `Tools`.
    early: it may run while the model is still writing, beside anything else, because it changes nothing.
    required: the request should force this tool, if the engine can.
    stealth: its call ends the loop. The model does not see the result.
    message: text that a user may read while it runs: a string, or a function of the arguments.
    text_parameter: the parameter that gets the whole text of a call, for a tool that models call without JSON.
    strict: the API's field of that name, passed on.
    bind: checks the arguments; by default it is made from the function or the schema.
    context: the function's parameter that is annotated with `Context`, and gets the caller's context.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    function: Callable[..., Any] | None = None
    timeout: float | None = None
    when: Callable[[Any], object] | None = None
    approve: Approve | None = None
    early: bool = False
    required: bool = False
    stealth: bool = False
    message: str | Callable[[Mapping[str, Any]], str] | None = None
    text_parameter: str | None = None
    strict: bool | None = None
    bind: Binder | None = field(default=None, repr=False, compare=False)
    context: str | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        of = f" of tool {self.name!r}"
        check_text("description" + of, self.description, none=False)
        if self.parameters is not None and not isinstance(self.parameters, Mapping):
            raise TypeError(f"parameters{of} is a JSON Schema, an object, not {shown(self.parameters)}")
        kind = self.parameters.get("type", "object") if self.parameters else "object"
        if isinstance(kind, str) and type_mask(kind) != TYPES["object"]:
            raise ValueError(
                f"parameters{of} is the JSON Schema of an object, whose type is 'object', not {shown(kind)}"
            )
        check_number("timeout" + of, self.timeout, above=0, none=True)
        for option in ("function", "when", "approve", "bind"):
            check_function(option + of, getattr(self, option))
        for option in ("early", "required", "stealth"):
            check_flag(option + of, getattr(self, option))
        check_flag("strict" + of, self.strict, none=True)
        check_text("text_parameter" + of, self.text_parameter)
        if not callable(self.message):
            check_text("message" + of, self.message)
        if self.function is not None:
            object.__setattr__(self, "context", _context_parameter(self.function))
        if self.function is not None and self.bind is None:
            parameters, bind = _binding(self.function, self.parameters, self.context)
            object.__setattr__(self, "parameters", parameters)
            object.__setattr__(self, "bind", bind)

    def message_for(self, arguments: Mapping[str, Any]) -> str | None:
        """Text that a user may read while this call runs. None if the tool has none."""
        return self.message(arguments) if callable(self.message) else self.message


@dataclass(frozen=True)
class Context(Generic[_T]):
    """The context of one call. A function gets it in the parameter that is annotated with `Context`, whatever its name.

    The model cannot see or set this parameter. value: the `context=` of `Tools.run` or of the loop, such as a user's
    session or a database connection. None if none was passed.
    """

    value: _T
    tool: Tool
    call_id: str | None


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that waits for approval. The arguments fit the tool's schema. context: the context of the run."""

    tool: Tool
    call_id: str | None
    arguments: Mapping[str, Any]
    context: Any = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name


def check_name(name: object) -> None:
    """Raise unless this can be a tool's name: a printable string that is not too long."""
    if not isinstance(name, str):
        raise TypeError(f"a tool's name is a str, not {shown(name)}")
    if not name.isprintable() or not 0 < len(name) <= MAX_NAME or any(map(_NEVER.__contains__, name)):
        raise ValueError(
            f"a tool's name must be 1 to {MAX_NAME} printable characters without spaces and without any of <>|, "
            f"not {name[: MAX_NAME + 1]!r}: pass name="
        )


def _context_parameter(function: Callable[..., Any]) -> str | None:
    """The name of the parameter that gets the context. None if there is none. Raises TypeError if there are two."""
    try:
        hints = get_type_hints(annotated(function))
    except (AttributeError, NameError, TypeError, ValueError):  # code that needs the signature reports the error
        return None
    names = [name for name, hint in hints.items() if name != "return" and _is_context(hint)]
    if len(names) > 1:
        raise TypeError(f"a tool has one Context, and not {len(names)}: {', '.join(names)}")
    return names[0] if names else None


def _is_context(hint: Any) -> bool:
    """Is it `Context`, or `Context | None`? The latter is for functions that are also called without a context."""
    if get_origin(hint) in (Union, UnionType):
        return any(map(_is_context, get_args(hint)))
    return hint is Context or get_origin(hint) is Context


def _binding(
    function: Callable[..., Any], parameters: Mapping[str, Any] | None, context: str | None
) -> tuple[Mapping[str, Any], Binder]:
    if parameters is None:
        from .functions import Signature

        signature = Signature(function, context)
        return signature.parameters, signature.bind
    from .validation import SchemaBinder

    return parameters, SchemaBinder(parameters)
