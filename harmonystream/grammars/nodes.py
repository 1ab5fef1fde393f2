"""The parts of a grammar: literals, markers, JSON with a schema, text, and combinations of these.

A renderer converts nodes to the language of one backend. A node does not change once it is made, and may be used
several times. Nodes are compared by identity, so that a renderer writes a shared node only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

__all__ = [
    "EMPTY",
    "ID",
    "INDEX",
    "KEY",
    "QUOTED_ID",
    "WORD",
    "Json",
    "Kept",
    "Lit",
    "Mark",
    "Node",
    "Or",
    "Regex",
    "Rep",
    "Seq",
    "Space",
    "Text",
    "after_space",
    "either",
    "few",
    "head",
    "in_quotes",
    "is_empty",
    "markers",
    "maybe",
    "of_marks",
    "row",
    "some",
]


@dataclass(eq=False, slots=True)
class Lit:
    """These characters."""

    text: str


@dataclass(eq=False, slots=True)
class Mark:
    """A marker of the format. Parts of it may be control tokens of a vocabulary."""

    text: str


@dataclass(eq=False, slots=True)
class Space:
    """White space of at most this many characters, or none."""

    most: int = 16


@dataclass(eq=False, slots=True)
class Json:
    """JSON that fits this schema, which is JSON text.

    without: strings that must not begin in its strings, as they are written. any_order: may its members have any order?
    This does not apply to nested members. what: the value's name in errors. plain: the same schema, if it is plain.
    """

    schema: str
    without: tuple[str, ...] = ()
    any_order: bool = False
    what: str = ""
    plain: dict[str, Any] | None = None


@dataclass(eq=False, slots=True)
class Text:
    """Text without any of these strings, possibly empty. If `plain`, its first character is not white space, { or [.

    pattern: an expression as `patterns` writes it, which the whole text fits. It keeps out the strings itself.
    """

    without: tuple[str, ...] = ()
    plain: bool = False
    pattern: str = ""


@dataclass(eq=False, slots=True)
class Regex:
    """Text that fits this pattern. It has only classes, counts and |, so that all backends understand it."""

    pattern: str


@dataclass(eq=False, slots=True)
class Seq:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(eq=False, slots=True)
class Or:
    """One of them."""

    parts: tuple[Node, ...]


@dataclass(eq=False, slots=True)
class Rep:
    """Repeats a node, at least 0 or 1 times. `most` is 1, or None for any number of times."""

    part: Node
    least: int = 0
    most: int | None = None


class Kept:
    """A part that belongs to one tool, and that several grammars have. It is made on first use.

    texts: what a renderer has made of it, by the renderer's key, and what is lost in it.
    """

    __slots__ = ("_make", "_part", "texts")

    def __init__(self, make: Callable[[], Node]) -> None:
        self._make = make
        self._part: Node | None = None
        self.texts: dict[object, tuple[str, tuple[str, ...]]] = {}

    @property
    def part(self) -> Node:
        if self._part is None:
            self._part = self._make()
        return self._part


Node: TypeAlias = "Lit | Mark | Space | Json | Text | Regex | Seq | Or | Rep | Kept"
EMPTY = Seq(())
WORD = Regex("[A-Za-z_][A-Za-z0-9_]{0,63}")  # a name
KEY = Regex("[A-Za-z_][A-Za-z0-9_.-]{0,63}")  # an undeclared argument
INDEX = Regex("[0-9]|[1-9][0-9]|[1][01][0-9]|[1][2][0-8]")  # the number of a call, up to 128
ID = Regex("[A-Za-z0-9_.:-]{1,64}")  # a call's id


def row(*parts: Node) -> Node:
    """One after the other, flattened."""
    flat: list[Node] = []
    for part in parts:
        for one in part.parts if type(part) is Seq else (part,):
            if type(one) is Lit:
                if flat and type(flat[-1]) is Lit:
                    flat[-1] = Lit(flat[-1].text + one.text)
                elif one.text:
                    flat.append(one)
            elif not (type(one) is Mark and not one.text):
                flat.append(one)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


# An id in quotes has no limit: xgrammar compiles a limit of 64 in half a second, and none in a millisecond.
QUOTED_ID = row(Lit('"'), Regex("[A-Za-z0-9_.:-]+"), Lit('"'))


def is_empty(node: Node) -> bool:
    """Is it the empty text?"""
    return not (node.parts if isinstance(node, Seq) else node.text if isinstance(node, Lit) else True)


def either(*parts: Node) -> Node:
    """One of them. If all begin with the same marker, it is put first, so that text before it knows its end."""
    flat: list[Node] = []
    for part in parts:
        flat += part.parts if isinstance(part, Or) else (part,)
    if len(flat) == 1:
        return flat[0]
    begin = head(flat[0])
    if isinstance(begin, Mark) and all(isinstance(one := head(part), Mark) and one.text == begin.text for part in flat):
        return row(begin, either(*(row(*part.parts[1:]) if isinstance(part, Seq) else EMPTY for part in flat)))
    return Or(tuple(flat))


_MANY = 12
_LEAST_IN_COMMON = 3


def few(strings: Iterable[str]) -> tuple[str, ...]:
    """Strings to exclude in place of these. If there are many, these are their common beginnings.

    A backend's time grows with the number of strings.
    """
    found = tuple(dict.fromkeys(one for one in strings if one))
    if len(found) <= _MANY:
        return found
    groups: dict[str, str] = {}  # common beginnings, by their first characters
    for one in found:
        key = one[:_LEAST_IN_COMMON]
        known = groups.get(key, one)
        shared = next((at for at, (a, b) in enumerate(zip(known, one)) if a != b), min(len(known), len(one)))
        groups[key] = one[:shared]
    return tuple(groups.values())


@lru_cache(256)
def in_quotes(without: tuple[str, ...]) -> tuple[str, ...]:
    """What a string in quotes must not contain, so that none of these strings begins in it.

    A quote cannot be in such a string, but it may end one, and then be a part of a marker such as `<invoke name="`.
    The first letter of a marker such as `function call` may be that of an escape sequence, which languages write apart
    from the text after it.
    """
    found = [one for marker in without if (one := _QUOTED.split(marker, maxsplit=1)[0])]
    return tuple(dict.fromkeys((*found, *(one[1:] for one in found if one[0] in _ESCAPES and one[1:]))))


_QUOTED = re.compile('["\\\\]')
_ESCAPES = "/bfnrt"


def of_marks(spellings: Iterable[str]) -> Node:
    """One of these markers. Duplicates are allowed."""
    return either(*map(Mark, dict.fromkeys(spellings)))


def head(node: Node) -> Node:
    """The first part of a node."""
    return node.parts[0] if isinstance(node, Seq) and node.parts else node


def markers(node: Node) -> Iterator[str]:
    """The markers in a node. A marker occurs as often as it does in other nodes."""
    waiting, seen = [node], {node}
    while waiting:
        one = waiting.pop()
        match one:
            case Mark(text=text):
                yield text
            case Text(without=without):
                yield from without
            case Seq(parts=parts) | Or(parts=parts):
                inner = [part for part in parts if part not in seen]
                waiting += inner
                seen.update(inner)
            case Rep(part=part) | Kept(part=part) if part not in seen:
                waiting.append(part)
                seen.add(part)


def maybe(part: Node) -> Node:
    """The node, or nothing."""
    return Rep(part, 0, 1)


def some(part: Node, least: int = 0) -> Node:
    """The node, any number of times."""
    return Rep(part, least, None)


def after_space(part: Node) -> Node:
    """White space before a node, unless it begins with text, which may have any, or with white space.

    xgrammar checks each token that may be both white space and text, which takes a tenth of a second. So before text
    that does not begin with white space, there are at most two line breaks.
    """
    if isinstance(part, Or):
        return either(*map(after_space, part.parts))
    begin = head(part)
    if isinstance(begin, Space) or _is_text_first((part,)):
        return part
    return row(_LINE_BREAKS if isinstance(begin, Text) and begin.plain else Space(), part)


_LINE_BREAKS = maybe(either(Lit("\n\n"), Lit("\n")))


def _is_text_first(parts: Sequence[Node]) -> bool:
    match parts:
        case (Text(plain=False, pattern=""), *_):
            return True
        case (Seq(parts=inner), *rest):
            return _is_text_first((*inner, *rest))
        case (Or(parts=ways), *rest):
            return all(_is_text_first((way, *rest)) for way in ways)
        case (Rep(part=part, least=least), *rest):
            return _is_text_first((part, *rest)) and (least > 0 or _is_text_first(rest))
    return False
