"""Checks arguments against a JSON Schema, repairs them if that is possible, and writes the error for the model."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from itertools import islice
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

MAX_MENDED = 32
"""Strings that are tried as JSON in one call. Each try validates all arguments, so that more would take long."""

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
            return (), arguments if self._validator.is_valid(arguments) else self._mended(copy.deepcopy(arguments))
        except RecursionError:
            raise ValueError("the arguments are nested too deeply") from None

    def _mended(self, arguments: dict[str, Any]) -> dict[str, Any]:
        tried: set[tuple[str | int, ...]] = set()
        while misfits := self._misfits(arguments):
            paths = (tuple(error.instance_path) for error in misfits)
            path = next((path for path in paths if path not in tried), None)
            if path is None or len(misfits) > MAX_MENDED or len(tried) == MAX_MENDED:
                raise ValueError(_described(misfits))
            tried.add(path)
            self._mend(arguments, path)
        return arguments

    def _misfits(self, arguments: dict[str, Any]) -> list[ValidationError]:
        """The first misfits, and one more than can be mended."""
        return list(islice(self._validator.iter_errors(arguments), MAX_MENDED + 1))

    def _mend(self, arguments: dict[str, Any], path: tuple[str | int, ...]) -> None:
        """Put the value of the JSON in place of a string, if this value is of a type that is allowed there."""
        parent: Any = None
        value: Any = arguments
        for step in path:
            key = str(step) if isinstance(value, dict) else step  # a path has a key "0" as the number
            parent = value
            if isinstance(parent, dict) and key not in parent:
                return
            value = parent[key]
        if parent is None or not isinstance(value, str):
            return
        try:
            parent[key] = json.loads(_LITERALS.get(value, value), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return
        after = [error for error in self._misfits(arguments) if tuple(error.instance_path) == path]
        if any(error.schema_path[-1] in _ABOUT_TYPES for error in after):
            parent[key] = value


_ABOUT_TYPES = frozenset({"type", "enum", "const", "anyOf", "oneOf"})
_LITERALS = {"True": "true", "False": "false", "None": "null"}


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is outside of this schema")


def _message(error: Exception) -> str:
    return error.message if isinstance(error, ValidationError) else str(error)


def _described(errors: list[ValidationError]) -> str:
    lines = [f"{'.'.join(map(str, one.instance_path)) or 'arguments'}: {one.message}" for one in errors[:MAX_ERRORS]]
    return "; ".join([*lines, "and more"] if len(errors) > MAX_ERRORS else lines)
