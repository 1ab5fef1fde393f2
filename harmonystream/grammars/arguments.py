"""The arguments of a call, in each way in which a row writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

from ..errors import GrammarError
from ..formats import Format
from .nodes import EMPTY, KEY, WORD, Json, Lit, Mark, Node, Space, Text, either, few, maybe, row, some

__all__ = ["Function", "canonical", "elements_of", "json_of", "objects_of", "pairs_of", "python_of"]

_MOST_ORDERED = 3  # for up to this many arguments, all orders are written out
_MOST_DEPTH = 64  # of a schema
_MOST_NODES = 20_000  # of a schema
ANY_OBJECT: Mapping[str, Any] = {"type": "object"}
_ANY_OBJECT = '{"type":"object"}'


def canonical(schema: Any) -> str:
    """The same text for equal schemas. The order of properties counts, because it is the order of arguments."""
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

    name: the tool's. strict: must arguments fit their schema? schema: of the arguments; any object if they do not have
    to fit. text: the schema as JSON. properties: those of the schema, by name; None if they are unknown. required: the
    names of the arguments that must be there.

    Raises GrammarError for a schema that is too large.
    """

    __slots__ = ("declared", "name", "order", "properties", "required", "schema", "strict", "text")

    def __init__(self, name: str, schema: Any, strict: bool, order: str) -> None:
        self.name, self.strict, self.order = name, strict, order
        self.schema: Any = closed(schema) if strict else ANY_OBJECT
        self.declared: Any = schema  # the declared schema, even if arguments do not have to fit it
        self.properties: Mapping[str, Any] | None = None
        self.required: frozenset[str] = frozenset()
        if not strict:
            self.text = _ANY_OBJECT
            return
        try:
            self.text = canonical(self.schema)
        except GrammarError:
            check_size(schema, name)  # raises a better error if size is the cause
            raise
        if len(self.text) > _MOST_NODES or self.text.count("{") + self.text.count("[") > _MOST_DEPTH:
            check_size(schema, name)
        self.properties, self.required = _members(self.schema)

    def orders(self) -> Iterator[tuple[str, ...]]:
        """The orders in which arguments may be written."""
        names = tuple(self.properties or ())
        if self.order == "any" and len(names) <= _MOST_ORDERED:
            yield from permutations(names)
        else:
            yield names


def _members(schema: Any) -> tuple[Mapping[str, Any], frozenset[str]]:
    """The properties of an object, and the names of those that are required."""
    if not isinstance(schema, Mapping):
        return {}, frozenset()
    found, names = schema.get("properties"), schema.get("required")
    needed = (name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()
    return found if isinstance(found, Mapping) else {}, frozenset(needed)


def check_size(schema: Any, name: str) -> None:
    """Raises GrammarError for a schema that is too large for backends."""
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
    """All required arguments, and any of the others, in the allowed orders. part: makes one from its name and
    schema.
    """
    return members_of(function.properties or {}, function.required, part, between, function.orders())


def members_of(
    properties: Mapping[str, Any],
    required: frozenset[str],
    part: Callable[[str, Any], Node],
    between: Node = EMPTY,
    orders: Iterable[Iterable[str]] | None = None,
) -> Node:
    """Members of an object in these orders. None: in the declared order."""
    made = {name: part(name, schema) for name, schema in properties.items()}
    ways = []
    for order in (properties,) if orders is None else orders:
        ways.append(_in_order([(name in required, made[name]) for name in order], between))
    return either(*ways)


def _in_order(made: Sequence[tuple[bool, Node]], between: Node) -> Node:
    """made: for each member, is it required, and its node."""
    if between is EMPTY or not made:
        return row(*(one if needed else maybe(one) for needed, one in made))
    # With separators, the first member has none before it.
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


def json_of(function: Function, without: tuple[str, ...] = ()) -> Node:
    """One JSON object. without: strings that its strings must not contain."""
    return Json(function.text, without, function.order == "any" and len(function.properties or ()) > 1)


def closed(schema: Any) -> Any:
    """The schema, in which objects have only their own properties unless it allows others."""
    if isinstance(schema, Mapping) and "properties" in schema and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema


def _json(schema: Any, without: tuple[str, ...]) -> Json:
    """without: strings that its strings must not contain. Numbers cannot contain them."""
    kind = schema.get("type") if isinstance(schema, Mapping) and "enum" not in schema else None
    return Json(canonical(schema), () if kind in ("integer", "number", "boolean", "null") else without)


# --- tags ---


def pairs_of(row_: Format, function: Function, key: Node, after: Node) -> Node:
    """Keys and values in tags, with white space between them. key, after: the text before and after a key."""
    assert row_.pair is not None
    opener, closer = first(row_.pair[2]), first(row_.pair[3])
    layout = Space() if row_.newlines == "strip" else EMPTY
    begin = row(Space(), Mark(opener)) if opener else EMPTY
    without = endings(row_)

    def pair(name: str, schema: Any) -> Node:
        kind = text_type(schema)
        ends = typed_end(row_, kind) or after
        is_text = kind == "string"
        value = text_value(schema, without) if is_text else row(layout, _typed_value(schema, without), layout)
        return row(key, Lit(name), ends, _said_type(row_, [kind]), begin, value, Mark(closer), Space())

    if function.properties is None:
        strings = row(typed_end(row_, "string") or after, _said_type(row_, ["string"]))
        ways = [row(strings, begin, Text(without), Mark(closer))]
        begins: list[Node] = [Mark(end) for end, type in row_.typed.items() if type == "json"]
        if row_.value_type is not None:
            begins.append(row(after, _said_type(row_, _TYPES, needed=True)))
        ways += [row(one, begin, Json("{}", without), Mark(closer)) for one in begins]
        return some(row(key, KEY, either(*ways), Space()))
    return listed(function, pair)


def _typed_value(schema: Any, without: tuple[str, ...]) -> Node:
    """A value that is not a string. Some templates write values without parts as Python prints them."""
    words = {"boolean": ("True", "False"), "null": ("None",)}.get(text_type(schema), ())
    plain = isinstance(schema, Mapping) and schema.keys() <= {"type", "description", "title", "default"}
    return either(_json(schema, without), *(Lit(word) for word in words if plain))


_TYPES = ("integer", "number", "boolean", "array", "object", "null")


def _said_type(row_: Format, kinds: Sequence[str], *, needed: bool = False) -> Node:
    """A value's type between its tags, if the format writes it."""
    known = [Lit(kind) for kind in kinds if kind == "string" or kind in _TYPES]
    if row_.value_type is None or not known:
        return EMPTY
    opener, closer = map(first, row_.value_type)
    said = row(Space(), Mark(opener), either(*known), Mark(closer))
    return said if needed else maybe(said)


def typed_end(row_: Format, kind: str) -> Node | None:
    """The end of a key that has this type. None if the row has none."""
    found = [Mark(end) for end, type in row_.typed.items() if type == ("string" if kind == "string" else "json")]
    names = (kind, "number") if kind == "integer" else (kind,)
    exact = [end for name in names for end in found if f'"{name}"' in end.text]
    return either(*exact) if exact else found[0] if found else None


def text_type(schema: Any) -> str:
    """The JSON type of a value that is written without quotes. It is "string" if the value may be a string."""
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
    """A string without quotes. without: strings that it must not contain."""
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
    """The texts that may end a value, or the call around it."""
    markers = [row_.pair[3]] if row_.pair else [row_.element[2]] if row_.element else [row_.quote]
    markers += [group[-1] for group in (row_.call, row_.section) if group is not None]
    found = [one for marker in markers for one in ((marker,) if isinstance(marker, str) else marker)]
    return few((*found, *row_.stops))


def elements_of(row_: Format, function: Function) -> Node:
    """Tags with the names of arguments."""
    assert row_.element is not None
    before, after, closing = (first(one) for one in row_.element)

    def element(name: str, schema: Any) -> Node:
        inner = _inside(row_, schema, element)
        return row(Mark(before), Lit(name), Lit(after), inner, Mark(closing), Lit(name + after), Space())

    if function.properties is None:
        # The names at both ends must be equal, which needs a list of names. Without a list, there are no arguments.
        known = _members(function.declared)[0]
        return some(either(*(element(name, schema) for name, schema in known.items()))) if known else EMPTY
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
    return _json(schema, endings(row_))


# --- Python, and objects with bare keys ---


def python_of(row_: Format, function: Function) -> Node:
    """Keyword arguments: `(a=1, b="x")`."""

    def argument(name: str, schema: Any) -> Node:
        return row(Lit(f"{name}="), _python_value(row_, schema))

    if function.properties is None:
        any_argument = row(WORD, Lit("="), _python_value(row_, {}))
        return row(Lit("("), maybe(row(any_argument, some(row(_PYTHON_COMMA, any_argument)))), Lit(")"))
    return row(Lit("("), listed(function, argument, _PYTHON_COMMA), Lit(")"))


_PYTHON_COMMA = row(Lit(","), maybe(Lit(" ")))
_NOTES = {"type", "items", "properties", "required", "additionalProperties", "title", "description", "default"}


def _python_value(row_: Format, schema: Any, depth: int = 0) -> Node:
    """A literal of Python, or JSON where both read the same."""
    without = endings(row_)
    text = Text(("'", "\\", *without))
    escape = either(*(Lit(one) for one in ("\\n", "\\'", '\\"', "\\\\", "\\t")))
    quoted = row(Lit("'"), some(row(text, escape)), text, Lit("'"))
    written = _json(schema, without)
    if not isinstance(schema, Mapping):
        return written
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        forms = [form for one in values for form in (json.dumps(one, ensure_ascii=False), repr(one))]
        return either(*map(Lit, dict.fromkeys(forms)))
    if schema.keys() - _NOTES:
        return written
    match schema.get("type"):
        case "string":
            return either(written, quoted)
        case "boolean":
            return either(written, Lit("True"), Lit("False"))
        case "null":
            return either(written, Lit("None"))
        case "array" if isinstance(schema.get("items"), Mapping) and depth < _MOST_NESTED:
            item = _python_value(row_, schema["items"], depth + 1)
            return row(Lit("["), maybe(row(item, some(row(_PYTHON_COMMA, item)))), Lit("]"))
        case "object" if isinstance(schema.get("properties"), Mapping) and depth < _MOST_NESTED:

            def member(name: str, inner: Any) -> Node:
                key = either(Lit(json.dumps(name, ensure_ascii=False)), Lit(repr(name)))
                return row(key, Lit(":"), maybe(Lit(" ")), _python_value(row_, inner, depth + 1))

            return row(Lit("{"), members_of(*_members(schema), member, _PYTHON_COMMA), Lit("}"))
        case None:
            one = either(written, quoted, Lit("True"), Lit("False"), Lit("None"))
            return either(*one.parts, row(Lit("["), one, some(row(_PYTHON_COMMA, one)), Lit("]")))  # type: ignore[union-attr]
    return written


_MOST_NESTED = 3  # how deep values are written out


def objects_of(row_: Format, function: Function) -> Node:
    """An object with bare keys, and with the row's own quotes around strings."""
    quote = first(row_.quote)

    def value(schema: Any) -> Node:
        kind = text_type(schema)
        if kind == "string":
            return row(Mark(quote), text_value(schema, endings(row_)), Mark(quote))
        if kind == "object" and isinstance(schema.get("properties"), Mapping):
            return row(Lit("{"), members_of(*_members(schema), member, Lit(",")), Lit("}"))
        if kind == "array" and isinstance(schema.get("items"), Mapping):
            return listed_in("[", value(schema["items"]), "]")
        if kind == "array":
            return listed_in("[", anything[-2], "]")
        if kind == "object":
            return objects[-1]
        return _json(schema, endings(row_))

    def member(name: str, schema: Any) -> Node:
        return row(Lit(f"{name}:"), value(schema))

    def listed_in(opener: str, one: Node, closer: str) -> Node:
        return row(Lit(opener), maybe(row(one, some(row(Lit(","), one)))), Lit(closer))

    text = row(Mark(quote), Text(endings(row_)), Mark(quote))
    anything = [either(text, Json('{"type":["number","boolean","null"]}'))]  # each has one more level
    objects: list[Node] = [Lit("{}")]
    for _ in range(_MOST_NESTED - 1):
        objects.append(listed_in("{", row(WORD, Lit(":"), anything[-1]), "}"))
        anything.append(either(anything[0], listed_in("[", anything[-1], "]"), objects[-1]))
    if function.properties is None:
        return listed_in("{", row(WORD, Lit(":"), anything[-1]), "}")
    return row(Lit("{"), listed(function, member, Lit(",")), Lit("}"))


def first(marker: Any) -> str:
    """The spelling that models write."""
    return marker if isinstance(marker, str) else marker[0]
