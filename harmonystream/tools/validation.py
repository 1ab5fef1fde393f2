"""Checks values against a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from .mending import MAX_MENDED, Misfit, mended

try:
    from jsonschema_rs import FancyRegexOptions, ReferencingError, ValidationError, validator_for
except ImportError as error:
    raise ImportError(
        "checking against a JSON Schema needs jsonschema-rs: pip install 'harmonystream[tools]'"
    ) from error

if TYPE_CHECKING:
    from .binding import Bound

__all__ = ["SchemaBinder"]

BACKTRACK_LIMIT = 100_000
"""How many steps a `pattern` may backtrack. More count as a misfit, because models choose the text."""

_ABOUT_TYPES = frozenset({"type", "enum", "const", "anyOf", "oneOf"})


class SchemaBinder:
    """Checks a call's arguments against a schema, and returns them by name.

    A string is read as JSON if the schema expects another type: `"5"` becomes 5, and `"[1]"` an array. Raises
    ValueError if the schema is invalid, or refers to anything outside of itself, because nothing is fetched.
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
        return (), self.checked(arguments)

    def checked(self, value: Any) -> Any:
        """The value, repaired if needed. Raises ValueError, with a message for the model."""
        try:
            return value if self._validator.is_valid(value) else mended(value, self._misfits)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None

    def _misfits(self, value: Any) -> list[Misfit]:
        found = islice(self._validator.iter_errors(value), MAX_MENDED + 1)
        return [Misfit(tuple(one.instance_path), one.message, one.schema_path[-1] in _ABOUT_TYPES) for one in found]


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is outside of this schema")


def _message(error: Exception) -> str:
    return error.message if isinstance(error, ValidationError) else str(error)
