"""Which JSON types a tool's parameters may have, as far as the tool's schema says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# The bits of the native core: TYPE_STRING and so on in ext/harmonystream/_native/core/types.pxd.
TYPES = {"string": 1, "integer": 2, "number": 4, "boolean": 8, "null": 16, "object": 32, "array": 64}

MAX_STEPS = 20_000
"""Subschemas and enum members that are looked at for one tool; the parameters after that are untyped."""

MAX_POINTER = 1024
"""Characters of a `$ref`."""


_OTHER = frozenset({"enum", "const", "nullable"})
"""The keywords that may add types to the one that `type` names."""


class _TooMuchError(Exception):
    """The schema would take too long."""


def parameter_types(tool: object) -> dict[str, int]:
    """A mask of TYPES for each parameter that a tool declares; 0: it may be anything, or the schema does not say.

    `tool` is a dict as the Chat Completions, Responses and Messages APIs have it; anything else declares no parameters.
    Never raises; an invalid schema is untyped.
    """
    if not isinstance(tool, Mapping):
        return {}
    inner = tool.get("function")
    described = inner if isinstance(inner, Mapping) else tool
    schema = described.get("parameters")
    if schema is None:
        schema = described.get("input_schema")
    return _Reader(schema).parameters() if isinstance(schema, Mapping) else {}


class _Reader:
    """Walks one tool's schema with a list of what is to do: depth costs no stack, and a cycle is met once."""

    def __init__(self, root: Mapping[Any, Any]) -> None:
        self.root = root
        self.steps = 0
        self.targets: dict[str, object] = {}

    def parameters(self) -> dict[str, int]:
        found: dict[str, list[object]] = {}
        types: dict[str, int] = {}
        try:
            for name, schema in self._properties():
                found.setdefault(name, []).append(schema)
            types = dict.fromkeys(found, 0)
            for name, schemas in found.items():
                mask = _simple(schemas[0]) if len(schemas) == 1 else None
                types[name] = self._types(schemas) if mask is None else mask
        except _TooMuchError:
            pass
        return types

    def _step(self, n: int = 1) -> None:
        self.steps += n
        if self.steps > MAX_STEPS:
            raise _TooMuchError

    def _properties(self) -> Iterator[tuple[str, object]]:
        """The properties of the root and of what it is made of."""
        seen = set()
        todo: list[object] = [self.root]
        while todo:
            node = todo.pop()
            if not isinstance(node, Mapping) or id(node) in seen:
                continue
            seen.add(id(node))
            properties = node.get("properties")
            for name, schema in properties.items() if isinstance(properties, Mapping) else ():
                self._step()
                if isinstance(name, str):
                    yield name, schema
            todo += [part for part, _ in self._parts(node)]

    def _types(self, schemas: list[object]) -> int:
        """All types that one of these schemas allows; 0 if one of them allows everything."""
        mask = nullable = 0
        seen = set()
        todo = [(schema, False) for schema in schemas]
        while todo:
            node, silent = todo.pop()
            if (id(node), silent) in seen:
                continue
            seen.add((id(node), silent))
            self._step()
            own, parts = None, []
            if isinstance(node, Mapping):
                nullable |= TYPES["null"] if node.get("nullable") is True else 0
                own = self._own(node)
                parts = self._parts(node, silent) if own is None else []
            if not own and not parts and not silent:
                return 0
            mask |= own or 0
            todo += parts
        return mask and mask | nullable

    def _own(self, node: Mapping[Any, Any]) -> int | None:
        """The types by `type`, `enum` and `const`, which unions beside them can only narrow; None without them."""
        names: list[object] = []
        if "type" in node:
            stated = node["type"]
            names += stated if isinstance(stated, (list, tuple)) else [stated]
        enum = node.get("enum")
        values = list(enum) if isinstance(enum, (list, tuple)) else []
        if "const" in node:
            values.append(node["const"])
        self._step(len(names) + len(values))
        names += map(_type_of, values)
        masks = [TYPES.get(name, 0) if isinstance(name, str) else 0 for name in names]
        if not masks:
            return None
        return sum(set(masks)) if all(masks) else 0

    def _parts(self, node: Mapping[Any, Any], silent: bool = False) -> list[tuple[object, bool]]:
        """The schemas in `$ref` and the unions; with each, whether it may leave out types.

        In an `allOf` such a part only narrows the others; in an `anyOf` it allows everything.
        """
        parts = [(self._target(node["$ref"]), silent)] if "$ref" in node else []
        for key in ("anyOf", "oneOf", "allOf"):
            members = node.get(key)
            for member in members if isinstance(members, (list, tuple)) else ():
                self._step()
                parts.append((member, key == "allOf"))
        return parts

    def _target(self, pointer: object) -> object:
        """The target of a JSON pointer within the schema; None if there is none."""
        if not isinstance(pointer, str) or len(pointer) > MAX_POINTER or pointer[:2] not in ("#", "#/"):
            return None
        if pointer not in self.targets:
            self.targets[pointer] = self._resolved(pointer)
        return self.targets[pointer]

    def _resolved(self, pointer: str) -> object:
        node: object = self.root
        for part in pointer.split("/")[1:]:
            self._step()
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping):
                node = node.get(key)
            elif isinstance(node, (list, tuple)) and key.isdecimal() and key.isascii() and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
        return node


def _simple(schema: object) -> int | None:
    """The mask of a schema that says no more than one type, as most do; None for others."""
    if type(schema) is dict and type(stated := schema.get("type")) is str and schema.keys().isdisjoint(_OTHER):
        return TYPES.get(stated)
    return None


def _type_of(value: object) -> str | None:
    """The JSON type of an enum's member."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (list, tuple)):
        return "array"
    if isinstance(value, Mapping):
        return "object"
    kinds = ((str, "string"), (int, "integer"), (float, "number"))
    return next((name for kind, name in kinds if isinstance(value, kind)), None)
