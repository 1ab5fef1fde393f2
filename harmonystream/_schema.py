"""Finds the JSON types that a tool's schema allows for its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

# The bits of the native core: TYPE_STRING and so on in ext/harmonystream/_native/core/types.pxd.
TYPES = {"string": 1, "integer": 2, "number": 4, "boolean": 8, "null": 16, "object": 32, "array": 64}

# Names of types from Python, SQL or Gemini's API that appear in schemas. A type is found by its first word, in any
# case, so that "int32", "list[str]" and "dict<string, int>" are also read. JSON Schema has none of these words.
_SPOKEN = {
    **dict.fromkeys(("str", "text", "char", "varchar"), "string"),
    **dict.fromkeys(("int", "uint", "long", "short", "bigint", "smallint"), "integer"),
    **dict.fromkeys(("num", "float", "double", "decimal", "real"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("none", "nonetype", "nil"), "null"),
    **dict.fromkeys(("dict", "map", "mapping", "struct"), "object"),
    **dict.fromkeys(("list", "arr", "tuple", "set", "sequence"), "array"),
}
_LONGEST_WORD = 16

MAX_STEPS = 20_000
"""How many subschemas and enum members are read for one tool. Parameters after that are untyped."""

MAX_POINTER = 1024
"""The limit for the characters of a `$ref`."""


_OTHER = frozenset({"enum", "const", "nullable"})
"""The keywords that may add types to the one that `type` names."""


_ITEMS = ("prefixItems", "items")
"""The keywords that may have a list of the schemas of items."""

_OTHERS = ("items", "additionalProperties")
"""The keywords that may have one schema for all undeclared members."""

_INNER = frozenset({"properties", *_ITEMS, *_OTHERS, "$ref", "anyOf", "oneOf", "allOf"})
"""The keywords that describe members, or refer to such a description."""


class _TooMuchError(Exception):
    """The schema would take too long."""


class Declared(NamedTuple):
    """The types in a tool's schema, as masks of TYPES. 0 stands for any type, or for an unknown one."""

    parameters: dict[str, int]
    """By name."""
    others: int = 0
    """The mask for undeclared keys: what `additionalProperties` allows."""


class Level:
    """The types of a value's members: a tool's arguments, or the members of an object or array in them."""

    __slots__ = ("inside", "other_inside", "others", "parameters")

    def __init__(self) -> None:
        self.parameters: dict[str, int] = {}
        """By name: a mask of TYPES, 0 for anything."""
        self.others = 0
        """The mask for undeclared members, and for the items of an array."""
        self.inside: dict[str, int] = {}
        """By name: the number of the member's own level. A name that is missing has none."""
        self.other_inside = 0
        """The same for undeclared members and for items. 0: none."""


def declared_types(tool: object) -> Declared:
    """The types of a tool's parameters.

    `tool` is a dict in the form of the Chat Completions, Responses or Messages API. Anything else declares no
    parameters. Never raises. An invalid schema is untyped.
    """
    top = declared_levels(tool)[0]
    return Declared(top.parameters, top.others)


def declared_levels(tool: object) -> list[Level]:
    """The types of a tool's parameters, and then those of their members, as far as the schema goes.

    `tool` is as for `declared_types`. A level that contains itself, through a `$ref`, is listed once. Never raises. An
    invalid schema is untyped.
    """
    if not isinstance(tool, Mapping):
        return [Level()]
    inner = tool.get("function")
    described = inner if isinstance(inner, Mapping) else tool
    schema = described.get("parameters")
    if schema is None:
        schema = described.get("input_schema")
    return _Reader(schema).levels() if isinstance(schema, Mapping) else [Level()]


class _Reader:
    """Walks one tool's schema with a list of open tasks. Depth needs no stack, and a cycle is visited once."""

    def __init__(self, root: Mapping[Any, Any]) -> None:
        self.root = root
        self.steps = 0
        self.targets: dict[str, object] = {}
        self.anchors: dict[str, object] | None = None  # by name, once a $ref needs one
        self.roots: list[list[object]] = [[root]]  # the schemas of each level
        self.numbers: dict[tuple[int, ...], int] = {}  # numbers of levels, by the identities of their schemas

    def levels(self) -> list[Level]:
        levels: list[Level] = []
        try:
            for roots in self.roots:  # this list grows
                levels.append(Level())
                self._fill(levels[-1], roots)
        except _TooMuchError:
            levels += [Level() for _ in range(len(self.roots) - len(levels))]
        return _without_empty(levels)

    def _fill(self, level: Level, roots: list[object]) -> None:
        found: dict[str, list[object]] = {}
        others: list[object] = []
        for name, schema in self._properties(roots, others):
            found.setdefault(name, []).append(schema)
        level.parameters = dict.fromkeys(found, 0)
        for name, schemas in found.items():
            mask = _simple(schemas[0]) if len(schemas) == 1 else None
            level.parameters[name] = self._types(schemas) if mask is None else mask
        level.others = self._types(others)
        level.inside = {name: number for name, schemas in found.items() if (number := self._number(schemas))}
        level.other_inside = self._number(others)

    def _number(self, schemas: list[object]) -> int:
        """The number of the level that these schemas describe together. 0 if they describe no members."""
        if not any(isinstance(schema, Mapping) and not _INNER.isdisjoint(schema) for schema in schemas):
            return 0
        number = self.numbers.setdefault(tuple(map(id, schemas)), len(self.roots))
        if number == len(self.roots):
            self._step()
            self.roots.append(schemas)
        return number

    def _step(self, n: int = 1) -> None:
        self.steps += n
        if self.steps > MAX_STEPS:
            raise _TooMuchError

    def _properties(self, roots: list[object], others: list[object]) -> Iterator[tuple[str, object]]:
        """The properties of these schemas and of their parts. The schemas of undeclared properties and of items are
        added to `others`.
        """
        seen = set()
        todo = list(roots)
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
            others += [part for key in _OTHERS if isinstance(part := node.get(key), Mapping)]
            for key in _ITEMS:
                parts = node.get(key)
                self._step(len(parts) if isinstance(parts, list) else 0)
                others += parts if isinstance(parts, list) else []
            todo += [part for part, _ in self._parts(node)]

    def _types(self, schemas: list[object]) -> int:
        """All types that at least one of these schemas allows. 0 if one of them allows everything."""
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
        """The types from `type`, `enum` and `const`, which unions beside them can only narrow. None if there
        are none.
        """
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
        masks = [type_mask(name) if isinstance(name, str) else 0 for name in names]
        if not masks:
            return None
        return sum(set(masks)) if all(masks) else 0

    def _parts(self, node: Mapping[Any, Any], silent: bool = False) -> list[tuple[object, bool]]:
        """The schemas in `$ref` and the unions, each with a flag: may it leave out types?

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
        """The target of a JSON pointer within the schema, or of an anchor's name. None if there is none."""
        if not isinstance(pointer, str) or len(pointer) > MAX_POINTER or pointer[:1] != "#":
            return None
        if pointer not in self.targets:
            decoded = _percent_decoded(pointer) if "%" in pointer else pointer
            is_path = decoded[:2] in ("#", "#/")
            self.targets[pointer] = self._resolved(decoded) if is_path else self._anchored().get(decoded[1:])
        return self.targets[pointer]

    def _anchored(self) -> dict[str, object]:
        """Every `$anchor` of the schema. If two have the same name, the first one counts."""
        if self.anchors is None:
            self.anchors = {}
            seen = set()
            todo: list[object] = [self.root]
            while todo:
                node = todo.pop()
                if id(node) in seen or not isinstance(node, (Mapping, list, tuple)):
                    continue
                seen.add(id(node))
                inner = list(node.values()) if isinstance(node, Mapping) else list(node)
                self._step(1 + len(inner))
                if isinstance(node, Mapping) and isinstance(name := node.get("$anchor"), str):
                    self.anchors.setdefault(name, node)
                todo += reversed(inner)
        return self.anchors

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


def _without_empty(levels: list[Level]) -> list[Level]:
    """The levels without those that describe no members. The others get new numbers."""
    kept = [i for i, level in enumerate(levels) if not i or level.parameters or level.others or level.other_inside]
    numbers = {old: new for new, old in enumerate(kept)}
    for level in levels:
        level.inside = {name: numbers[old] for name, old in level.inside.items() if old in numbers}
        level.other_inside = numbers.get(level.other_inside, 0)
    return [levels[i] for i in kept]


def _simple(schema: object) -> int | None:
    """The mask of a schema that only has one type, as most do. None for other schemas."""
    if type(schema) is dict and type(stated := schema.get("type")) is str and schema.keys().isdisjoint(_OTHER):
        return type_mask(stated) or None
    return None


def type_mask(name: str) -> int:
    """The bit of a type, by its name in JSON Schema or elsewhere. 0 if the name is unknown."""
    if known := TYPES.get(name):
        return known
    word = "".join(takewhile(str.isalpha, name[:_LONGEST_WORD])).lower()
    kind = _SPOKEN.get(word, word)
    rest = name[len(word) :]
    if rest.startswith(("[", "<")):  # list[str], dict<string, int>, string[]
        kind = "array" if rest == "[]" else kind if kind in ("array", "object") else ""
    elif rest and rest[0] not in "0123456789(":  # int32, varchar(20)
        kind = ""
    return TYPES.get(kind, 0)


def _percent_decoded(pointer: str) -> str:
    from urllib.parse import unquote  # few schemas need it

    return unquote(pointer)


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
