"""The arguments of a call, in each way in which a row writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import permutations
from typing import Any

from ..errors import GrammarError
from ..formats import Format
from ..formats.spellings import spellings_of
from .nodes import EMPTY, KEY, WORD, Json, Kept, Lit, Mark, Node, Space, Text, either, few, in_quotes, maybe, row, some
from .patterns import rewritten, sized
from .rows import per_row
from .schemas import (
    RecursiveError,
    Schema,
    canonical,
    check_size,
    closed,
    is_small,
    loads,
    plain,
    value_text,
    with_definitions,
)

__all__ = [
    "Function",
    "elements_of",
    "forget_functions",
    "function_of",
    "json_of",
    "objects_of",
    "pairs_of",
    "python_of",
]

_MOST_ORDERED = 3  # for up to this many arguments, all orders are written out
_MOST_OPTIONAL = 64  # arguments with separators: what is written grows with the square of their number
_MOST_FUNCTIONS = 512  # that are remembered
_MOST_TEXT = 20_000  # characters of their schemas
_MOST_PARTS = 16  # of one tool
_MOST_VALUES = 256  # of one format
_ANY_OBJECT = '{"type":"object"}'


class Function:
    """A tool as a grammar needs it. What is not needed to make the grammar is computed when it is first used.

    name: the tool's. source: its schema as JSON. strict: must arguments fit it? order: as in `hs.grammar`.

    Raises GrammarError for a schema that is too large, or whose references lead nowhere.
    """

    def __init__(self, name: str, source: str, strict: bool, order: str) -> None:
        self.name, self.source, self.strict, self.order = name, source, strict, order
        self.what = f"tool {name!r}"
        self._parts: dict[object, Kept] = {}
        self._is_small = is_small(source)
        if strict:
            if not self._is_small:
                check_size(self.declared, self.what)
            if '"$ref"' in source or '"allOf"' in source:
                self.arguments  # noqa: B018  # raises for a wrong reference

    @cached_property
    def declared(self) -> Any:
        """The schema that the tool has."""
        return loads(self.source)

    @cached_property
    def arguments(self) -> Schema | None:
        """The schema that they must fit. None if any object is allowed."""
        if not self.strict:
            return None
        schema = closed(self.declared) if self.plain is None else self.plain
        if '"$ref"' in self.source:
            schema = with_definitions(schema)
        return Schema(schema, schema, what=self.what)

    @cached_property
    def plain(self) -> dict[str, Any] | None:
        """The schema of arguments that must fit, if it is plain."""
        return plain(closed(self.declared)) if self.strict and self._is_small else None

    @cached_property
    def text(self) -> str:
        """The schema of the arguments, or that of any object, as JSON."""
        if not self.strict:
            return _ANY_OBJECT
        return canonical(closed(self.declared) if self.plain is None else self.plain)

    def any_object(self) -> Function:
        """The same tool, with any object as its arguments."""
        return function_of(self.name, self.declared, False, self.order)

    def can_be_written(self, without: tuple[str, ...]) -> bool:
        """Is it sure that each format can write this? without: strings that values must not contain."""
        return self.plain is not None and not any(one in self.source for one in in_quotes(without))

    def kept(self, key: object, make: Callable[[Function], Node], *, later: bool) -> Kept:
        """The result of `make` for the tool, once for each key. later: make it on first use, because it cannot fail?"""
        found = self._parts.get(key)
        if found is None:
            while len(self._parts) >= _MOST_PARTS:
                self._parts.pop(next(iter(self._parts)), None)
            found = Kept(partial(self._made, make))
            if not later:
                found.part  # noqa: B018  # raises now
            self._parts[key] = found
        return found

    def _made(self, make: Callable[[Function], Node]) -> Node:
        if self.arguments is not None:
            self.arguments.written[0] = 0
        return make(self)

    @property
    def required(self) -> frozenset[str]:
        return frozenset() if self.arguments is None else self.arguments.required

    def orders(self, names: Sequence[str]) -> Iterator[Sequence[str]]:
        """The orders in which these arguments may be written."""
        if self.order == "any" and len(names) <= _MOST_ORDERED:
            yield from permutations(names)
        else:
            yield names


_functions: dict[tuple[str, str, bool, str], Function] = {}


def function_of(name: str, schema: Any, strict: bool, order: str) -> Function:
    """The `Function` of a tool. The last ones are remembered, with their parts of grammars.

    Raises GrammarError as `Function` does, and for a schema that is not JSON and that arguments must fit.
    """
    try:
        text = canonical(schema)
    except GrammarError:
        if strict:
            check_size(schema, f"tool {name!r}")  # raises a better error if size is the cause
            raise
        text = "{}"
    key = (name, text, strict, order)
    found = _functions.get(key)
    if found is None:
        found = Function(name, text, strict, order)
        if len(text) > _MOST_TEXT:
            return found
        while len(_functions) >= _MOST_FUNCTIONS:
            _functions.pop(next(iter(_functions)), None)
        _functions[key] = found
    return found


def forget_functions() -> None:
    _functions.clear()


Part = Callable[[str, Schema], Node]


def listed(function: Function, part: Part, between: Node = EMPTY) -> Node:
    """All required arguments, and any of the others, in the allowed orders. part: makes one from its name and
    schema.
    """
    assert function.arguments is not None
    return members_of(function.arguments, part, between, function.orders)


def members_of(
    schema: Schema,
    part: Part,
    between: Node = EMPTY,
    orders: Callable[[Sequence[str]], Iterable[Sequence[str]]] | None = None,
) -> Node:
    """Members of an object in these orders. None: in the declared order.

    A member whose schema contains itself can be left out where it would have no end.
    """
    made: dict[str, Node] = {}
    required = schema.required
    for name, inner in schema.properties.items():
        try:
            made[name] = part(name, schema.part(inner, name))
        except RecursiveError:
            if name in required:
                raise
    names = tuple(made)
    ways = []
    for order in (names,) if orders is None else orders(names):
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
    if len(made) > _MOST_OPTIONAL:
        raise GrammarError(f"this format needs a required member among more than {_MOST_OPTIONAL}")
    rests = []
    for at, (_, one) in enumerate(made):
        rests.append(row(one, *(maybe(row(between, later)) for _, later in made[at + 1 :])))
    return maybe(either(*rests))


# --- JSON ---


def json_of(function: Function, without: tuple[str, ...] = ()) -> Node:
    """One JSON object. without: strings that its strings must not contain."""
    names = function.arguments.properties if function.order == "any" and function.arguments is not None else ()
    return Json(function.text, without, len(names) > 1, function.what, function.plain)


def _json(schema: Schema, without: tuple[str, ...]) -> Json:
    """without: strings that its strings must not contain. Numbers cannot contain them."""
    plain = schema.values() is None and schema.type in ("integer", "number", "boolean", "null")
    return Json(schema.text(), () if plain else without, False, schema.what)


# --- values without quotes ---


def values_of(
    ways: Sequence[Schema], without: tuple[str, ...], typed: bool, never: str = "", edge: str = ""
) -> list[tuple[str, Node]]:
    """The values that fit one of these schemas, each with its JSON type. Strings have no quotes.

    without: strings that a value must not contain. typed: does the format say which type a value has? If it does not, a
    value is read as JSON of one of the types in the schema, if it can be. never, edge: characters that a string with a
    limit does not have, or not at its beginning and end.
    """
    found: list[tuple[str, Node]] = []
    plain: list[tuple[str, Node]] = []
    texts: list[Node] = []
    for way in ways:
        values = way.values()
        if values is not None:
            words = [one for one in values if isinstance(one, str) and not any(end in one for end in without)]
            texts += [Lit(one) for one in words]
            rest = [one for one in values if not isinstance(one, str)]
            found += [(_TYPES.get(type(one), "object"), Lit(value_text(one))) for one in rest]
        elif way.type == "any" and not way.keywords():
            texts.append(Text(without))
            found += [("json", Json("{}", without))] if typed else []
        elif way.type in ("string", "any"):
            texts.append(_string(way, without, never, edge))
        else:
            found.append((way.type, _json(way, without)))
            plain += [(way.type, Lit(word)) for word in _WORDS.get(way.type, ()) if way.keywords() == {"type"}]
    if not texts:  # where a string is allowed, `None` is one
        found += plain
    if (
        not typed
        and any(isinstance(one, Text) and one.pattern for one in texts)
        and (
            any(one[0] not in ("null", "boolean") for one in found)
            or any(isinstance(one, Text) and not one.pattern for one in texts)
        )
    ):
        raise GrammarError(f"a string with a length limit looks like another value without quotes: {ways[0].what}")
    if not typed and any(isinstance(one, Text) and not one.pattern for one in texts):
        # What does not begin as an array or object is text if it is not anything else.
        containers = [one for one in found if one[0] in ("array", "object")]
        return [("string", Text(without, plain=bool(containers))), *containers]
    if texts:
        found.insert(0, ("string", either(*texts)))
    if not found:
        shown = ", ".join(way.text() for way in ways)
        raise GrammarError(f"no value of {shown} can be written without quotes: {ways[0].what if ways else ''}")
    return found


# Some templates write values without parts as Python prints them.
_WORDS = {"boolean": ("True", "False"), "null": ("None",)}
_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array"}


def _string(schema: Schema, without: tuple[str, ...], never: str = "", edge: str = "") -> Node:
    """A string without quotes. without: strings that it must not contain.

    A string with a limit has no character that begins such a string, because not all backends can keep out strings and
    count characters at once. `format` is a note, as JSON Schema has it.
    """
    keywords = schema.keywords()
    for keyword in sorted(keywords - _OF_STRINGS):
        raise GrammarError(f"{keyword!r} of a string that is written without quotes cannot be kept: {schema.what}")
    if not keywords & _LIMITS:
        return Text(without)
    never = "".join(sorted({*never, *(one[0] for one in without if one)}))
    least, most = schema.get("minLength") or 0, schema.get("maxLength")
    wrong = f"cannot be kept of a string that is written without quotes: {schema.what}"
    if type(least) is not int or not (most is None or type(most) is int):
        raise GrammarError(f"a length of {least!r} to {most!r} {wrong}")
    pattern = schema.get("pattern")
    if pattern is None:
        found = sized(least, most, never, edge)
        if found is None:
            raise GrammarError(f"a length of {least} to {most} {wrong}")
        return Text(without, pattern=found.text) if found.text else EMPTY
    found = rewritten(pattern, never + edge) if isinstance(pattern, str) else None
    if found is None:
        raise GrammarError(f"'pattern' {pattern!r:.60} {wrong}")
    if found.least < least or (most is not None and (found.most is None or found.most > most)):
        raise GrammarError(f"a length of {least} to {most} beside 'pattern' {wrong}")
    return Text(without, pattern=found.text) if found.text else EMPTY


_LIMITS = {"minLength", "maxLength", "pattern"}
_OF_STRINGS = {"type", "format", *_LIMITS}


@per_row
def endings(row_: Format) -> tuple[str, ...]:
    """The texts that may end a value, or the call around it. An argument inside of a value could be another one."""
    markers = [row_.pair[3], row_.pair[0]] if row_.pair else [row_.element[2]] if row_.element else [row_.quote]
    markers += [group[-1] for group in (row_.call, row_.section) if group is not None]
    found = [one for marker in markers for one in ((marker,) if isinstance(marker, str) else marker)]
    return few((*found, *row_.stops))


# --- tags ---


@per_row
def beginnings(row_: Format) -> str:
    """The first characters of all markers of a format, except quotes."""
    return "".join(sorted({one[0] for one in spellings_of(row_) if one and one[0] not in "\"'"}))


def pairs_of(row_: Format, function: Function, key: Node, after: Node) -> Node:
    """Keys and values in tags, with white space between them. key, after: the text before and after a key."""
    assert row_.pair is not None
    opener, closer = first(row_.pair[2]), first(row_.pair[3])
    layout = Space() if row_.newlines == "strip" else EMPTY
    begin = row(Space(), Mark(opener)) if opener else EMPTY
    without = endings(row_)
    typed = bool(row_.typed) or row_.value_type is not None
    never, edge = beginnings(row_), "\n" * (row_.newlines == "strip")

    def in_lines(text: Node) -> Node:
        """A string, perhaps in lines of its own. Other white space is a part of it."""
        if row_.newlines != "strip":
            return text
        if isinstance(text, Text) and not text.pattern:
            return row(maybe(Lit("\n")), text) if text.plain else text
        return either(text, row(Lit("\n"), text, Lit("\n")))

    def forms(schema: Schema) -> Node:
        made = []
        for kind, value in values_of(schema.ways(), without, typed, never, edge):
            inside = in_lines(value) if kind == "string" else row(layout, value, layout)
            ends = typed_end(row_, kind) or after
            made.append(row(ends, _type_attribute(row_, [kind]), begin, inside, Mark(closer), Space()))
        return either(*made)

    def pair(name: str, schema: Schema) -> Node:
        return row(key, Lit(name), _shared(row_, schema, forms))

    if function.arguments is None:
        strings = row(typed_end(row_, "string") or after, _type_attribute(row_, ["string"]))
        ways = [row(strings, begin, Text(without), Mark(closer))]
        begins: list[Node] = [Mark(end) for end, type in row_.typed.items() if type == "json"]
        if row_.value_type is not None:
            begins.append(row(after, _type_attribute(row_, _JSON_TYPES, needed=True)))
        ways += [row(one, begin, Json("{}", without), Mark(closer)) for one in begins]
        return some(row(key, KEY, either(*ways), Space()))
    return listed(function, pair)


@per_row
def _plain_values(row_: Format) -> dict[str, Node]:
    return {}


def _shared(row_: Format, schema: Schema, make: Callable[[Schema], Node]) -> Node:
    """The grammar of a value in a format. It is made once for all values whose schemas are equal and plain."""
    kept = plain(schema.node)
    if kept is None:
        return make(schema)
    known, key = _plain_values(row_), canonical(kept)
    found = known.get(key)
    if found is None:
        while len(known) >= _MOST_VALUES:
            known.pop(next(iter(known)), None)
        found = known[key] = make(schema)
    return found


_JSON_TYPES = ("integer", "number", "boolean", "array", "object", "null")


def _type_attribute(row_: Format, kinds: Sequence[str], *, needed: bool = False) -> Node:
    """A value's type between its tags, if the format writes it."""
    known = [Lit(kind) for kind in kinds if kind == "string" or kind in _JSON_TYPES]
    if row_.value_type is None or not known:
        return EMPTY
    opener, closer = map(first, row_.value_type)
    element = row(Space(), Mark(opener), either(*known), Mark(closer))
    return element if needed else maybe(element)


def typed_end(row_: Format, kind: str) -> Node | None:
    """The end of a key that has this type. None if the row has none."""
    found = [Mark(end) for end, type in row_.typed.items() if type == ("string" if kind == "string" else "json")]
    names = (kind, "number") if kind == "integer" else (kind,)
    exact = [end for name in names for end in found if f'"{name}"' in end.text]
    return either(*exact) if exact else found[0] if found else None


def elements_of(row_: Format, function: Function) -> Node:
    """Tags with the names of arguments."""
    assert row_.element is not None
    before, after, closing = (first(one) for one in row_.element)

    def element(name: str, schema: Schema) -> Node:
        end = row(Mark(closing), Lit(name + after), Space())
        return row(Mark(before), Lit(name + after), either(*(row(value, end) for _, value in inside(schema))))

    def inside(schema: Schema) -> Iterator[tuple[str, Node]]:
        ways, plain = schema.ways(), []
        for way in ways:
            if way.values() is None and way.type == "object" and way.properties:
                check_members(way)
                yield "object", row(Space(), members_of(way, element))
            elif way.values() is None and way.type == "array" and way.items is not None:
                least, most = counts_of(way)
                yield "array", row(Space(), repeated(element(row_.item, way.items), EMPTY, max(least, 1), most))
            elif way.values() is None and way.type in ("object", "array"):
                raise GrammarError(
                    f"{way.what} is an {way.type} without the schema of its members, which has no names for its tags"
                )
            else:
                plain.append(way)
        # Where a value may have members, its text is read as one that has if a member's tag begins it.
        without = few((*endings(row_), before)) if len(plain) < len(ways) else endings(row_)
        if plain:
            yield from values_of(plain, without, False, beginnings(row_))

    if function.arguments is None:
        # The names at both ends must be equal, which needs a list of names. Without a list, there are no arguments.
        declared = Schema(function.declared, function.declared, what=function.what)
        known = []
        for name, schema in declared.properties.items():
            try:
                known.append(element(name, declared.part(schema, name)))
            except GrammarError:
                known.append(element(name, Schema({}, {})))
        return some(either(*known)) if known else EMPTY
    return listed(function, element)


# --- arrays and objects that are written out ---


def check_members(schema: Schema) -> None:
    """Raises GrammarError for a keyword of an object that its members alone do not keep."""
    for keyword in sorted(schema.keywords() - _OF_OBJECTS):
        raise GrammarError(f"{keyword!r} of an object that is not JSON cannot be kept: {schema.what}")


def counts_of(schema: Schema) -> tuple[int, int | None]:
    """How many items an array may have. Raises GrammarError for a keyword that cannot be kept."""
    for keyword in sorted(schema.keywords() - _OF_ARRAYS):
        raise GrammarError(f"{keyword!r} of an array that is not JSON cannot be kept: {schema.what}")
    least, most = schema.get("minItems") or 0, schema.get("maxItems")
    if not all(type(one) is int and 0 <= one <= _MOST_ITEMS for one in (least, most) if one is not None):
        raise GrammarError(f"an array with {least} to {most} items cannot be written out: {schema.what}")
    return least, most


def repeated(one: Node, between: Node, least: int, most: int | None) -> Node:
    """The same node this many times, with another node between."""
    more = row(between, one)
    if most is None:
        rest = some(more)
    else:
        rest = EMPTY
        for _ in range(most - max(least, 1)):
            rest = maybe(row(more, rest))
    whole = row(one, *[more] * (least - 1), rest)
    return EMPTY if most == 0 else whole if least else maybe(whole)


_MOST_ITEMS = 64
_OF_ARRAYS = {"type", "items", "minItems", "maxItems"}
_OF_OBJECTS = {"type", "properties", "required", "additionalProperties"}


# --- Python, and objects with bare keys ---


def python_of(row_: Format, function: Function) -> Node:
    """Keyword arguments: `(a=1, b="x")`."""

    def argument(name: str, schema: Schema) -> Node:
        return row(Lit(f"{name}="), _shared(row_, schema, partial(_python_value, row_)))

    if function.arguments is None:
        any_argument = row(WORD, Lit("="), _python_value(row_, Schema({}, {})))
        return row(Lit("("), maybe(row(any_argument, some(row(_PYTHON_COMMA, any_argument)))), Lit(")"))
    return row(Lit("("), listed(function, argument, _PYTHON_COMMA), Lit(")"))


_PYTHON_COMMA = row(Lit(","), maybe(Lit(" ")))
_PLAIN = {"type", "items", "properties", "required", "additionalProperties"}


def _python_value(row_: Format, schema: Schema, depth: int = 0) -> Node:
    """A literal of Python, or JSON where both read the same."""
    ways = schema.ways()
    if len(ways) > 1:
        return either(*(_python_value(row_, way, depth) for way in ways))
    schema = ways[0]
    without = endings(row_)
    text = Text(("'", "\\", *without))
    escape = either(*(Lit(one) for one in ("\\n", "\\'", '\\"', "\\\\", "\\t")))
    quoted = row(Lit("'"), some(row(text, escape)), text, Lit("'"))
    written = _json(schema, without)
    values = schema.values()
    if values is not None:
        forms = [form for one in values for form in (value_text(one), repr(one))]
        return either(*map(Lit, dict.fromkeys(forms)))
    if schema.keywords() - _PLAIN:
        return written
    match schema.type:
        case "string":
            return either(written, quoted)
        case "boolean":
            return either(written, Lit("True"), Lit("False"))
        case "null":
            return either(written, Lit("None"))
        case "array" if schema.items is not None and depth < _MOST_NESTED:
            item = _python_value(row_, schema.items, depth + 1)
            return row(Lit("["), maybe(row(item, some(row(_PYTHON_COMMA, item)))), Lit("]"))
        case "object" if schema.properties and depth < _MOST_NESTED:

            def member(name: str, inner: Schema) -> Node:
                key = either(Lit(value_text(name)), Lit(repr(name)))
                return row(key, Lit(":"), maybe(Lit(" ")), _python_value(row_, inner, depth + 1))

            return row(Lit("{"), members_of(schema, member, _PYTHON_COMMA), Lit("}"))
        case "any":
            one = either(written, quoted, Lit("True"), Lit("False"), Lit("None"))
            return either(*one.parts, row(Lit("["), one, some(row(_PYTHON_COMMA, one)), Lit("]")))  # type: ignore[union-attr]
    return written


_MOST_NESTED = 3  # how deep values are written out


def objects_of(row_: Format, function: Function) -> Node:
    """An object with bare keys, and with the row's own quotes around strings."""
    quote = first(row_.quote)
    without, never = endings(row_), beginnings(row_)

    def value(schema: Schema) -> Node:
        return either(*map(single, schema.ways()))

    def single(schema: Schema) -> Node:
        values = schema.values()
        if values is not None:
            words = [row(Mark(quote), Lit(one), Mark(quote)) for one in values if isinstance(one, str)]
            return either(*words, *(Lit(value_text(one)) for one in values if not isinstance(one, str)))
        match schema.type:
            case "string":
                return row(Mark(quote), _string(schema, without, never), Mark(quote))
            case "object" if schema.properties:
                check_members(schema)
                return row(Lit("{"), members_of(schema, member, Lit(",")), Lit("}"))
            case "array":
                one = anything[-2] if schema.items is None else value(schema.items)
                return row(Lit("["), repeated(one, Lit(","), *counts_of(schema)), Lit("]"))
            case "object":
                check_members(schema)
                inner = schema.get("additionalProperties")
                one = value(schema.part(inner)) if isinstance(inner, Mapping) else anything[-2]
                return listed_in("{", row(WORD, Lit(":"), one), "}")
            case "any":
                if schema.keywords():
                    keyword = min(schema.keywords())
                    raise GrammarError(f"{keyword!r} without a type cannot be kept: {schema.what}")
                return anything[-1]
        return _json(schema, without)

    def member(name: str, schema: Schema) -> Node:
        return row(Lit(f"{name}:"), _shared(row_, schema, value))

    def listed_in(opener: str, one: Node, closer: str) -> Node:
        return row(Lit(opener), maybe(row(one, some(row(Lit(","), one)))), Lit(closer))

    text = row(Mark(quote), Text(without), Mark(quote))
    anything = [either(text, Json('{"type":["number","boolean","null"]}'))]  # each has one more level
    for _ in range(_MOST_NESTED - 1):
        inner = listed_in("{", row(WORD, Lit(":"), anything[-1]), "}")
        anything.append(either(anything[0], listed_in("[", anything[-1], "]"), inner))
    if function.arguments is None:
        return listed_in("{", row(WORD, Lit(":"), anything[-1]), "}")
    return row(Lit("{"), listed(function, member, Lit(",")), Lit("}"))


def first(marker: Any) -> str:
    """The spelling that models write."""
    return marker if isinstance(marker, str) else marker[0]
