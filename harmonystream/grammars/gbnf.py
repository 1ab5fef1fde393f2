"""A grammar as llama.cpp's GBNF. Markers are text there, and JSON Schemas become rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import GrammarError
from .nodes import Json, Lit, Mark, Node, Or, Regex, Rep, Seq, Space, Text

__all__ = ["gbnf"]

_JSON = {
    "ws": "[ \\n\\t]{0,16}",
    "string": '"\\"" char* "\\""',
    "char": '[^"\\\\\\x00-\\x1f] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    # One character of a string whose length counts: no half of a surrogate pair.
    "unit": (
        '[^"\\\\\\x00-\\x1f] | "\\\\" (["\\\\/bfnrt] '
        '| "u" ([0-9a-cA-CeEfF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))'
    ),
    "integer": '"-"? ("0" | [1-9] [0-9]{0,15})',
    "number": 'integer ("." [0-9]{1,16})? ([eE] [+-]? [0-9]{1,2})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "value": "string | number | boolean | null | object | array",
    "object": '"{" ws (string ws ":" ws value ws ("," ws string ws ":" ws value ws)*)? "}"',
    "array": '"[" ws (value ws ("," ws value ws)*)? "]"',
}
_NEEDS = {
    "string": ("char",),
    "number": ("integer",),
    "value": ("string", "number", "boolean", "null", "object", "array"),
    "object": ("ws", "string", "value"),
    "array": ("ws", "value"),
}
_MOST_REPEATS = 2000  # of one rule, in llama.cpp
_KNOWN = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "minItems"),
    *("minLength", "maxLength"),
    *("maxItems", "title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "strict"),
    *("$defs", "definitions", "nullable", "readOnly", "writeOnly"),
}


def gbnf(node: Node, exact: bool) -> str:
    """GBNF text. exact: raise GrammarError for a schema that rules cannot keep; else it takes any value of its type."""
    writer = _Writer(exact)
    root = writer.expression(node)
    return "\n".join([f"root ::= {root}", *(f"{name} ::= {text}" for name, text in writer.rules.items())]) + "\n"


_KINDS = {(0, 1): "?", (0, None): "*", (1, None): "+"}


class _Writer:
    """Writes each node once, however often it is there."""

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.rules: dict[str, str] = {}
        self.names: dict[Any, str] = {}
        self.written: dict[Node, str] = {}

    def expression(self, node: Node) -> str:
        made = self.written.get(node)
        if made is None:
            made = self.written[node] = self._expression(node)
        return made

    def _expression(self, node: Node) -> str:
        match node:
            case Lit(text=text) | Mark(text=text):
                return _quoted(text)
            case Seq(parts=parts):
                return " ".join([self.expression(part) for part in parts]) or '""'
            case Json(schema=schema):
                return self._named(("schema", schema), lambda: self._schema(json.loads(schema), ()))
            case Or(parts=parts):
                return self._named(node, lambda: " | ".join([self.expression(part) for part in parts]))
            case Rep(part=part, least=least, most=most):
                return self._named(part, lambda: self.expression(part)) + _KINDS[least, most]
            case Text(without=without, plain=plain):
                return self._text(without, plain)
            case Space():
                return self._json("ws")
            case Regex(pattern=pattern):
                return f"({pattern})"
        raise TypeError(node)

    def _named(self, key: Any, make: Any) -> str:
        if key not in self.names:
            self.names[key] = name = f"r{len(self.names)}"
            self.rules[name] = make()
        return self.names[key]

    def _json(self, name: str) -> str:
        if name not in self.rules:
            self.rules[name] = _JSON[name]
            for needed in _NEEDS.get(name, ()):
                self._json(needed)
        return name

    # --- text without some strings: the states of the automaton that looks for them ---

    def _text(self, without: tuple[str, ...], plain: bool) -> str:
        if not without:
            return "([^ \\n\\t\\r[{<] [^\\x00]*)?" if plain else "[^\\x00]*"
        name = self._named(("text", without), lambda: "")
        if not self.rules[name]:
            self._automaton(name, without)
        return f"([^ \\n\\t\\r[{{<] {name})?" if plain else name

    def _automaton(self, name: str, without: tuple[str, ...]) -> None:
        prefixes = sorted({word[:at] for word in without for at in range(len(word))})
        of = {prefix: name if not prefix else f"{name}-{at}" for at, prefix in enumerate(prefixes)}
        for prefix, rule in of.items():
            groups: dict[str, list[str]] = {}
            known = sorted({word[at] for word in without for at in range(len(word))})
            for character in known:
                seen = prefix + character
                if any(word in seen for word in without):
                    continue
                after = next(seen[at:] for at in range(len(seen) + 1) if seen[at:] in of)
                groups.setdefault(of[after], []).append(character)
            ways = [f"[{''.join(map(_in_class, characters))}] {after}" for after, characters in groups.items()]
            ways.append(f"[^{''.join(map(_in_class, known))}] {name}")
            self.rules[rule] = f"({' | '.join(ways)})?"

    # --- JSON Schema ---

    def _schema(self, schema: Any, path: tuple[str, ...]) -> str:
        if schema is True or schema == {}:
            return self._json("value")
        if not isinstance(schema, Mapping) or len(path) > 64:
            return self._wider(f"a schema at {'.'.join(path) or 'the top'}", None)
        unknown = sorted(schema.keys() - _KNOWN)
        if unknown:
            return self._wider(f"the keyword {unknown[0]!r}", schema.get("type"))
        if "const" in schema or "enum" in schema:
            values = [schema["const"]] if "const" in schema else schema["enum"]
            return "(" + " | ".join(_quoted(json.dumps(one, ensure_ascii=False)) for one in values) + ")"
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return "(" + " | ".join(self._schema(one, (*path, keyword)) for one in schema[keyword]) + ")"
        kind = schema.get("type")
        if isinstance(kind, list):
            return "(" + " | ".join(self._schema({**schema, "type": one}, path) for one in kind) + ")"
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, path)
        if kind == "array":
            return self._array(schema, path)
        if kind == "string" and not {"minLength", "maxLength"}.isdisjoint(schema):
            return self._sized(schema.get("minLength", 0), schema.get("maxLength"))
        if kind in ("string", "integer", "number", "boolean", "null"):
            return self._json(kind)
        return self._json("value")

    def _sized(self, least: Any, most: Any) -> str:
        for length in (least, most):
            if length is not None and (type(length) is not int or not 0 <= length <= _MOST_REPEATS):
                return self._wider(f"a length of a string of {length!r}", "string")
        return f'"\\"" {self._json("unit")}{{{least},{"" if most is None else most}}} "\\""'

    def _wider(self, what: str, kind: object) -> str:
        if self.exact:
            raise GrammarError(f"llama.cpp's grammars cannot keep {what}: exact=False takes any value there")
        return self._json(kind if isinstance(kind, str) and kind in _JSON else "value")

    def _object(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            empty = properties is not None and schema.get("additionalProperties") is False
            return '"{" ws "}"' if empty and self._json("ws") else self._json("object")
        required = set(schema.get("required", ()))
        self._json("ws")
        members = []
        for name, inner in properties.items():
            value = self._schema(inner, (*path, name))
            members.append((name in required, f'{_quoted(json.dumps(name, ensure_ascii=False))} ws ":" ws {value} ws'))
        return f'"{{" ws {_members(members)} "}}"'

    def _array(self, schema: Mapping[str, Any], path: tuple[str, ...]) -> str:
        item = self._schema(schema.get("items", True), (*path, "items"))
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        self._json("ws")
        if most == 0:
            return '"[" ws "]"'
        rest = f'("," ws {item} ws){{{max(least - 1, 0)},{"" if most is None else most - 1}}}'
        inside = f"{item} ws {rest}"
        return f'"[" ws {inside if least else f"({inside})?"} "]"'


def _members(members: Sequence[tuple[bool, str]]) -> str:
    """Members in their order, with commas between those that are there."""
    comma = '"," ws'
    first = next((at for at, (needed, _) in enumerate(members) if needed), None)
    if first is not None:
        before = [f"({one} {comma})?" for _, one in members[:first]]
        after = [f"{comma} {one}" if needed else f"({comma} {one})?" for needed, one in members[first + 1 :]]
        return " ".join([*before, members[first][1], *after])
    ways = []
    for at, (_, one) in enumerate(members):
        ways.append(" ".join([one, *(f"({comma} {later})?" for _, later in members[at + 1 :])]))
    return f"({' | '.join(ways)})?"


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def _in_class(character: str) -> str:
    return {"]": "\\]", "[": "\\[", "^": "\\^", "-": "\\-"}.get(character) or _ESCAPES.get(character, character)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
