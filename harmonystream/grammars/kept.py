"""Which keywords of a JSON Schema a backend keeps. What it does not keep is found here, not by a wrong call.

xgrammar passes over keywords that it does not know, and llguidance refuses a whole grammar because of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ..errors import GrammarError
from .patterns import rewritten, sized
from .schemas import NOTES, canonical, loads, plain, target

__all__ = ["Fitted", "are_apart", "fitted", "is_typed"]

_BOTH = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "const", "anyOf"),
        *("minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "oneOf"),
        *("minLength", "maxLength", "pattern", "format", "patternProperties", "minProperties", "maxProperties"),
        *("$ref", "allOf"),
    )
)
_FORMATS = frozenset(("date", "time", "date-time", "duration", "hostname", "ipv4", "ipv6", "uuid"))
_LOOSE_FORMATS = frozenset(("email", "uri"))  # their strings may contain any marker
_OF_TYPES = {
    "string": frozenset(("minLength", "maxLength", "pattern", "format")),
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    "object": frozenset(("required", "additionalProperties", "patternProperties", "minProperties", "maxProperties")),
    "array": frozenset(("prefixItems", "minItems", "maxItems")),
}
_UNTYPED = frozenset().union(*_OF_TYPES.values())
_CONTROL = "".join(map(chr, range(0x20)))
_MOST_COMPARED = 64
_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
_SINGLE = ("additionalProperties", "items", "propertyNames")


class Fitted(NamedTuple):
    """A schema as a backend takes it.

    text: the same as JSON. lost: each keyword that the backend does not keep, and its place.
    """

    schema: Any
    text: str
    lost: tuple[tuple[str, str], ...]


@lru_cache(2048)
def fitted(text: str, backend: Literal["xgrammar", "llguidance"], without: tuple[str, ...] = ()) -> Fitted:
    """The schema for this backend. What it does not keep is left out, so that the schema allows more.

    without: strings that strings in quotes must not contain.
    """
    schema = loads(text)
    if (kept := plain(schema)) is not None:
        return Fitted(kept, text, ())
    writer = _Writer(schema, backend, without)
    made = writer.fit(schema, ())
    return Fitted(made, canonical(made), tuple(dict.fromkeys(writer.lost)))


def is_typed(value: Any, kind: Any) -> bool:
    """Is a value of this JSON type, or of one of these?"""
    if isinstance(kind, (list, tuple)):
        return any(is_typed(value, one) for one in kind)
    if kind in ("integer", "number"):
        whole = isinstance(value, int) or (isinstance(value, float) and (kind == "number" or value.is_integer()))
        return whole and not isinstance(value, bool)
    return isinstance(value, _TYPES.get(kind, ()))


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list, tuple),
    "object": (dict,),
}


def are_apart(members: Sequence[Any], root: Any) -> bool:
    """Is it sure that no value fits two of these schemas? Then `oneOf` and `anyOf` are the same."""
    if len(members) > _MOST_COMPARED:
        return False
    known = [_resolved(one, root) for one in members]
    return all(_differ(one, other, root) for at, one in enumerate(known) for other in known[:at])


def _resolved(schema: Any, root: Any) -> Any:
    for _ in range(_MOST_COMPARED):
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            break
        try:
            schema = target(root, schema["$ref"])
        except GrammarError:
            break
    return schema


def _differ(one: Any, other: Any, root: Any) -> bool:
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one is False or other is False
    values, others = _values(one), _values(other)
    if values is not None and others is not None:
        return values.isdisjoint(others)
    kinds, more = _kinds(one), _kinds(other)
    if kinds is not None and more is not None and kinds.isdisjoint(more):
        return True
    both = set(_list(one.get("required"))) & set(_list(other.get("required")))
    if kinds != {"object"} or more != {"object"}:
        return False
    for name in both:
        inner = [_resolved(_map(each.get("properties")).get(name), root) for each in (one, other)]
        if all(isinstance(each, Mapping) for each in inner) and _differ(inner[0], inner[1], root):
            return True
    return False


def _list(value: Any) -> Sequence[Any]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, (list, tuple)) else ()


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _values(schema: Mapping[str, Any]) -> set[str] | None:
    if "const" in schema:
        return {_key(schema["const"])}
    found = schema.get("enum")
    return set(map(_key, found)) if isinstance(found, (list, tuple)) else None


def _key(value: Any) -> str:
    return json.dumps(float(value) if is_typed(value, "number") else value, sort_keys=True)


def _kinds(schema: Mapping[str, Any]) -> set[str] | None:
    """The types that a schema allows; an integer is a number. None: any."""
    found = schema.get("type")
    if found is None:
        known = {"const": [schema.get("const")], "enum": schema.get("enum")}
        listed = next((value for name, value in known.items() if name in schema), None)
        if not isinstance(listed, (list, tuple)):
            return None
        return {next(kind for kind in (*_TYPES, "number") if is_typed(one, kind)) for one in listed}
    named = [found] if isinstance(found, str) else found
    return {"number" if one == "integer" else one for one in named} if isinstance(named, (list, tuple)) else None


class _Writer:
    def __init__(self, root: Any, backend: str, without: tuple[str, ...]) -> None:
        self.root, self.lost = root, list[tuple[str, str]]()
        self.is_xgrammar = backend == "xgrammar"
        self.limited = bool(without)
        # An escape sequence is one character of a JSON string, but several for xgrammar's patterns.
        firsts = "".join(sorted({one[0] for one in without if one}))
        self.never = f'"\\{_CONTROL}{firsts}' if self.is_xgrammar else ""

    def lose(self, keyword: str, path: Sequence[str]) -> None:
        self.lost.append((keyword, "".join(f".{one}" for one in path)))

    def fit(self, node: Any, path: tuple[str, ...]) -> Any:
        if node is False and path:
            self.lose("false", path)
            return {}
        if not isinstance(node, Mapping):
            return node
        made = dict(node)
        self._drop(made, made.keys() - NOTES - _BOTH, path)
        self._references(made, path)
        self._unions(made, path)
        self._values(made, path)
        self._strings(made, path)
        self._numbers(made, path)
        self._objects(made, path)
        if isinstance(made.get("items"), (list, tuple)):
            self._drop(made, ("items",), path)
        if self.is_xgrammar and "type" not in made:
            self._drop(made, made.keys() & (_UNTYPED - _implied(made)), path)
        for keyword in _SCHEMAS:
            if isinstance(made.get(keyword), Mapping):
                inner = (*path, keyword) if keyword != "properties" else path
                made[keyword] = {name: self.fit(one, (*inner, name)) for name, one in made[keyword].items()}
        for keyword in _LISTS:
            if isinstance(made.get(keyword), (list, tuple)):
                made[keyword] = [self.fit(one, (*path, keyword)) for one in made[keyword]]
        for keyword in _SINGLE:
            if isinstance(made.get(keyword), Mapping):
                made[keyword] = self.fit(made[keyword], (*path, keyword))
        return made

    def _drop(self, made: dict[str, Any], keywords: Iterable[str], path: tuple[str, ...]) -> None:
        for keyword in sorted(keywords):
            value = made.pop(keyword)
            if not _says_nothing(keyword, value, made):
                self.lose(keyword, path)

    def _references(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        if self.is_xgrammar and "$ref" in made:  # it takes nothing beside a reference
            self._drop(made, made.keys() - NOTES - {"$ref"}, path)

    def _unions(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        members = made.get("oneOf")
        if isinstance(members, (list, tuple)):
            if not are_apart(members, self.root):
                self.lose("oneOf", path)
            if "anyOf" in made:
                self._drop(made, ("oneOf",), path)
            else:
                made["anyOf"] = made.pop("oneOf")
        if not self.is_xgrammar:
            return
        beside = made.keys() - NOTES
        if "allOf" in made and (beside != {"allOf"} or len(made["allOf"]) != 1):
            self._drop(made, ("allOf",), path)
        if "anyOf" in made and made.keys() - NOTES != {"anyOf"}:
            self._drop(made, ("anyOf",), path)

    def _values(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        keyword = "const" if "const" in made else "enum"
        values = [made["const"]] if "const" in made else made.get("enum")
        if not isinstance(values, (list, tuple)):
            return
        if "type" in made:
            kept = [one for one in values if is_typed(one, made["type"])]
            if not kept:
                self._drop(made, (keyword,), path)
                return
            if len(kept) < len(values):
                made[keyword] = kept
        if self.is_xgrammar:
            self._drop(made, made.keys() - NOTES - {keyword, "type"}, path)

    def _strings(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        kind = made.get("format")
        if "format" in made and (
            kind not in _FORMATS | (frozenset() if self.limited else _LOOSE_FORMATS)
            or (self.is_xgrammar and not made.keys().isdisjoint(("pattern", "minLength", "maxLength")))
        ):
            del made["format"]  # it is a note, unless the backend knows it
        bounds = [one for one in ("minLength", "maxLength") if one in made]
        least, most = made.get("minLength", 0), made.get("maxLength")
        if "pattern" in made:
            found = rewritten(made["pattern"], self.never) if isinstance(made["pattern"], str) else None
            if found is None:
                self._drop(made, ("pattern",), path)
            else:
                made["pattern"] = f"^({found.text})$"
                inside = _is_count(least) and found.least >= least
                inside = inside and (most is None or (found.most is not None and found.most <= most))
                if inside:
                    for one in bounds:
                        del made[one]
                elif self.is_xgrammar:
                    self._drop(made, bounds, path)
        elif self.is_xgrammar and self.limited and bounds:
            # Beside lengths, xgrammar does not keep strings out of strings.
            size = sized(least, most, self.never) if _is_count(least) and (most is None or _is_count(most)) else None
            if size is not None:
                for one in bounds:
                    del made[one]
                made["pattern"] = f"^{size.text}$"

    def _numbers(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        if self.is_xgrammar and "multipleOf" in made and made.get("type") != "integer":
            self._drop(made, ("multipleOf",), path)

    def _objects(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        properties = _map(made.get("properties"))
        if made.get("additionalProperties") is False and False in properties.values():
            made["properties"] = properties = {name: one for name, one in properties.items() if one is not False}
        names = made.get("required")
        if self.is_xgrammar and isinstance(names, (list, tuple)) and not all(name in properties for name in names):
            self.lose("required", path)
            made["required"] = [name for name in names if name in properties]
        counts = [one for one in ("minProperties", "maxProperties") if one in made]
        if counts and self.is_xgrammar and not properties:
            made.setdefault("additionalProperties", True)
        elif counts and not self.is_xgrammar and properties:
            self._drop(made, counts, path)
        if "patternProperties" in made:
            given = made["patternProperties"]
            keys = {key: rewritten(key, self.never) for key in given} if isinstance(given, Mapping) else {}
            if not keys or None in keys.values() or (self.is_xgrammar and properties):
                self._drop(made, ("patternProperties",), path)
                if made.get("additionalProperties") is not None:
                    made["additionalProperties"] = True
            else:
                made["patternProperties"] = {f"^({keys[key].text})$": one for key, one in given.items()}  # type: ignore[union-attr]


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _implied(made: Mapping[str, Any]) -> frozenset[str]:
    """The keywords that xgrammar keeps without a type."""
    if "properties" in made:
        return _OF_TYPES["object"]
    return _OF_TYPES["array"] if "items" in made else frozenset()


def _says_nothing(keyword: str, value: Any, made: Mapping[str, Any]) -> bool:
    if keyword == "uniqueItems":
        return value is False
    if keyword == "unevaluatedProperties":
        return value is True or made.get("additionalProperties") is not None
    return keyword in ("discriminator", "enumNames", "markdownDescription") or keyword.startswith("x-")
