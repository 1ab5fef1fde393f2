"""The arguments of a call, in each way that a row writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from ..errors import GrammarError
from ..formats import Format
from .nodes import EMPTY, KEY, WORD, Json, Lit, Mark, Node, Space, Text, either, maybe, row, some

__all__ = ["Function", "canonical", "elements_of", "json_of", "objects_of", "pairs_of", "python_of"]

_MOST_ORDERED = 3  # arguments whose orders are all written out
_MOST_DEPTH = 64  # of a schema
_MOST_NODES = 20_000  # of a schema
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
_ANY_OBJECT = '{"type":"object"}'


def canonical(schema: Any) -> str:
    """The same text for the same schema. The order of properties counts, because it is the order of arguments."""
    try:
        return _dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise GrammarError(f"a schema is not JSON: {error}") from error


def _slow_dumps(schema: Any) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=dict)


try:
    import orjson

    def _dumps(schema: Any) -> str:
        return orjson.dumps(schema, default=dict).decode()
except ImportError:  # it is only faster
    _dumps = _slow_dumps


class Function:
    """A tool as a grammar needs it.

    name: the tool's. strict: do arguments have to fit their schema? schema: of the arguments; any object if they do not
    have to. text: the schema as JSON. properties: of the schema, by name; None: nobody knows them. required: the names
    of those that have to be there.

    Raises GrammarError for a schema that is too large.
    """

    __slots__ = ("name", "order", "properties", "required", "schema", "strict", "text")

    def __init__(self, name: str, schema: Any, strict: bool, order: str) -> None:
        self.name, self.strict, self.order = name, strict, order
        self.schema: Any = closed(schema) if strict else ANY_OBJECT
        self.properties: Mapping[str, Any] | None = None
        self.required: frozenset[str] = frozenset()
        if not strict:
            self.text = _ANY_OBJECT
            return
        try:
            self.text = canonical(self.schema)
        except GrammarError:
            check_size(schema, name)  # which says it better if that is why
            raise
        if len(self.text) > _MOST_NODES or self.text.count("{") + self.text.count("[") > _MOST_DEPTH:
            check_size(schema, name)
        self.properties, self.required = _members(self.schema)

    def orders(self) -> Iterator[tuple[str, ...]]:
        """The orders in which arguments may come."""
        names = tuple(self.properties or ())
        if self.order == "any" and len(names) <= _MOST_ORDERED:
            yield from permutations(names)
        else:
            yield names


def _members(schema: Any) -> tuple[Mapping[str, Any], frozenset[str]]:
    """The properties of an object, and which of them have to be there."""
    if not isinstance(schema, Mapping):
        return {}, frozenset()
    found, names = schema.get("properties"), schema.get("required")
    needed = (name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()
    return found if isinstance(found, Mapping) else {}, frozenset(needed)


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


def listed(function: Function, part: Callable[[str, Any], Node], between: Node = EMPTY) -> Node:
    """All required arguments, and any of the others, in the orders that are allowed. part: of a name and its schema."""
    return members_of(function.properties or {}, function.required, part, between, function.orders())


def members_of(
    properties: Mapping[str, Any],
    required: frozenset[str],
    part: Callable[[str, Any], Node],
    between: Node = EMPTY,
    orders: Iterable[Iterable[str]] | None = None,
) -> Node:
    """Members of an object in these orders; None: as they are declared."""
    made = {name: part(name, schema) for name, schema in properties.items()}
    ways = []
    for order in (properties,) if orders is None else orders:
        ways.append(_in_order([(name in required, made[name]) for name in order], between))
    return either(*ways)


def _in_order(made: Sequence[tuple[bool, Node]], between: Node) -> Node:
    """made: is a member needed, and what it looks like."""
    if between is EMPTY or not made:
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
    orders = list(function.orders())
    if len(orders) == 1:
        return Json(function.text)
    schemas = []
    for order in orders:
        ordered = {**function.schema, "properties": {name: function.schema["properties"][name] for name in order}}
        schemas.append(Json(canonical(ordered)))
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
    layout = Space() if row_.newlines == "strip" else EMPTY
    begin = row(Space(), Mark(opener)) if opener else EMPTY

    def pair(name: str, schema: Any) -> Node:
        kind = text_type(schema)
        ends = typed_end(row_, kind) or after
        value = (
            text_value(schema, endings(row_))
            if kind == "string"
            else row(layout, Json(canonical(schema), endings(row_)), layout)
        )
        return row(key, Lit(name), ends, begin, value, Mark(closer), Space())

    if function.properties is None:
        text = row(typed_end(row_, "string") or after, begin, Text(endings(row_)), Mark(closer))
        ends = [end for end, type in row_.typed.items() if type == "json"]
        typed = [row(Mark(end), begin, Json("{}", endings(row_)), Mark(closer)) for end in ends]
        return some(row(key, KEY, either(text, *typed), Space()))
    return listed(function, pair)


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


def text_value(schema: Any, without: tuple[str, ...]) -> Node:
    """A string without quotes. without: what it must not have."""
    schema = schema if isinstance(schema, Mapping) else {}
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(allowed, list):
        words = [one if isinstance(one, str) else json.dumps(one) for one in allowed]
        return either(*(Lit(word) for word in words if not any(one in word for one in without)))
    for keyword in _OF_TEXT:
        if keyword in schema:
            raise GrammarError(f"{keyword!r} of a string that is written without quotes cannot be kept")
    return Text(without)


def endings(row_: Format) -> tuple[str, ...]:
    """What may end a value, or the call that it is in."""
    markers = [row_.pair[3]] if row_.pair else [row_.element[2]] if row_.element else [row_.quote]
    markers += [group[-1] for group in (row_.call, row_.section) if group is not None]
    found = [one for marker in markers for one in ((marker,) if isinstance(marker, str) else marker)]
    return tuple(dict.fromkeys(one for one in (*found, *row_.stops) if one))


def elements_of(row_: Format, function: Function) -> Node:
    """Tags that are named after arguments."""
    assert row_.element is not None
    before, after, closing = (first(one) for one in row_.element)

    def element(name: str, schema: Any) -> Node:
        inner = _inside(row_, schema, element)
        return row(Mark(before), Lit(name), Lit(after), inner, Mark(closing), Lit(name + after), Space())

    if function.properties is None:
        # Names have to be equal at both ends, which takes a list of them: without one, there are no arguments.
        return EMPTY
    return listed(function, element)


def _inside(row_: Format, schema: Any, element: Callable[[str, Any], Node]) -> Node:
    kind = text_type(schema)
    if kind == "string":
        return text_value(schema, endings(row_))
    if kind == "object" and isinstance(schema.get("properties"), Mapping):
        return row(Space(), members_of(*_members(schema), element))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return row(Space(), some(element(row_.item, schema["items"]), 1))
    if kind in ("object", "array"):
        raise GrammarError(f"an {kind} without the schema of its members has no names for its tags")
    return Json(canonical(schema), endings(row_))


# --- Python, and objects with bare keys ---


def python_of(row_: Format, function: Function) -> Node:
    """Keyword arguments: `(a=1, b="x")`."""

    def argument(name: str, schema: Any) -> Node:
        return row(Lit(f"{name}="), Json(canonical(schema), endings(row_)))

    comma = row(Lit(","), maybe(Lit(" ")))
    if function.properties is None:
        any_argument = row(WORD, Lit("="), Json("{}", endings(row_)))
        return row(Lit("("), maybe(row(any_argument, some(row(comma, any_argument)))), Lit(")"))
    return row(Lit("("), listed(function, argument, comma), Lit(")"))


def objects_of(row_: Format, function: Function) -> Node:
    """An object with bare keys, and strings in quotes of the row's own."""
    quote = first(row_.quote)

    def value(schema: Any) -> Node:
        kind = text_type(schema)
        if kind == "string":
            return row(Mark(quote), text_value(schema, endings(row_)), Mark(quote))
        if kind == "object" and isinstance(schema.get("properties"), Mapping):
            return row(Lit("{"), members_of(*_members(schema), member, Lit(",")), Lit("}"))
        if kind == "array":
            items = value(schema.get("items", {}))
            return row(Lit("["), maybe(row(items, some(row(Lit(","), items)))), Lit("]"))
        if kind == "object":
            return Lit("{}")
        return Json(canonical(schema), endings(row_))

    def member(name: str, schema: Any) -> Node:
        return row(Lit(f"{name}:"), value(schema))

    if function.properties is None:
        text = row(Mark(quote), Text(endings(row_)), Mark(quote))
        any_member = row(WORD, Lit(":"), either(text, Json('{"type":["number","boolean"]}')))
        return row(Lit("{"), maybe(row(any_member, some(row(Lit(","), any_member)))), Lit("}"))
    return row(Lit("{"), listed(function, member, Lit(",")), Lit("}"))


def first(marker: Any) -> str:
    """The spelling that a model writes."""
    return marker if isinstance(marker, str) else marker[0]
