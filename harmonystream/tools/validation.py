"""Arguments against a JSON Schema: what fits, what can be mended, and what the model is told."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

try:
    from jsonschema_rs import FancyRegexOptions, ReferencingError, ValidationError, validator_for
except ImportError as error:
    raise ImportError(
        "a tool that has a JSON Schema and a function needs jsonschema-rs: pip install 'harmonystream[tools]'"
    ) from error

if TYPE_CHECKING:
    from .tool import Bound

__all__ = ["SchemaBinder"]

MAX_ERRORS = 10
"""Misfits that are named to the model in one answer."""

MAX_MENDED = 100
"""Values that are mended in one call."""

BACKTRACK_LIMIT = 100_000
"""Steps that a `pattern` may go back while it is matched. More count as a misfit: models choose the text."""


class SchemaBinder:
    """Checks a call's arguments against a schema, and gives them by name.

    A string where the schema wants another type is read as JSON: `"5"` becomes 5, `"[1]"` an array. Raises ValueError
    for a schema that is not one, or refers to anything outside of itself: nothing is fetched.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        try:
            self._validator = validator_for(
                dict(schema),
                retriever=_refuse,
                pattern_options=FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT),
            )
        except (ValidationError, ReferencingError, ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"this is not a usable JSON Schema: {_message(error)}") from error

    def __call__(self, arguments: dict[str, Any]) -> Bound:
        try:
            misfit = next(self._validator.iter_errors(arguments), None)
            if misfit is not None:
                arguments = self._mended(arguments)
        except RecursionError:
            raise ValueError("the arguments are nested too deeply") from None
        return (), arguments

    def _mended(self, arguments: dict[str, Any]) -> dict[str, Any]:
        arguments = copy.deepcopy(arguments)
        for _ in range(MAX_MENDED):
            errors = list(self._validator.iter_errors(arguments))
            if not errors:
                return arguments
            if not any(self._mend(arguments, error) for error in errors):
                break
        raise ValueError(_described(list(self._validator.iter_errors(arguments))))

    def _mend(self, arguments: dict[str, Any], error: ValidationError) -> bool:
        """If an error is about a string, and the JSON in this string has no such error, put the value in its place."""
        path = list(error.instance_path)
        if not path:
            return False
        parent: Any = arguments
        for step in path[:-1]:
            parent = parent[step]
        text = parent[path[-1]]
        if not isinstance(text, str):
            return False
        try:
            parent[path[-1]] = json.loads(_LITERALS.get(text, text), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return False
        if any(list(other.instance_path) == path for other in self._validator.iter_errors(arguments)):
            parent[path[-1]] = text
            return False
        return True


_LITERALS = {"True": "true", "False": "false", "None": "null"}


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is outside of this schema")


def _message(error: Exception) -> str:
    return error.message if isinstance(error, ValidationError) else str(error)


def _described(errors: list[ValidationError]) -> str:
    lines = [f"{'.'.join(map(str, one.instance_path)) or 'arguments'}: {one.message}" for one in errors[:MAX_ERRORS]]
    more = [f"and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else []
    return "; ".join(lines + more)
