"""An answer that must fit a type or a schema: the instructions for the model, and the answer read as an object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from inspect import isroutine
from typing import Any

from ..checks import shown

__all__ = ["AnswerError", "AnswerForm"]

_ASKED = "Write your answer as one JSON value that fits this JSON Schema, and nothing else:\n"
_AGAIN = "This answer does not fit: {}. Write it again, as one JSON value that fits the schema, and nothing else."
_FENCED = re.compile(r"```[a-zA-Z]*\n(.*?)\n?```", re.DOTALL)


class AnswerError(ValueError):
    """The answer did not fit, even after the model was sent the reason."""


class AnswerForm:
    """The form of an answer.

    declared: a type that pydantic knows, such as a model, a dataclass or `list[int]`, or a JSON Schema as a mapping.
    Raises TypeError or ValueError for anything else.
    """

    def __init__(self, declared: Any) -> None:
        if isinstance(declared, Mapping):
            from ..tools.validation import SchemaBinder

            self._check, self.schema = SchemaBinder(declared).checked, dict(declared)
        else:
            if isinstance(declared, str) or isroutine(declared):  # pydantic would make a schema of a function, too
                raise TypeError(f"answer is a type that pydantic knows, or a JSON Schema, not {shown(declared)}")
            from ..tools.functions import TypeCheck

            check = TypeCheck(declared, getattr(declared, "__name__", repr(declared)))
            self._check, self.schema = check.checked, check.schema

    @property
    def request(self) -> str:
        """The instructions for the system message."""
        return _ASKED + json.dumps(self.schema, ensure_ascii=False)

    @property
    def response_format(self) -> dict[str, Any]:
        """The `response_format` for a request of Chat Completions."""
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": self.schema}}

    def read(self, text: str) -> Any:
        """The object in the text. Raises AnswerError, with a message for the model."""
        try:
            return self._check(_value(text))
        except ValueError as error:
            raise AnswerError(str(error)) from None

    @staticmethod
    def repair(error: AnswerError) -> dict[str, str]:
        """The message that asks the model for another answer."""
        return {"role": "user", "content": _AGAIN.format(error)}


def _value(text: str) -> Any:
    """The JSON value in the text, which may be inside a Markdown fence."""
    fenced = _FENCED.search(text)
    for body in (text, *([fenced[1]] if fenced else ())):
        try:
            return json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    raise ValueError(f"it is not JSON: {reason}")


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
