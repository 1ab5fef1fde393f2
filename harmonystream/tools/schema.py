"""Simplifies generated JSON Schemas without changing their meaning, because models and templates read them, too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["simplified"]

_POINTER = "#/$defs/"


def simplified(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A generated schema without its title. Each of its `$defs` is put where it is used, unless it is recursive.

    A union of plain types is written as a list of types.
    """
    defs: Mapping[str, Any] = schema.get("$defs", {})
    kept: dict[str, Any] = {}
    top = {key: value for key, value in schema.items() if key != "$defs"}
    if (name := _target(top)) in defs:  # a recursive class refers to itself here, so its definition is the top
        top = {**_untitled(defs[name], name), **{key: value for key, value in top.items() if key != "$ref"}}
    body = _Inliner(defs, kept).schema(top)
    body.pop("title", None)
    return {**body, "$defs": kept} if kept else body


class _Inliner:
    def __init__(self, defs: Mapping[str, Any], kept: dict[str, Any]) -> None:
        self._defs = defs
        self._kept = kept
        self._recursive = {name for name in defs if name in _reached(defs, name)}

    def schema(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.schema(item) for item in node]
        if not isinstance(node, dict):
            return node
        name = _target(node)
        if name in self._recursive:
            if name not in self._kept:
                self._kept[name] = {}  # so that the walk through it ends
                self._kept[name] = self.schema(_untitled(self._defs[name], name))
            return node
        if name in self._defs:
            node = {**_untitled(self._defs[name], name), **{key: value for key, value in node.items() if key != "$ref"}}
        made = {
            key: value if key in _DATA else self._part(key, value)
            for key, value in node.items()
            if not _is_beyond_json(key, value)
        }
        return _merged(made)

    def _part(self, key: str, value: Any) -> Any:
        if key in _NAMED and isinstance(value, dict):  # its keys are the caller's names, not keywords
            return {name: self.schema(part) for name, part in value.items()}
        return self.schema(value)


_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
_DATA = frozenset({"default", "const", "enum", "examples"})


def _is_beyond_json(key: str, value: Any) -> bool:
    """Is it OpenAPI's `discriminator`, or a default that is not finite? The references of the former become invalid
    once definitions are put where they are used. JSON cannot write the latter.
    """
    if key == "discriminator":
        return isinstance(value, dict) and "propertyName" in value
    return key == "default" and not _is_finite(value)


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True


def _target(node: Mapping[str, Any]) -> str:
    pointer = node.get("$ref", "")
    return pointer[len(_POINTER) :] if isinstance(pointer, str) and pointer.startswith(_POINTER) else ""


def _untitled(node: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != "title" or value != name}


def _reached(defs: Mapping[str, Any], start: str) -> set[str]:
    """The definitions that one refers to, directly or through others."""
    found: set[str] = set()
    todo: list[Any] = [defs[start]]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        elif isinstance(node, dict):
            todo += node.values()
            name = _target(node)
            if name in defs and name not in found:
                found.add(name)
                todo.append(defs[name])
    return found


def _merged(node: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` of plain types as one list of types."""
    union = node.get("anyOf")
    if "type" in node or not isinstance(union, list) or not all(_is_plain(member) for member in union):
        return node
    types = [member["type"] for member in union]
    return {"type": types, **{key: value for key, value in node.items() if key != "anyOf"}}


def _is_plain(member: Any) -> bool:
    return isinstance(member, dict) and list(member) == ["type"] and isinstance(member["type"], str)
