"""Names that had another place or spelling before 1.0. They work until 1.0 is released, with a warning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, ParamSpec, TypeVar
from warnings import warn

__all__ = ["ROOMS", "found", "make_callable", "renamed"]

ROOMS = {
    **dict.fromkeys(("Batch", "Columns", "Frames"), "batch"),
    **dict.fromkeys(("CallDelta", "Delta", "JsonScanner", "Markup", "TextLimit"), "inside"),
    **dict.fromkeys(("Prompt", "Template", "normalize", "tool_results"), "prompts"),
    **dict.fromkeys(("LoopEnd", "RoundEnd", "ToolRunEnd", "ToolRunStart"), "agent"),
    **dict.fromkeys(("Parsed", "ParsedChunks", "label_many", "parse_chunks", "parse_many"), "columns"),
    **dict.fromkeys(("EmitterError", "EngineError", "FormatError", "GrammarError"), "errors"),
    **dict.fromkeys(("ParseError", "PromptError", "VocabError"), "errors"),
    "Grammar": "grammars",
    "asdict": "events",
}
"""A name that the package itself had -> the module that has it now."""

_Taken = ParamSpec("_Taken")
_Made = TypeVar("_Made")


def _warn(old: str, new: str) -> None:
    warn(f"{old} is {new} now; the old spelling goes with version 1.0", DeprecationWarning, stacklevel=3)


def found(name: str) -> Any:
    """The object that `harmonystream.NAME` was."""
    room = ROOMS[name]
    value = getattr(import_module(f"harmonystream.{room}"), name)
    warn(
        f"harmonystream.{name} is harmonystream.{room}.{name} now; the old spelling goes with version 1.0",
        DeprecationWarning,
        stacklevel=3,  # the line that reads the attribute; __getattr__ is in between
    )
    return value


def make_callable(module: ModuleType, old: str, new: str, function: Callable[..., Any]) -> None:
    """Make a module callable as the function that had its name."""

    class Callable(ModuleType):
        def __call__(self, *args: Any, **options: Any) -> Any:
            _warn(f"harmonystream.{old}", f"harmonystream.{new}")
            return function(*args, **options)

    module.__class__ = Callable


def renamed(**names: str) -> Callable[[Callable[_Taken, _Made]], Callable[_Taken, _Made]]:
    """Let a function also take keyword arguments by their old names. names: old=new."""

    def decorated(function: Callable[_Taken, _Made]) -> Callable[_Taken, _Made]:
        @functools.wraps(function)
        def taking(*args: _Taken.args, **options: _Taken.kwargs) -> _Made:
            for old in names.keys() & options.keys():
                new = names[old]
                if new in options:
                    raise TypeError(f"{function.__name__}() got {old}= and {new}=, which are one")
                _warn(f"{old}= of {function.__name__}()", f"{new}=")
                options[new] = options.pop(old)
            return function(*args, **options)

        return taking

    return decorated
