"""Adds our formats to xgrammar's own list of models, for use of xgrammar without an engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from xgrammar import StructuralTag
from xgrammar.builtin_structural_tag import register_model_structural_tag

from ..formats import format_of, names
from ..grammars import grammar
from ..vocab import Vocab
from .model import tool_dicts

__all__ = ["PREFIX", "register"]

PREFIX = "harmonystream_"


def register(formats: Iterable[str] | None = None, vocab: Vocab | None = None) -> list[str]:
    """Register formats for `xgrammar.get_model_structural_tag`, and return their names there: `harmonystream_glm` etc.

    formats: None registers all that call tools. vocab: the model's, whose control tokens become token ids. None:
    markers are text. The `strict` of each tool determines whether its arguments must fit. A schema that xgrammar does
    not keep is an error that names the tool and the keyword.
    """
    if formats is None:
        formats = [name for name in names() if _calls(name)]
    made = []
    for name in formats:
        register_model_structural_tag(PREFIX + name)(partial(_tag, name, vocab))
        made.append(PREFIX + name)
    return made


def _calls(name: str) -> bool:
    row = format_of(name)
    return getattr(row, "call", ()) is not None or getattr(row, "section", ()) is not None


def _tag(
    name: str,
    vocab: Vocab | None,
    tools: Any = None,
    builtin_tools: Any = None,
    tool_choice: str = "auto",
    reasoning: str = "enabled",
    parallel_tool_calls: bool = True,
    **_: Any,
) -> StructuralTag:
    if builtin_tools:
        raise ValueError("a format of harmonystream has no tools that are built in: pass functions")
    made = grammar(
        name,
        tool_dicts(tools or ()),
        choice="required" if tool_choice == "forced" else tool_choice,  # the named tool is then the only one
        parallel=parallel_tool_calls,
        reasoning="none" if reasoning == "disabled" else "allowed",
    )
    return StructuralTag.model_validate_json(made.structural_tag(vocab))
