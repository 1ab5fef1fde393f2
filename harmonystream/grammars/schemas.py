"""JSON Schemas of arguments, and of values that a format writes apart from the schema around them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import GrammarError

__all__ = [
    "NOTES",
    "RecursiveError",
    "Schema",
    "canonical",
    "check_size",
    "closed",
    "is_small",
    "loads",
    "plain",
    "quoted",
    "target",
    "text_alone",
    "value_text",
    "with_definitions",
]

_MOST_DEPTH = 64  # of a schema
_MOST_NODES = 20_000  # of a schema
_MOST_WRITTEN = 2_000  # parts of a schema that is not written as JSON
_MOST_FOLLOWED = 64  # references, one after the other
_MOST_REPEATED = 2  # a schema that refers to itself is written out this many times inside of itself
_DEFINITIONS = ("$defs", "definitions")
_ALONE = ("#/$defs/", "#/definitions/")  # references that also hold where a value stands alone
NOTES = frozenset(
    (
        *("title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "strict"),
        *("readOnly", "writeOnly", "nullable", *_DEFINITIONS),
    )
)
"""Keywords that say nothing about what a value is."""


class RecursiveError(GrammarError):
    """A schema contains itself, and a value cannot be written out that far."""


def canonical(schema: Any) -> str:
    """The same text for equal schemas. The order of properties counts, because it is the order of arguments."""
    try:
        return _dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise GrammarError(f"a schema is not JSON: {error}") from error


def _slow_dumps(schema: Any) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=dict)


loads: Callable[[str], Any] = json.loads

try:
    import orjson

    loads = orjson.loads

    def _dumps(schema: Any) -> str:
        return orjson.dumps(schema, default=dict).decode()
except ImportError:  # it is only faster
    _dumps = _slow_dumps


def value_text(value: Any) -> str:
    """A value of an enum, as JSON."""
    return quoted(value) if type(value) is str else json.dumps(value, ensure_ascii=False)


quoted = json.encoder.encode_basestring
"""A string as JSON."""


def closed(schema: Any) -> Any:
    """The schema, in which objects have only their own properties unless it allows others."""
    if isinstance(schema, Mapping) and "properties" in schema and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema


def is_small(text: str) -> bool:
    """Is a schema surely not too large? text: the schema as JSON."""
    return len(text) <= _MOST_NODES and text.count("{") + text.count("[") <= _MOST_DEPTH


def check_size(schema: Any, what: str) -> None:
    """Raises GrammarError for a schema that is too large for backends."""
    waiting, seen = [(schema, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if depth > _MOST_DEPTH or seen > _MOST_NODES:
            size = f"deeper than {_MOST_DEPTH} levels" if depth > _MOST_DEPTH else f"larger than {_MOST_NODES:,} parts"
            raise GrammarError(f"the schema of {what} is {size}")
        inner = node.values() if isinstance(node, Mapping) else node if isinstance(node, (list, tuple)) else ()
        waiting += [(one, depth + 1) for one in inner]


def plain(schema: Any) -> dict[str, Any] | None:
    """The schema without notes, if each backend and each format keep what is left as it is. None: they may not.

    Most schemas are of this kind: types, enums of strings, arrays, and objects with declared members.
    """
    if type(schema) is not dict:
        return None
    kind, keywords = schema.get("type"), schema.keys()
    if type(kind) is str and keywords <= _OF_PLAIN_VALUES:
        return _ONLY_TYPES.get(kind)
    if kind == "object":
        return _plain_object(schema) if keywords <= _OF_PLAIN_OBJECTS else None
    if kind == "array":
        item = plain(schema.get("items")) if keywords <= _OF_PLAIN_ARRAYS else None
        return None if item is None else {"type": "array", "items": item}
    if "enum" in schema:
        values = schema["enum"]
        if kind in ("string", None) and keywords <= _OF_PLAIN_ENUMS and _are_strings(values) and values:
            return {"enum": values} if kind is None else {"type": "string", "enum": values}
    return None


def _plain_object(schema: dict[str, Any]) -> dict[str, Any] | None:
    members, required = schema.get("properties"), schema.get("required", [])
    if not members or type(members) is not dict or schema.get("additionalProperties", False) is not False:
        return None
    if not _are_strings(required) or not members.keys() >= set(required):
        return None
    kept: dict[str, Any] = {}
    for name, member in members.items():
        found = kept[name] = plain(member)
        if found is None:
            return None
    made = {"type": "object", "properties": kept, "required": required}
    if "additionalProperties" in schema:
        made["additionalProperties"] = False
    return made


def _are_strings(values: Any) -> bool:
    return type(values) is list and set(map(type, values)) <= _STRINGS


_STRINGS = {str}
_ONLY_TYPES = {kind: {"type": kind} for kind in ("string", "integer", "number", "boolean", "null")}
_OF_PLAIN_VALUES = (NOTES - {*_DEFINITIONS}) | {"type"}
_OF_PLAIN_ENUMS = _OF_PLAIN_VALUES | {"enum"}
_OF_PLAIN_ARRAYS = _OF_PLAIN_VALUES | {"items"}
_OF_PLAIN_OBJECTS = _OF_PLAIN_VALUES | {"properties", "required", "additionalProperties"}


class Schema:
    """The schema of one value.

    node: the schema. References to definitions, and an `allOf` of one schema, have been followed. root: the whole
    schema that it is a part of. refs: the references that were followed on the way to it. what: its name in errors.
    times: how often it is written out. written: the number of parts of the whole schema that are written out.

    Raises GrammarError for a reference that leads nowhere, or out of the schema, and for a schema of too many parts,
    and RecursiveError for a schema inside of itself more often than a grammar can write it out.
    """

    __slots__ = ("node", "refs", "root", "times", "what", "written")

    def __init__(
        self,
        node: Any,
        root: Any,
        refs: tuple[str, ...] = (),
        what: str = "",
        times: int = 1,
        written: list[int] | None = None,
    ) -> None:
        self.root, self.refs, self.what = root, refs, what
        self.node = node
        self.times, self.written = times, [0] if written is None else written
        self.written[0] += times
        if self.written[0] > _MOST_WRITTEN:
            raise GrammarError(f"{what} has more than {_MOST_WRITTEN:,} parts where all of them are written out")
        if isinstance(node, Mapping) and not _FOLLOWED.isdisjoint(node):
            self._follow()

    def _follow(self) -> None:
        for _ in range(_MOST_FOLLOWED):
            node = self.node
            if not isinstance(node, Mapping):
                return
            if "$ref" in node:
                keyword, ref = "$ref", node["$ref"]
                if self.refs.count(ref) > _MOST_REPEATED:
                    raise RecursiveError(f"a schema contains itself: {ref!r}")
                found, self.refs = target(self.root, ref), (*self.refs, ref)
            elif isinstance(node.get("allOf"), (list, tuple)) and len(node["allOf"]) == 1:
                keyword, found = "allOf", node["allOf"][0]
            else:
                return
            beside = {name: value for name, value in node.items() if name != keyword}
            if not beside.keys() - NOTES:
                self.node = found
            elif isinstance(found, Mapping) and not (beside.keys() & found.keys() - NOTES):
                self.node = {**found, **beside}
            else:
                raise GrammarError(f"a schema with {keyword!r} has more keywords beside it: {sorted(beside)}")
        raise GrammarError("a schema refers to itself")

    def part(self, node: Any, name: str = "", times: int = 1) -> Schema:
        """The schema of a value inside of this one's. name: the value's, if it has one. times: its number."""
        what = f"{self.what}.{name}" if name else self.what
        return Schema(node, self.root, self.refs, what, self.times * times, self.written)

    def get(self, keyword: str) -> Any:
        return self.node.get(keyword) if isinstance(self.node, Mapping) else None

    @property
    def properties(self) -> Mapping[str, Any]:
        found = self.get("properties")
        return found if isinstance(found, Mapping) else {}

    @property
    def required(self) -> frozenset[str]:
        names = self.get("required")
        return frozenset(name for name in names if isinstance(name, str)) if _is_list(names) else frozenset()

    @property
    def items(self) -> Schema | None:
        """The schema of an array's items. None if it says nothing about them."""
        found, most = self.get("items"), self.get("maxItems")
        times = most if type(most) is int and most > 0 else 1
        return self.part(found, "items", times) if isinstance(found, Mapping) else None

    def keywords(self) -> frozenset[str]:
        """Those that say what a value is."""
        return frozenset(self.node) - NOTES if isinstance(self.node, Mapping) else frozenset()

    def values(self) -> Sequence[Any] | None:
        """The only values that are allowed. None: it does not list them."""
        if not isinstance(self.node, Mapping):
            return None
        if "const" in self.node:
            return [self.node["const"]]
        found = self.node.get("enum")
        return found if _is_list(found) else None

    @property
    def type(self) -> str:
        """The JSON type, "any" without one."""
        if not isinstance(self.node, Mapping):
            return "any"
        found = self.node.get("type")
        if isinstance(found, str):
            return found
        return "object" if "properties" in self.node else "array" if "items" in self.node else "any"

    def ways(self) -> list[Schema]:
        """The schemas of one type each that together allow the same values."""
        found: list[Schema] = []
        waiting, steps = [self], 0
        while waiting:
            one = waiting.pop()
            steps += 1
            if steps > _MOST_NODES:
                raise GrammarError("a schema refers to itself")
            unions = list(one._union())
            waiting += reversed(unions)
            if not unions:
                found.append(one)
        return found

    def _union(self) -> Iterator[Schema]:
        if not isinstance(self.node, Mapping):
            return
        for keyword in ("anyOf", "oneOf"):
            members = self.node.get(keyword)
            if _is_list(members) and members and self.keywords() == {keyword}:
                yield from map(self.part, members)
                return
        types = self.node.get("type")
        if _is_list(types) and types and self.values() is None:
            for one in types:
                yield self.part({**self.node, "type": one})

    def text(self) -> str:
        """The schema as JSON, with the definitions that it refers to."""
        return text_alone(self.node, self.root)


_FOLLOWED = frozenset(("$ref", "allOf"))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def text_alone(schema: Any, root: Any) -> str:
    """A part of a schema as JSON, with the definitions that it refers to."""
    made = canonical(schema)
    if '"$ref"' not in made or schema is root:
        return made
    return canonical({**schema, **{name: root[name] for name in _DEFINITIONS if name in root}})


def target(root: Any, ref: Any) -> Any:
    """What a reference in a schema leads to. Raises GrammarError if it leads nowhere, or out of the schema."""
    node = root
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        raise GrammarError(f"a reference leads out of the schema: {ref!r}")
    for part in ref.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and name in node:
            node = node[name]
        elif isinstance(node, (list, tuple)) and name.isdecimal() and name.isascii() and int(name) < len(node):
            node = node[int(name)]
        else:
            raise GrammarError(f"a reference leads nowhere: {ref!r}")
    return node


def with_definitions(schema: Any) -> Any:
    """The same schema, in which all references lead to definitions, so that its parts can take these with them.

    Raises GrammarError for a reference that leads nowhere, or out of the schema.
    """
    refs = set[str]()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if isinstance(node.get("$ref"), str):
                refs.add(node["$ref"])
            waiting += node.values()
        elif _is_list(node):
            waiting += node
    for ref in refs:
        target(schema, ref)
    if all(ref.startswith(_ALONE) for ref in refs):
        return schema
    name = "arguments"
    while name in schema.get("$defs", ()):
        name += "_"

    def moved(node: Any) -> Any:
        if isinstance(node, Mapping):
            made = {key: moved(value) for key, value in node.items()}
            ref = made.get("$ref")
            if isinstance(ref, str) and (ref == "#" or ref.startswith("#/")) and not ref.startswith(_ALONE):
                made["$ref"] = f"#/$defs/{name}{ref[1:]}"
            return made
        return list(map(moved, node)) if _is_list(node) else node

    made = moved(schema)
    inner = {key: value for key, value in made.items() if key not in _DEFINITIONS}
    return {**made, "$defs": {**made.get("$defs", {}), name: inner}}
