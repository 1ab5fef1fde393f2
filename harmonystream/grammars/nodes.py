"""What a grammar is made of: literals, markers, JSON by a schema, text, and how they follow each other.

A renderer turns nodes into the language of one backend. A node is not changed once it is made, and may be a part of
many. Nodes are compared by identity, so that a renderer writes a shared one once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "EMPTY",
    "ID",
    "INDEX",
    "KEY",
    "WORD",
    "Json",
    "Lit",
    "Mark",
    "Node",
    "Or",
    "Regex",
    "Rep",
    "Seq",
    "Space",
    "Text",
    "either",
    "few",
    "head",
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
    """White space, or none, of at most this many characters."""

    most: int = 16


@dataclass(eq=False, slots=True)
class Json:
    """JSON that fits this schema, which is JSON text.

    without: what its strings must not have, as they are written. any_order: may its members, but not those inside of
    them, come in any order?
    """

    schema: str
    without: tuple[str, ...] = ()
    any_order: bool = False


@dataclass(eq=False, slots=True)
class Text:
    """Text, or none, without any of these strings. If `plain`, its first character is not white space, { or [."""

    without: tuple[str, ...] = ()
    plain: bool = False


@dataclass(eq=False, slots=True)
class Regex:
    """Text of this pattern, which has no more than classes, counts and |, as all backends read them."""

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
    """At least 0 or 1 times, and at most once; `most` None: any number of times."""

    part: Node
    least: int = 0
    most: int | None = None


Node: TypeAlias = "Lit | Mark | Space | Json | Text | Regex | Seq | Or | Rep"
EMPTY = Seq(())
WORD = Regex("[A-Za-z_][A-Za-z0-9_]{0,63}")  # a name
KEY = Regex("[A-Za-z_][A-Za-z0-9_.-]{0,63}")  # of an argument that nobody has declared
INDEX = Regex("[0-9]|[1-9][0-9]")  # a number below 100
ID = Regex("[A-Za-z0-9_.:-]{1,64}")  # of a call


def row(*parts: Node) -> Node:
    """One after the other, without nesting."""
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


def is_empty(node: Node) -> bool:
    """Is it no more than the empty text?"""
    return not (node.parts if isinstance(node, Seq) else node.text if isinstance(node, Lit) else True)


def either(*parts: Node) -> Node:
    """One of them. A marker that all of them begin with comes first, so that a text before it knows its end."""
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
    """What a text must not have in it so that it has none of these: beginnings of them, if there are many.

    A backend's time grows with their number.
    """
    found = tuple(dict.fromkeys(one for one in strings if one))
    if len(found) <= _MANY:
        return found
    groups: dict[str, str] = {}  # what they have in common, by how they begin
    for one in found:
        key = one[:_LEAST_IN_COMMON]
        known = groups.get(key, one)
        shared = next((at for at, (a, b) in enumerate(zip(known, one)) if a != b), min(len(known), len(one)))
        groups[key] = one[:shared]
    return tuple(groups.values())


def of_marks(spellings: Iterable[str]) -> Node:
    """One of these markers, each of which may be there twice."""
    return either(*map(Mark, dict.fromkeys(spellings)))


def head(node: Node) -> Node:
    """What it begins with."""
    return node.parts[0] if isinstance(node, Seq) and node.parts else node


def markers(node: Node) -> Iterator[str]:
    """The markers in a node, each as often as it is in other nodes."""
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
            case Rep(part=part) if part not in seen:
                waiting.append(part)
                seen.add(part)


def maybe(part: Node) -> Node:
    """It, or nothing."""
    return Rep(part, 0, 1)


def some(part: Node, least: int = 0) -> Node:
    """It, any number of times."""
    return Rep(part, least, None)
