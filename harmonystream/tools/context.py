"""The context of a tool's call: objects of the application, which a tool gets beside the model's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from .tool import Tool

__all__ = ["Context", "annotated", "context_parameter"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Context(Generic[_T]):
    """The context of one call. A function gets it in the parameter that is annotated with `Context`, whatever its name.

    The model cannot see or set this parameter. value: the `context=` of `Tools.run` or of the loop, such as a user's
    session or a database connection. None if none was passed.
    """

    value: _T
    tool: Tool
    call_id: str | None


def context_parameter(function: Callable[..., Any]) -> str | None:
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


def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that has the annotations: the one inside decorators and partial(), or an object's __call__."""
    while (inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None)) is not None:
        function = inner
    is_plain = inspect.isroutine(function) or isinstance(function, type)
    return function if is_plain else type(function).__call__
