"""What a tool is given beside the arguments that the model wrote: the application's own objects."""

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
    """The context of one call. A function gets it in the parameter that is annotated with `Context`, of any name.

    The model neither sees this parameter nor can set it. value: the `context=` of `Tools.run` or of the loop, such as a
    user's session or a connection to a database; None if there is none.
    """

    value: _T
    tool: Tool
    call_id: str | None


def context_parameter(function: Callable[..., Any]) -> str | None:
    """The name of the parameter that is given the context; None without one. Raises TypeError for two of them."""
    try:
        hints = get_type_hints(annotated(function))
    except (AttributeError, NameError, TypeError, ValueError):  # whoever needs the signature reports that
        return None
    names = [name for name, hint in hints.items() if name != "return" and _is_context(hint)]
    if len(names) > 1:
        raise TypeError(f"a tool has one Context, and not {len(names)}: {', '.join(names)}")
    return names[0] if names else None


def _is_context(hint: Any) -> bool:
    """Also `Context | None`, of a function that is called without one elsewhere."""
    if get_origin(hint) in (Union, UnionType):
        return any(map(_is_context, get_args(hint)))
    return hint is Context or get_origin(hint) is Context


def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that has the annotations: without decorators and partial(), or the __call__ of an object."""
    while (inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None)) is not None:
        function = inner
    is_plain = inspect.isroutine(function) or isinstance(function, type)
    return function if is_plain else type(function).__call__
