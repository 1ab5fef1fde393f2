"""The grammar of a request, for engines that have xgrammar."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from xgrammar import StructuralTag

from ..errors import GrammarError
from ..grammars import grammar
from .model import Model, tool_dicts

__all__ = ["Start", "is_constrained", "tag_of"]

Start = Literal["content", "reasoning"]

_log = logging.getLogger("harmonystream")


def is_constrained(
    tools: Sequence[dict[str, Any]], choice: Any, *, parallel: bool, answer: Mapping[str, Any] | None
) -> bool:
    """Does a request with tools ask for more than an answer or calls, each as the model likes?"""
    if choice not in (None, "auto") or not parallel or answer is not None:
        return True
    return any((tool.get("function") or tool).get("strict") is True for tool in tools)


def tag_of(
    model: Model,
    tools: Sequence[Any],
    choice: Any,
    *,
    parallel: bool,
    strict: bool | None = None,
    start: Start = "content",
    answer: Mapping[str, Any] | None = None,
) -> Any:
    """xgrammar's `StructuralTag`; None if the format has no calls, or the answer's schema cannot be kept.

    choice: the request's `tool_choice`. strict, start: as in `hs.grammar`. answer: the JSON Schema of an answer. Then
    the output is either calls or this answer, unless a call is required.

    A strict tool must be called with arguments that fit. What cannot be kept of a schema is logged, and the grammar
    allows more there.
    """
    wanted, allowed = _choice(choice)
    given = [tool for tool in tool_dicts(tools) if allowed is None or _name(tool) in allowed]
    answer = answer if wanted in ("auto", "none") else None
    try:
        made = grammar(
            model.format,
            given,
            choice=wanted,
            parallel=parallel,
            strict=strict,
            start=start,
            answer=answer,
            exact=False,
        )
        tag = StructuralTag.model_validate_json(made.structural_tag(model.vocab))
    except GrammarError as error:
        _log.warning("no grammar for the calls of a request: %s", error)
        return None
    for note in made.wider("structural_tag", model.vocab):
        _log.warning("the grammar of a request allows more than it asks for: %s", note)
    return tag


def _choice(choice: Any) -> tuple[str, list[str] | None]:
    """The choice in the form of `hs.grammar`, and the names of the tools that may be called. None: all of them.

    Engines pass a word, a dict, or a pydantic object.
    """
    if choice is None or isinstance(choice, str):
        return choice or "auto", None
    fields = choice if isinstance(choice, dict) else choice.model_dump()
    if fields.get("type") == "allowed_tools":
        inner = fields.get("allowed_tools") or fields
        return inner.get("mode", "auto"), [_name(one) for one in inner.get("tools", ())]
    return "required", [_name(fields)]


def _name(fields: dict[str, Any]) -> str:
    """The name of a tool or a choice, in the form of one of OpenAI's APIs."""
    inner = fields.get("function")
    return str(inner["name"] if isinstance(inner, dict) else fields["name"])
