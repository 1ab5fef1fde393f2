"""The fields of a row, as `Format.to_dict` and `Format.from_dict` have them: JSON or TOML, with lists for tuples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from ..errors import FormatError, suggestion

__all__ = ["Marker", "as_lists", "read_fields"]

Marker: TypeAlias = str | tuple[str, ...]
# fields with several markers, and their number
_PARTS = {"think": 2, "section": 2, "call": 3, "pair": 4, "element": 3, "value_type": 2, "cdata": 2}
_LISTS = ("stops", "turns", "drop", "answer", "keep")
_SWITCHES = ("wrapped", "control")


def read_fields(fields: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The fields with tuples for lists, as `Format` takes them. known: the names of its fields.

    Errors are those of `Format.from_dict`.
    """
    if not isinstance(fields, Mapping):
        raise FormatError(f"a format is an object with fields, not {type(fields).__name__}")
    if unknown := sorted(set(map(str, fields)) - set(known)):
        raise FormatError(f"unknown field {unknown[0]!r} of a format; {suggestion(unknown[0], known)}")
    if "name" not in fields:
        raise FormatError("a format needs the field 'name'")
    return {name: _field(name, value) for name, value in fields.items()}


def as_lists(value: Any) -> Any:
    """A field's value in the form of JSON and TOML."""
    if isinstance(value, tuple):
        return [as_lists(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value


def _field(name: str, value: Any) -> Any:
    if name in _PARTS:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or len(value) != _PARTS[name]:
            raise FormatError(f"{name} is a list of {_PARTS[name]} markers, not {value!r:.80}")
        return tuple(_marker(name, part) for part in value)
    if name in ("quote", "call_id", "attribute"):
        return _marker(name, value)
    if name in _LISTS:
        if not isinstance(value, (list, tuple)):
            raise FormatError(f"{name} is a list of strings, not {value!r:.80}")
        return tuple(_string(name, part) for part in value)
    if name in _SWITCHES:
        if not isinstance(value, bool) and not (name == "wrapped" and value == "read"):
            raise FormatError(f"{name} is true or false, not {value!r:.80}")
        return value
    if name in ("typed", "members"):
        if not isinstance(value, Mapping):
            raise FormatError(f"{name} is an object, not {value!r:.80}")
        return {_string(name, key): _string(name, kind) for key, kind in value.items()}
    return _string(name, value)


def _marker(name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_string(name, spelling) for spelling in value)
    return _string(name, value)


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{name} holds strings, not {value!r:.80}")
    return value
