"""How a function takes the arguments of a call, and where it has its annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Binder", "Bound", "annotated"]

Bound: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and the keyword arguments that a function is called with."""

Binder: TypeAlias = Callable[[dict[str, Any]], Bound]
"""Checks a call's arguments and binds them for the function; raises ValueError with a message for the model."""


def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that has the annotations: the one inside decorators and partial(), or an object's __call__."""
    while (inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None)) is not None:
        function = inner
    is_plain = inspect.isroutine(function) or isinstance(function, type)
    return function if is_plain else type(function).__call__
