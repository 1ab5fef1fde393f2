"""JSON Schemas as rules, for languages without JSON of their own, or whose JSON strings cannot exclude markers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .kept import are_apart, is_typed
from .patterns import rewritten
from .schemas import NOTES, loads, target, value_text

__all__ = ["JSON_NEVER", "JsonRules"]

_KNOWN = NOTES | {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "minItems"),
    *("maxItems", "minLength", "maxLength", "pattern"),
}
_SCALARS = ("string", "integer", "number", "boolean", "null")
_OF_KINDS = {
    "object": frozenset(("properties", "required", "additionalProperties")),
    "array": frozenset(("items", "minItems", "maxItems")),
}
JSON_NEVER = '"\\\x7f' + "".join(map(chr, range(0x20)))
"""Characters that strings in JSON have only as escape sequences, which patterns do not know."""
_MOST_REPEATS = 2000  # the limit of one rule in llama.cpp
_MOST_DEPTH = 64
_MOST_TWICE = 200  # characters of a rule's part that is written twice


class JsonRules(ABC):
    """Writes the rules of one grammar. `without`: strings that JSON strings must not contain, as they are written."""

    space: str
    """White space, or none."""
    root: Any = None
    """The whole schema that is being written."""
    text = ""
    """The same as JSON text."""
    most_ordered = 6
    """For up to this many members, all orders are written out."""
    notes: frozenset[str] = frozenset()
    """More keywords that say nothing about a value."""

    rules: dict[str, str]
    """All rules, by name."""
    names: dict[object, str]
    """The names of rules, by key."""

    def rule(self, key: object, make: Callable[[], str]) -> str:
        """The name of the rule for this key. The rule is made on first use, and may refer to itself."""
        if key not in self.names:
            self.names[key] = name = f"r{len(self.names)}"
            self.rules[name] = ""
            self.rules[name] = make()
        return self.names[key]

    @abstractmethod
    def literal(self, text: str) -> str:
        """These characters."""

    @abstractmethod
    def string(self, without: tuple[str, ...], least: int = 0, most: int | None = None) -> str:
        """A string in quotes, with this many characters."""

    @abstractmethod
    def matching(self, pattern: str, without: tuple[str, ...], least: int, most: int | None) -> str:
        """A string in quotes, with this many characters, in which this pattern is found. "" if it cannot be written."""

    @abstractmethod
    def number(self, kind: str) -> str:
        """kind: "integer" or "number"."""

    @abstractmethod
    def unknown(self, what: str, schema: Any, without: tuple[str, ...], keywords: Iterable[str] = ()) -> str:
        """The replacement for a schema that rules cannot express for this reason. keywords: those to blame."""

    def any(self, kind: str, without: tuple[str, ...]) -> str:
        """Any value of a type. If the type is unknown, any value."""
        if kind == "string":
            return self.string(without)
        if kind in ("integer", "number"):
            return self.number(kind)
        if kind == "null":
            return self.literal("null")
        if kind == "boolean":
            return f"({self.literal('true')} | {self.literal('false')})"
        if kind in ("object", "array"):
            return self.rule((kind, without), lambda: self._any_inside(kind, without))
        kinds = ("string", "number", "boolean", "null", "object", "array")
        return self.rule(("value", without), lambda: " | ".join([self.any(one, without) for one in kinds]))

    def _any_inside(self, kind: str, without: tuple[str, ...]) -> str:
        value = self.any("value", without)
        if kind == "array":
            return self._closed("[", self._several(f"{value} {self.space}"), "]")
        member = f"{self.string(without)} {self.space} {self.literal(':')} {self.space} {value} {self.space}"
        return self._closed("{", self._several(member), "}")

    def _short(self, text: str) -> str:
        """The same, or a rule for it: what is written twice at each level must not grow with the power of the depth."""
        return text if len(text) <= _MOST_TWICE else self.rule(("long", text), lambda: text)

    def _closed(self, opener: str, inside: str, closer: str) -> str:
        return f"{self.literal(opener)} {self.space} {inside} {self.literal(closer)}"

    def _several(self, one: str, least: int = 0, most: int | None = None) -> str:
        """This many items, with commas between them."""
        if most == 0:
            return ""
        counts = "*" if least < 2 and most is None else f"{{{max(least - 1, 0)},{'' if most is None else most - 1}}}"
        inside = f"{one} ({self.literal(',')} {self.space} {one}){counts}"
        return inside if least else f"({inside})?"

    def whole(self, text: str, without: tuple[str, ...], any_order: bool) -> str:
        """What fits this schema, which is JSON text. any_order: its members may have any order, if they are few."""
        schema = self.root = loads(text)
        self.text = text
        kept = not any_order or len(schema["properties"]) > self.most_ordered or schema.keys() - _KNOWN
        if kept:
            return self.schema(schema, without)
        members = dict(self._texts(schema, without, ()))
        needed = frozenset(schema.get("required", ())) & members.keys()
        return self._closed("{", self._left(text, without, members, needed, frozenset(members), ""), "}")

    def _left(
        self,
        text: str,
        without: tuple[str, ...],
        members: Mapping[str, str],
        needed: frozenset[str],
        left: frozenset[str],
        comma: str,
    ) -> str:
        """What may follow while these members are left."""
        if not left:
            return ""
        next_comma = f"{self.literal(',')} {self.space}"

        def ways() -> str:
            made = []
            for name in (one for one in members if one in left):
                after = self._left(text, without, members, needed, left - {name}, next_comma)
                made.append(f"{comma} {members[name]} {after}".strip())
            return f"({' | '.join(made)})" + "?" * (not needed & left)

        return self.rule(("order", text, without, left, comma), ways)

    def schema(self, schema: Any, without: tuple[str, ...], path: tuple[str, ...] = ()) -> str:
        """What fits this schema."""
        if schema is True or schema == {}:
            return self.any("value", without)
        if type(schema) is dict and len(schema) == 1 and schema.get("type") in _SCALARS:
            return self.any(schema["type"], without)
        if not isinstance(schema, Mapping) or len(path) > _MOST_DEPTH:
            return self.unknown(f"a schema at {'.'.join(path) or 'the top'}", schema, without)
        if "$ref" in schema and not schema.keys() - NOTES - {"$ref"}:
            found = target(self.root, schema["$ref"])
            return self.rule(("ref", self.text, schema["$ref"], without), lambda: self.schema(found, without, path))
        members = schema.get("allOf")
        if isinstance(members, list) and len(members) == 1 and not schema.keys() - NOTES - {"allOf"}:
            return self.schema(members[0], without, (*path, "allOf"))
        unknown = sorted(schema.keys() - _KNOWN - self.notes)
        if unknown:
            return self.unknown(f"the keyword {unknown[0]!r}{_at(path)}", schema, without, unknown)
        keywords = schema.keys() - NOTES - self.notes
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            if "type" in schema:
                values = [one for one in values if is_typed(one, schema["type"])]
            if len(keywords - {"type"}) > 1 or not values:
                return self.unknown(f"values beside other keywords{_at(path)}", schema, without, ("const", "enum"))
            texts = list(map(value_text, values))
            kept = [text for text in texts if not any(one in text for one in without)]
            return "(" + " | ".join(map(self.literal, kept or texts)) + ")"
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                apart = keyword == "anyOf" or are_apart(schema[keyword], self.root)
                if len(keywords) > 1 or not apart:
                    what = "other keywords beside it" if len(keywords) > 1 else "schemas that share values"
                    return self.unknown(f"the keyword {keyword!r} with {what}{_at(path)}", schema, without, (keyword,))
                return "(" + " | ".join(self.schema(one, without, (*path, keyword)) for one in schema[keyword]) + ")"
        kind = schema.get("type")
        if isinstance(kind, list):
            return "(" + " | ".join(self.schema({**schema, "type": one}, without, path) for one in kind) + ")"
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, without, path)
        if kind == "array" or (kind is None and keywords and keywords <= _OF_KINDS["array"] and "items" in keywords):
            return self._array(schema, without, path)
        if kind is None and keywords:
            return self.unknown(f"the keyword {min(keywords)!r} without a type{_at(path)}", schema, without, keywords)
        if kind == "string" and "pattern" in schema:
            return self._pattern(schema, without, path)
        if kind == "string" and not {"minLength", "maxLength"}.isdisjoint(schema):
            least, most = schema.get("minLength", 0), schema.get("maxLength")
            if not _counts(least, most):
                return self.unknown(
                    f"a length of a string of {(least, most)!r}", schema, without, ("minLength", "maxLength")
                )
            return self.string(without, least, most)
        return self.any(str(kind), without)

    def _pattern(self, schema: Mapping[str, Any], without: tuple[str, ...], path: tuple[str, ...]) -> str:
        """A string with a pattern."""
        pattern, least, most = schema["pattern"], schema.get("minLength", 0), schema.get("maxLength")
        found = rewritten(pattern, JSON_NEVER) if isinstance(pattern, str) else None
        if found is None:
            return self.unknown(f"the keyword 'pattern'{_at(path)}", schema, without, ("pattern",))
        if _counts(least, most):
            if found.least >= least and (most is None or (found.most is not None and found.most <= most)):
                least, most = 0, None  # the pattern keeps them
            if made := self.matching(pattern, without, least, most):
                return made
        return self.unknown(f"'pattern' with lengths{_at(path)}", schema, without, ("minLength", "maxLength"))

    def _object(self, schema: Mapping[str, Any], without: tuple[str, ...], path: tuple[str, ...]) -> str:
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if isinstance(others, Mapping) and (properties or schema.get("required")):
            return self.unknown(
                f"both properties and additionalProperties{_at(path)}", schema, without, ("additionalProperties",)
            )
        if isinstance(others, Mapping):
            value = self._short(self.schema(others, without, (*path, "additionalProperties")))
            member = f"{self.string(without)} {self.space} {self.literal(':')} {self.space} {value} {self.space}"
            return self._closed("{", self._several(member), "}")
        if not isinstance(properties, Mapping) or not properties:
            if schema.get("required"):
                return self.unknown(f"required members without properties{_at(path)}", schema, without, ("required",))
            empty = properties is not None and others is False
            return self._closed("{", "", "}") if empty else self.any("object", without)
        missing = [name for name in schema.get("required", ()) if name not in properties]
        if missing:
            return self.unknown(
                f"a required member without a property: {missing[0]!r}{_at(path)}", schema, without, ("required",)
            )
        required = set(schema.get("required", ()))
        members = [(name in required, text) for name, text in self._texts(schema, without, path)]
        return self._closed("{", self._members(members), "}")

    def _texts(
        self, schema: Mapping[str, Any], without: tuple[str, ...], path: tuple[str, ...]
    ) -> Iterator[tuple[str, str]]:
        """The name of each member of an object, and its text."""
        colon = f"{self.space} {self.literal(':')} {self.space}"
        for name, inner in schema["properties"].items():
            key = self.literal(value_text(name))
            value = self._short(self.schema(inner, without, (*path, name)))
            yield (name, f"{key} {colon} {value} {self.space}")

    def _members(self, members: Sequence[tuple[bool, str]]) -> str:
        """Members in their order, with commas between those that are present."""
        comma = f"{self.literal(',')} {self.space}"
        first = next((at for at, (needed, _) in enumerate(members) if needed), None)
        if first is not None:
            before = [f"({one} {comma})?" for _, one in members[:first]]
            after = [f"{comma} {one}" if needed else f"({comma} {one})?" for needed, one in members[first + 1 :]]
            return " ".join([*before, members[first][1], *after])
        rest = following = ""  # the part following a member, and the member that may be next
        ways: list[str] = []
        for _, one in reversed(members):
            if ways:
                tail = f"({comma} {following})? {rest}".rstrip()
                rest = self.rule(("members", tail), lambda tail=tail: tail)  # type: ignore[misc]
            ways.insert(0, f"{one} {rest}")
            following = one
        return f"({' | '.join(ways)})?"

    def _array(self, schema: Mapping[str, Any], without: tuple[str, ...], path: tuple[str, ...]) -> str:
        item = self._short(self.schema(schema.get("items", True), without, (*path, "items")))
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if not _counts(least, most):
            return self.unknown(f"a length of an array of {(least, most)!r}", schema, without, ("minItems", "maxItems"))
        return self._closed("[", self._several(f"{item} {self.space}", least, most), "]")


def _at(path: tuple[str, ...]) -> str:
    return f" at {'.'.join(path)}" if path else ""


def _counts(least: object, most: object) -> bool:
    """Can a rule have these numbers of characters or items?"""
    return all(type(one) is int and 0 <= one <= _MOST_REPEATS for one in (least, most) if one is not None)
