"""A grammar as llguidance's Lark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from .json_rules import JSON_NEVER, JsonRules
from .kept import fitted
from .nodes import Json, Kept, Lit, Mark, Node, Or, Regex, Rep, Seq, Space, Text, in_quotes
from .patterns import rewritten
from .schemas import quoted, text_alone
from .structural_tag import Pieces

__all__ = ["lark"]


def lark(node: Node, control: Mapping[str, int], *, spelled: bool, lose: Callable[[str], None]) -> str:
    """Lark text.

    control: the ids of the markers that are control tokens of the vocabulary. spelled: can other tokens also spell
    these markers? lose: called with each keyword of a schema that llguidance does not keep.
    """
    writer = _Writer(control, spelled, lose)
    start = writer.expression(node)
    return "\n".join(["%llguidance {}", f"start: {start}", *writer.lines()]) + "\n"


_SPACE = "[ \\n\\t]"


class _Writer(JsonRules):
    """Writes each node once, even if it occurs several times."""

    def __init__(self, control: Mapping[str, int], spelled: bool, lose: Callable[[str], None]) -> None:
        self.pieces, self.spelled, self.lose = Pieces(control), spelled, lose
        self.what = ""  # the value that is being written
        self.names: dict[object, str] = {}  # names of definitions, by the definition or the object that it defines
        self.definitions: dict[str, str] = {}  # by name
        self.loops: dict[Node, Rep] = {}  # nodes that repeat any number of times
        self.written: dict[Node, str] = {}
        self.schemas: dict[tuple[str, tuple[str, ...], bool], str] = {}

    def lines(self) -> list[str]:
        return [f"{name}: {text}" for name, text in self.definitions.items()]

    def expression(self, node: Node) -> str:
        made = self.written.get(node)
        if made is None:
            made = self.written[node] = self._expression(node)
        return made

    def _expression(self, node: Node) -> str:
        match node:
            case Lit(text=text):
                return quoted(text)
            case Mark(text=text):
                return " ".join(map(_piece, self.pieces.of(text)))
            case Seq(parts=parts):
                return self._sequence(parts)
            case Kept(part=part):
                return self.expression(part)
            case Json(schema=schema, without=without, any_order=any_order, what=what):
                without = in_quotes(self._excluded(without))
                found = fitted(schema, "llguidance", without)
                for keyword, place in found.lost:
                    self.lose(f"llguidance does not keep {keyword!r} of {what}{place}")
                self.what = what
                return self._json(found.text, without, any_order)
            case Or(parts=parts):
                return self._rule(" | ".join([self.expression(part) for part in parts]))
            case Rep(part=part, least=least, most=most):
                return self._rule(self.expression(part)) + _KINDS[least, most]
            case Space(most=most):
                return self._terminal(f"/{_SPACE}{{1,{most}}}/") + "?"
            case Text(pattern=pattern):
                needed = pattern and not re.fullmatch(pattern, "")
                return self._terminal(self._text(node)) + "?" * (not needed)
            case Regex(pattern=pattern):
                return self._terminal(f"/{pattern}/")
        raise TypeError(node)

    def _sequence(self, parts: Iterable[Node]) -> str:
        """Parts, one after the other.

        The lexer takes the longest lexeme and does not go back. So text and the string that ends it are one lexeme.
        White space is one lexeme with what follows it if another lexeme may begin with white space.
        """
        made: list[str] = []
        parts = list(_flat(parts))
        at = 0
        while at < len(parts):
            part = parts[at]
            at += 1
            if not isinstance(part, (Space, Text)):
                made.append(self.expression(part))
                continue
            is_apart = isinstance(part, Space) and at > 1 and isinstance(parts[at - 2], (Lit, Mark, Json))
            while at < len(parts) and isinstance(parts[at], Space):
                at += 1  # text includes white space, and two white spaces in a row are one
            end = self._end(parts[at]) if at < len(parts) else []
            if end:
                made += [self._with_end(part, end[0]), *end[1:]]
                at += 1
            elif at < len(parts) and isinstance(parts[at], (Or, Rep)) and not (is_apart and _is_apart(parts[at:])):
                made.append(self._choice(part, parts[at:]))
                break
            else:
                made.append(self.expression(part))
        return " ".join(made) or '""'

    def _end(self, node: Node) -> list[str]:
        """The characters that end the text before the node, then the rest of the node. Empty if there are none."""
        if isinstance(node, Lit):
            return [node.text]
        pieces = self.pieces.of(node.text) if isinstance(node, Mark) else (0,)
        return [pieces[0], *map(_piece, pieces[1:])] if isinstance(pieces[0], str) else []

    def _choice(self, part: Space | Text, after: Sequence[Node]) -> str:
        """A rule for white space or text, and what may follow it. Each way has a lexeme of its own.

        after: a choice or a repetition, and what follows it. Repetitions return to their own rule.
        """
        first, rest = after[0], after[1:]
        ways: list[Sequence[Node]]
        if isinstance(first, Or):
            ways = [[one, *rest] for one in first.parts]
        else:
            assert isinstance(first, Rep)
            inner, loop = first.part, self.loops.setdefault(first.part, Rep(first.part))
            ways = [[inner, *rest] if first.most == 1 else [inner, loop, *rest], rest][: 2 - first.least]
            if (first.least, first.most) == (0, None):
                after = [loop, *rest]
        key = (part.most if isinstance(part, Space) else (part.without, part.plain, part.pattern), *after)
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"r{len(self.names)}"
            self.definitions[name] = " | ".join([self._sequence([part, *way]) for way in ways])
        return name

    def _with_end(self, part: Space | Text, end: str) -> str:
        if isinstance(part, Space):
            return self._terminal(f"/{_SPACE}{{0,{part.most}}}/ {quoted(end)}")
        return self._terminal(f"{self._terminal(self._text(part))} {quoted(end)}")

    def _text(self, text: Text) -> str:
        body = f"/{text.pattern or '(?s:.*)'}/" + _excluding(self._excluded(text.without))
        if text.plain:
            body += " & /([^ \\n\\t\\r\\[{<](?s:.*))?/"
        return body

    def _excluded(self, without: tuple[str, ...]) -> tuple[str, ...]:
        return without if self.spelled else tuple(self.pieces.texts(without))

    # --- JSON ---

    def _json(self, schema: str, without: tuple[str, ...], any_order: bool) -> str:
        """llguidance's own JSON. It is not used if strings must exclude something, or if members may have any order."""
        if not (without or any_order):
            return self._rule(f"%json {_with_little_space(schema)}")
        key = (schema, without, any_order)
        made = self.schemas.get(key)
        if made is None:
            made = self.schemas[key] = self._rule(self.whole(schema, without, any_order))
        return made

    @cached_property
    def space(self) -> str:  # type: ignore[override]
        return self._terminal(f"/{_SPACE}{{1,16}}/") + "?"

    def rule(self, key: object, make: Callable[[], str]) -> str:
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"r{len(self.names)}"
            self.definitions[name] = ""
            self.definitions[name] = make()
        return name

    def literal(self, text: str) -> str:
        return quoted(text)

    def number(self, kind: str) -> str:
        fraction = "" if kind == "integer" else "(\\.[0-9]{1,16})?([eE][+-]?[0-9]{1,2})?"
        return self._terminal(f"/-?(0|[1-9][0-9]{{0,15}}){fraction}/")

    def matching(self, pattern: str, without: tuple[str, ...], least: int, most: int | None) -> str:
        found = rewritten(pattern, JSON_NEVER)
        if found is None:
            return ""
        sizes = f' & /"[^"]{_sizes(least, most)}"/' if least or most is not None else ""
        return self._terminal(f'/"({found.text})"/{sizes}' + _excluding(without))

    def string(self, without: tuple[str, ...], least: int = 0, most: int | None = None) -> str:
        return self._terminal(_string(without, least, most))

    def unknown(self, what: str, schema: Any, without: tuple[str, ...], keywords: Iterable[str] = ()) -> str:
        """llguidance's own JSON. Its strings may contain anything, so it is not used where that matters."""
        if without and not _is_plain(schema):
            self.lose(f"llguidance does not keep {what} of {self.what}, if strings must not contain markers")
            if not isinstance(schema, Mapping) or not keywords:
                return self.any("value", without)
            return self.schema({name: one for name, one in schema.items() if name not in keywords}, without)
        return self._rule(f"%json {_with_little_space(text_alone(schema, self.root))}")

    # --- definitions ---

    def _terminal(self, text: str) -> str:
        return self._named(text, "T")

    def _rule(self, text: str) -> str:
        return self._named(text, "r")

    def _named(self, text: str, letter: str) -> str:
        name = self.names.get(text)
        if name is None:
            name = self.names[text] = f"{letter}{len(self.names)}"
            self.definitions[name] = text
        return name


def _flat(parts: Iterable[Node]) -> Iterator[Node]:
    """The same, without sequences in sequences: text at the end of a tool's part is one lexeme with what follows it."""
    for part in parts:
        if isinstance(part, Kept):
            yield from _flat((part.part,))
        elif isinstance(part, Seq):
            yield from _flat(part.parts)
        else:
            yield part


def _is_apart(parts: Sequence[Node]) -> bool:
    """Is it sure that these parts do not begin with white space, so that a lexer knows where white space ends?"""
    if not parts:
        return False
    first, rest = parts[0], parts[1:]
    match first:
        case Lit(text=text) | Mark(text=text):
            return not text[:1].isspace()
        case Json() | Regex():
            return True
        case Seq(parts=inner):
            return _is_apart((*inner, *rest))
        case Kept(part=part):
            return _is_apart((part, *rest))
        case Or(parts=ways):
            return all(_is_apart((way, *rest)) for way in ways)
        case Rep(part=part, least=least):
            return _is_apart((part, *rest)) and (least > 0 or _is_apart(rest))
    return False


@lru_cache(256)
def _string(without: tuple[str, ...], least: int, most: int | None) -> str:
    return f'/"({_UNIT}){_sizes(least, most)}"/' + _excluding(without)


def _sizes(least: int, most: int | None) -> str:
    return "*" if not least and most is None else f"{{{least},{'' if most is None else most}}}"


def _is_plain(schema: Any) -> bool:
    """Can no value that fits contain a marker?"""
    if not isinstance(schema, Mapping):
        return False
    kind = schema.get("type")
    kinds = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else {"any"}
    if "format" in schema and kinds == {"string"}:
        return True  # `fitted` leaves only formats without such characters
    return kinds <= {"integer", "number", "boolean", "null"}


@lru_cache(256)
def _excluding(without: tuple[str, ...]) -> str:
    """The end of a terminal that contains none of these strings."""
    if not without:
        return ""
    excluded = [re.escape(one).replace("/", "\\/").replace("\n", "\\n") for one in without]
    return f" & ~/(?s:.*)({'|'.join(excluded)})(?s:.*)/"


# One character of a JSON string: no half of a surrogate pair.
_UNIT = '[^"\\\\\\x00-\\x1f\\x7f]|\\\\(["\\\\\\/bfnrt]|u([0-9a-cA-CeEfF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}))'


def _with_little_space(schema: str) -> str:
    """The schema, with at most 16 characters of white space between parts, because some models write it forever."""
    if not schema.startswith("{"):
        return schema
    return _LITTLE_SPACE + ("}" if schema == "{}" else "," + schema[1:])


_LITTLE_SPACE = '{"x-guidance":{"whitespace_pattern":"[ \\\\n\\\\t\\\\r]{0,16}"}'
_KINDS = {(0, 1): "?", (0, None): "*", (1, None): "+"}


def _piece(piece: str | int) -> str:
    return f"<[{piece}]>" if isinstance(piece, int) else quoted(piece)
