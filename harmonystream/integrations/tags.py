"""The grammar of a request's calls, for engines that have xgrammar."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

from xgrammar import StructuralTag
from xgrammar.structural_tag import OrFormat

from ..errors import GrammarError
from ..formats import HeaderFormat
from ..grammars import grammar
from .model import Model, tool_dicts

__all__ = ["tag_of"]

_log = logging.getLogger("harmonystream")


def tag_of(model: Model, tools: Sequence[Any], choice: Any, *, parallel: bool, thinks: bool = False) -> Any:
    """xgrammar's `StructuralTag`; None if the format has no calls.

    choice: the request's `tool_choice`. thinks: True if the prompt may have opened reasoning.

    A strict tool must be called with arguments that fit. What cannot be kept of a schema is logged, and the grammar
    allows more there.
    """
    row = model.format
    starts: list[Literal["content", "reasoning"]] = ["content"]
    if thinks and not isinstance(row, HeaderFormat) and row.think is not None:
        starts.append("reasoning")
    wanted, allowed = _choice(choice)
    given = [tool for tool in tool_dicts(tools) if allowed is None or _name(tool) in allowed]
    try:
        made = [grammar(row, given, choice=wanted, parallel=parallel, start=start, exact=False) for start in starts]
        tags = [StructuralTag.model_validate_json(one.structural_tag(model.vocab)) for one in made]
    except GrammarError as error:
        _log.warning("no grammar for the calls of a request: %s", error)
        return None
    for note in made[0].wider("structural_tag", model.vocab):
        _log.warning("the grammar of a request allows more than its tools: %s", note)
    return tags[0] if len(tags) == 1 else StructuralTag(format=OrFormat(elements=[one.format for one in tags]))


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
