"""The arguments of a call, in each way that a row writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

from ..errors import GrammarError
from ..formats import Format
from .nodes import Json, Lit, Mark, Node, Space, Text, Word, either, maybe, row, some

__all__ = ["Function", "canonical", "elements_of", "json_of", "objects_of", "pairs_of", "python_of"]

_MOST_ORDERED = 3  # arguments whose orders are all written out
_MOST_DEPTH = 64  # of a schema
_MOST_NODES = 20_000  # of a schema
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}


def canonical(schema: Any) -> str:
    """The same text for the same schema. The order of properties counts, because it is the order of arguments."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


class Function:
    """A tool as a grammar needs it.

    name: the tool's. schema: of its arguments, `$ref`s resolved where they can be. strict: do arguments have to fit?
    """

    def __init__(self, name: str, schema: Any, strict: bool, order: str) -> None:
        self.name, self.strict, self.order = name, strict, order
        self.schema: Any = schema if strict else ANY_OBJECT
        if strict:
            check_size(schema, name)

    @property
    def properties(self) -> Mapping[str, Any] | None:
        """By name; None: nobody knows them."""
        found = self.schema.get("properties") if isinstance(self.schema, Mapping) else None
        return found if self.strict and isinstance(found, Mapping) else ({} if self.strict else None)

    @property
    def required(self) -> frozenset[str]:
        names = self.schema.get("required", ()) if isinstance(self.schema, Mapping) else ()
        return frozenset(name for name in names if isinstance(name, str))

    def orders(self) -> Iterator[tuple[str, ...]]:
        """The orders in which arguments may come."""
        names = tuple(self.properties or ())
        if self.order == "any" and len(names) <= _MOST_ORDERED:
            yield from permutations(names)
        else:
            yield names


def check_size(schema: Any, name: str) -> None:
    """Raises GrammarError for a schema that no backend should be given."""
    waiting, seen = [(schema, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if depth > _MOST_DEPTH or seen > _MOST_NODES:
            what = f"deeper than {_MOST_DEPTH} levels" if depth > _MOST_DEPTH else f"larger than {_MOST_NODES:,} parts"
            raise GrammarError(f"the schema of tool {name!r} is {what}")
        inner = node.values() if isinstance(node, Mapping) else node if isinstance(node, (list, tuple)) else ()
        waiting += [(one, depth + 1) for one in inner]


def listed(function: Function, part: Callable[[str, Any], Node], between: Node) -> Node:
    """All required arguments, and any of the others, in the orders that are allowed. part: of a name and its schema."""
    required, properties = function.required, function.properties or {}
    return either(*(_in_order(order, required, properties, part, between) for order in function.orders()))


def _in_order(
    names: tuple[str, ...],
    required: frozenset[str],
    properties: Mapping[str, Any],
    part: Callable[[str, Any], Node],
    between: Node,
) -> Node:
    made = [(name in required, part(name, properties[name])) for name in names]
    if between == Lit("") or not made:
        return row(*(one if needed else maybe(one) for needed, one in made))
    # Separated, so what is first has none before it.
    first = next((at for at, (needed, _) in enumerate(made) if needed), None)
    if first is not None:
        before = [maybe(row(one, between)) for _, one in made[:first]]
        after = [row(between, one) if needed else maybe(row(between, one)) for needed, one in made[first + 1 :]]
        return row(*before, made[first][1], *after)
    rests = []
    for at, (_, one) in enumerate(made):
        rests.append(row(one, *(maybe(row(between, later)) for _, later in made[at + 1 :])))
    return maybe(either(*rests))


# --- JSON ---


def json_of(function: Function) -> Node:
    """One JSON object."""
    if not function.strict:
        return Json(canonical(ANY_OBJECT))
    if len(list(function.orders())) == 1:
        return Json(canonical(closed(function.schema)))
    schemas = []
    for order in function.orders():
        ordered = {**function.schema, "properties": {name: function.schema["properties"][name] for name in order}}
        schemas.append(Json(canonical(closed(ordered))))
    return either(*schemas)


def closed(schema: Any) -> Any:
    """An object has no other members than its properties, unless the schema says so."""
    if isinstance(schema, Mapping) and "properties" in schema and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema


# --- tags ---


def pairs_of(row_: Format, function: Function, key: Node, after: Node) -> Node:
    """Keys and values in tags, with white space between them. key, after: the spellings around a key."""
    assert row_.pair is not None
    opener, closer = first(row_.pair[2]), first(row_.pair[3])
    layout = Space() if row_.newlines == "strip" else Lit("")
    begin = row(Space(), Mark(opener)) if opener else Lit("")

    def pair(name: str, schema: Any) -> Node:
        kind = text_type(schema)
        ends = typed_end(row_, kind) or after
        value = text_value(schema, closer) if kind == "string" else row(layout, Json(canonical(schema)), layout)
        return row(key, Lit(name), ends, begin, value, Mark(closer), Space())

    if function.properties is None:
        name = Text((first(row_.pair[1]) or opener, "\n", '"', "<", ">"))
        text = row(typed_end(row_, "string") or after, begin, Text((closer,)), Mark(closer))
        ends = [end for end, type in row_.typed.items() if type == "json"]
        typed = [row(Mark(end), begin, Json("{}"), Mark(closer)) for end in ends]
        return some(row(key, name, either(text, *typed), Space()))
    return listed(function, pair, Lit(""))


def typed_end(row_: Format, kind: str) -> Node | None:
    """The end of a key that says this type; None: the row has none."""
    found = [Mark(end) for end, type in row_.typed.items() if type == ("string" if kind == "string" else "json")]
    exact = [end for end in found if f'"{kind}"' in end.text]
    return (exact or found)[0] if found else None


def text_type(schema: Any) -> str:
    """The JSON type of a value that is written without quotes: "string" if it may be one."""
    if not isinstance(schema, Mapping):
        return "string"
    types = schema.get("type")
    for members in (schema.get("anyOf"), schema.get("oneOf")):
        if types is None and isinstance(members, list):
            kinds = {text_type(member) for member in members}
            return "string" if "string" in kinds or not kinds else min(kinds)
    if types is None and "enum" in schema:
        return "string" if any(isinstance(one, str) for one in schema["enum"]) else "json"
    if types is None and "const" in schema:
        return "string" if isinstance(schema["const"], str) else "json"
    if isinstance(types, list):
        return "string" if "string" in types else str(types[0]) if types else "string"
    return str(types) if types is not None else "string"


_OF_TEXT = ("pattern", "format", "minLength", "maxLength")


def text_value(schema: Any, closer: str) -> Node:
    """A string without quotes, which ends at the closer."""
    schema = schema if isinstance(schema, Mapping) else {}
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(allowed, list):
        words = [one if isinstance(one, str) else json.dumps(one) for one in allowed]
        return either(*(Lit(word) for word in words if closer not in word))
    for keyword in _OF_TEXT:
        if keyword in schema:
            raise GrammarError(f"{keyword!r} of a string that is written without quotes cannot be kept")
    return Text((closer,))


def elements_of(row_: Format, function: Function) -> Node:
    """Tags that are named after arguments."""
    assert row_.element is not None
    before, after, closing = (first(one) for one in row_.element)

    def element(name: str, schema: Any) -> Node:
        inner = _inside(schema, element, row_.item, closing)
        return row(Mark(before), Lit(name), Lit(after), inner, Mark(closing), Lit(name + after), Space())

    if function.properties is None:
        # Names have to be equal at both ends, which takes a list of them: without one, there are no arguments.
        return Lit("")
    return listed(function, element, Lit(""))


def _inside(schema: Any, element: Callable[[str, Any], Node], item: str, closing: str) -> Node:
    kind = text_type(schema)
    if kind == "string":
        return text_value(schema, closing)
    if kind == "object" and isinstance(schema.get("properties"), Mapping):
        nested = Function("", schema, True, "declared")
        return row(Space(), listed(nested, element, Lit("")))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return row(Space(), some(element(item, schema["items"]), 1))
    if kind in ("object", "array"):
        raise GrammarError(f"an {kind} without the schema of its members has no names for its tags")
    return Json(canonical(schema))


# --- Python, and objects with bare keys ---


def python_of(function: Function) -> Node:
    """Keyword arguments: `(a=1, b="x")`."""

    def argument(name: str, schema: Any) -> Node:
        return row(Lit(f"{name}="), Json(canonical(schema)))

    comma = row(Lit(","), maybe(Lit(" ")))
    if function.properties is None:
        any_argument = row(Word(), Lit("="), Json("{}"))
        return row(Lit("("), maybe(row(any_argument, some(row(comma, any_argument)))), Lit(")"))
    return row(Lit("("), listed(function, argument, comma), Lit(")"))


def objects_of(row_: Format, function: Function) -> Node:
    """An object with bare keys, and strings in quotes of the row's own."""
    quote = first(row_.quote)

    def value(schema: Any) -> Node:
        kind = text_type(schema)
        if kind == "string":
            return row(Mark(quote), text_value(schema, quote), Mark(quote))
        if kind == "object" and isinstance(schema.get("properties"), Mapping):
            return row(Lit("{"), listed(Function("", schema, True, "declared"), member, Lit(",")), Lit("}"))
        if kind == "array":
            items = value(schema.get("items", {}))
            return row(Lit("["), maybe(row(items, some(row(Lit(","), items)))), Lit("]"))
        if kind == "object":
            return Lit("{}")
        return Json(canonical(schema))

    def member(name: str, schema: Any) -> Node:
        return row(Lit(f"{name}:"), value(schema))

    if function.properties is None:
        text = row(Mark(quote), Text((quote,)), Mark(quote))
        any_member = row(Word(), Lit(":"), either(text, Json('{"type":["number","boolean"]}')))
        return row(Lit("{"), maybe(row(any_member, some(row(Lit(","), any_member)))), Lit("}"))
    return row(Lit("{"), listed(function, member, Lit(",")), Lit("}"))


def first(marker: Any) -> str:
    """The spelling that a model writes."""
    return marker if isinstance(marker, str) else marker[0]
