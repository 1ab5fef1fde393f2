"""What a grammar is made of: literals, markers, JSON by a schema, text, and how they follow each other.

Nodes are immutable and hashable. A renderer turns them into the language of one backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "EMPTY",
    "Json",
    "Lit",
    "Mark",
    "Node",
    "Or",
    "Rep",
    "Seq",
    "Space",
    "Text",
    "Word",
    "either",
    "markers",
    "maybe",
    "row",
    "some",
]


@dataclass(frozen=True)
class Lit:
    """These characters."""

    text: str


@dataclass(frozen=True)
class Mark:
    """A marker of the format. Parts of it may be control tokens of a vocabulary."""

    text: str


@dataclass(frozen=True)
class Space:
    """White space, or none, of at most this many characters."""

    most: int = 16


@dataclass(frozen=True)
class Json:
    """JSON that fits this schema, which is JSON text."""

    schema: str


@dataclass(frozen=True)
class Text:
    """Text, or none, without any of these strings. If `plain`, its first character is not white space, { or [."""

    without: tuple[str, ...] = ()
    plain: bool = False


@dataclass(frozen=True)
class Word:
    """A name: a letter or _, then letters, digits and _."""


@dataclass(frozen=True)
class Seq:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    """One of them."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Rep:
    """From `least` to `most` times; None: any number of times."""

    part: Node
    least: int = 0
    most: int | None = None


Node: TypeAlias = "Lit | Mark | Space | Json | Text | Word | Seq | Or | Rep"
EMPTY = Seq(())


def row(*parts: Node) -> Node:
    """One after the other, without nesting."""
    flat: list[Node] = []
    for part in parts:
        inner = part.parts if isinstance(part, Seq) else (part,)
        for one in inner:
            if isinstance(one, Lit) and flat and isinstance(flat[-1], Lit):
                flat[-1] = Lit(flat[-1].text + one.text)
            elif not (isinstance(one, (Lit, Mark)) and not one.text):
                flat.append(one)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def either(*parts: Node) -> Node:
    """One of them, each once. What all of them begin with comes first, so that a text before it knows its end."""
    flat: list[Node] = []
    for part in parts:
        flat += [one for one in (part.parts if isinstance(part, Or) else (part,)) if one not in flat]
    if len(flat) == 1:
        return flat[0]
    heads = {_head(one) for one in flat}
    if len(heads) == 1 and isinstance(head := heads.pop(), Mark):
        return row(head, either(*(Seq(one.parts[1:]) if isinstance(one, Seq) else EMPTY for one in flat)))
    return Or(tuple(flat))


def _head(node: Node) -> Node:
    return node.parts[0] if isinstance(node, Seq) and node.parts else node


def markers(node: Node) -> Iterator[str]:
    """The markers in a node, each as often as it is there."""
    match node:
        case Mark(text=text):
            yield text
        case Text(without=without):
            yield from without
        case Seq(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from markers(part)
        case Rep(part=part):
            yield from markers(part)


def maybe(part: Node) -> Node:
    """It, or nothing."""
    return Rep(part, 0, 1)


def some(part: Node, least: int = 0) -> Node:
    """It, any number of times."""
    return Rep(part, least, None)
