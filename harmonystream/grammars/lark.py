"""A grammar as llguidance's Lark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial

from .nodes import Json, Lit, Mark, Node, Or, Regex, Rep, Seq, Space, Text
from .structural_tag import Pieces

__all__ = ["lark"]


def lark(node: Node, control: Mapping[str, int]) -> str:
    """Lark text. control: the ids of the markers that are control tokens of the vocabulary."""
    writer = _Writer(control)
    start = writer.expression(node)
    return "\n".join(["%llguidance {}", f"start: {start}", *writer.lines()]) + "\n"


_SPACE = "[ \\n\\t]"


class _Writer:
    """Writes each node once, however often it is there."""

    def __init__(self, control: Mapping[str, int]) -> None:
        self.pieces = Pieces(control)
        self.names: dict[object, str] = {}  # of a definition, or of what it stands for
        self.definitions: dict[str, str] = {}  # by name
        self.loops: dict[Node, Rep] = {}  # any number of times a node
        self.written: dict[Node, str] = {}

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
                return _quoted(text)
            case Mark(text=text):
                return " ".join(map(_piece, self.pieces.of(text)))
            case Seq(parts=parts):
                return self._sequence(parts)
            case Json(schema=schema):
                return self._rule(f"%json {_with_little_space(schema)}")
            case Or(parts=parts):
                return self._rule(" | ".join([self.expression(part) for part in parts]))
            case Rep(part=part, least=least, most=most):
                return self._rule(self.expression(part)) + _KINDS[least, most]
            case Space(most=most):
                return self._terminal(f"/{_SPACE}{{1,{most}}}/") + "?"
            case Text():
                return self._terminal(self._text(node)) + "?"
            case Regex(pattern=pattern):
                return self._terminal(f"/{pattern}/")
        raise TypeError(node)

    def _sequence(self, parts: Sequence[Node]) -> str:
        made: list[str] = []
        for at, part in enumerate(parts):
            if isinstance(part, (Space, Text)):
                return " ".join([*made, self._ended(part, parts[at + 1 :])])
            made.append(self.expression(part))
        return " ".join(made) or '""'

    def _ended(self, part: Space | Text, after: Sequence[Node]) -> str:
        """White space or text, and what comes after it.

        A lexer takes the longest lexeme and does not go back. So a text and the string that ends it are one lexeme, and
        where different things may come after a text, each has its own.
        """
        if not after:
            return self.expression(part)
        first, rest = after[0], after[1:]
        match first:
            case Lit(text=text):
                return " ".join([self._with_end(part, text), *self._rest(rest)])
            case Mark(text=text):
                pieces = self.pieces.of(text)
                if isinstance(pieces[0], str):
                    made = [self._with_end(part, pieces[0]), *map(_piece, pieces[1:])]
                else:
                    made = [self.expression(part), *map(_piece, pieces)]
                return " ".join([*made, *self._rest(rest)])
            case Seq(parts=parts):
                return self._ended(part, [*parts, *rest])
            case Or(parts=parts):
                return self._ways(part, after, [[one, *rest] for one in parts])
            case Rep(part=inner, least=least, most=most):
                loop = self.loops.setdefault(inner, Rep(inner))
                ways = [[inner, *rest] if most == 1 else [inner, loop, *rest]]
                return self._ways(
                    part, [loop, *rest] if (least, most) == (0, None) else after, [*ways, rest][: 2 - least]
                )
            case Space():
                return self._ended(part, rest)  # a text has white space, too, and white space has no second one
        return " ".join([self.expression(part), *self._rest(after)])

    def _ways(self, part: Space | Text, after: Sequence[Node], ways: Sequence[Sequence[Node]]) -> str:
        """A rule of white space or text, and what may come after it. What repeats comes back to its own rule."""
        key = (part.most if isinstance(part, Space) else (part.without, part.plain), *after)
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"r{len(self.names)}"
            self.definitions[name] = " | ".join([self._ended(part, way) for way in ways])
        return name

    def _rest(self, parts: Sequence[Node]) -> list[str]:
        return [self._sequence(parts)] if parts else []

    def _with_end(self, part: Space | Text, end: str) -> str:
        if isinstance(part, Space):
            return self._terminal(f"/{_SPACE}{{0,{part.most}}}/ {_quoted(end)}")
        return self._terminal(f"{self._terminal(self._text(part))} {_quoted(end)}")

    def _text(self, text: Text) -> str:
        body = "/(?s:.*)/"
        excluded = [re.escape(one).replace("/", "\\/").replace("\n", "\\n") for one in self.pieces.texts(text.without)]
        if excluded:
            body += f" & ~/(?s:.*)({'|'.join(excluded)})(?s:.*)/"
        if text.plain:
            body += " & /([^ \\n\\t\\r\\[{<](?s:.*))?/"
        return body

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


def _with_little_space(schema: str) -> str:
    """The schema, with at most 16 characters of white space between parts: some models write it for ever."""
    if not schema.startswith("{"):
        return schema
    return _LITTLE_SPACE + ("}" if schema == "{}" else "," + schema[1:])


_LITTLE_SPACE = '{"x-guidance":{"whitespace_pattern":"[ \\\\n\\\\t\\\\r]{0,16}"}'
_KINDS = {(0, 1): "?", (0, None): "*", (1, None): "+"}


def _piece(piece: str | int) -> str:
    return f"<[{piece}]>" if isinstance(piece, int) else _quoted(piece)


_quoted = partial(json.dumps, ensure_ascii=False)
