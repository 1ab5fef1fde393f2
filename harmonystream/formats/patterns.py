"""Reads a regular expression as the few fixed texts that it can match, without ever running it.

A response template comes from outside and may describe its markers with regular expressions. A `Format` can express
only a small part of that language: characters, `\\s*`, choices, and named groups that match anything.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import product
from typing import NamedTuple, TypeAlias

from ..errors import FormatError

__all__ = ["Group", "Layout", "Piece", "Pieces", "read_ahead", "read_literal", "read_pattern"]

LONGEST = 1024  # characters of a text or an expression
_MOST = 16  # texts that one expression may stand for
_DEEPEST = 8  # groups in groups


class Layout(Enum):
    """A piece that is not a character: any whitespace, or the end of the output."""

    SPACE = "whitespace"
    END = "the end"


class Group(NamedTuple):
    """A named group that matches any text: `(?P<name>\\w+)`."""

    name: str


Piece: TypeAlias = "str | Layout | Group"
Pieces: TypeAlias = "tuple[Piece, ...]"

_GROUP = re.compile(r"\(\?P<(\w{1,64})>")
_AHEAD = re.compile(r"\(\?=(?:\[\\s\\S\]|\.)\*\??(.*)\)", re.DOTALL)
# A body that matches anything of some kind: a class, or `.`, repeated.
_ANYTHING = re.compile(r"(?:\.|\\[wWdDS]|\[(?:\\.|[^\]\\])+\])[*+]\??", re.DOTALL)
_LAYOUT = re.compile(r"\A\s+|(?<!\w)\s*\n\s*|(?<!\w)\s+\Z")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_SPECIAL = "^.[]{}*+?|()"


def read_literal(text: str, what: str) -> Pieces:
    """A fixed text. Line breaks in it, and whitespace at its ends, are layout, except after a word.

    what: its place, for errors. Raises FormatError for a text of more than 1,024 characters.
    """
    _check_length(text, what)
    return _laid_out((text,))


def read_pattern(pattern: str, what: str) -> list[Pieces]:
    """The texts that the expression can match, at most 16. what: its place, for errors.

    Raises FormatError for an expression that matches anything else.
    """
    _check_length(pattern, what)
    reader = _Reader(pattern, what)
    texts = reader.choices(0)
    if reader.at < len(pattern):
        raise reader.refusal()
    return list(dict.fromkeys(map(_laid_out, texts)))


def read_ahead(pattern: str, what: str) -> list[Pieces] | None:
    """The text that an opener such as `(?=[\\s\\S]*?</think>)` waits for. The opener matches anything before
    this text.
    """
    found = _AHEAD.fullmatch(pattern) if len(pattern) <= LONGEST else None
    return None if found is None else read_pattern(found[1], what)


def _check_length(text: str, what: str) -> None:
    if len(text) > LONGEST:
        raise FormatError(f"{what} has {len(text):,} characters; at most {LONGEST:,} are read")


class _Reader:
    """One pass over an expression, by recursive descent."""

    def __init__(self, pattern: str, what: str) -> None:
        self.pattern = pattern
        self.what = what
        self.at = 0

    def refusal(self, why: str = "not a fixed text") -> FormatError:
        return FormatError(f"{self.what}: {self.pattern[self.at : self.at + 40]!r} is {why}, so no Format can have it")

    def sees(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.sees(text)
        self.at += len(text) if found else 0
        return found

    def choices(self, depth: int) -> list[Pieces]:
        texts = self.sequence(depth)
        while self.take("|"):
            texts += self.sequence(depth)
        self.check(texts)
        return texts

    def sequence(self, depth: int) -> list[Pieces]:
        texts: list[Pieces] = [()]
        while self.at < len(self.pattern) and not self.sees("|") and not self.sees(")"):
            atom = self.repeated(self.atom(depth))
            texts = [_joined((*before, *after)) for before, after in product(texts, atom)]
            self.check(texts)
        return texts

    def check(self, texts: list[Pieces]) -> None:
        if len(texts) > _MOST:
            raise FormatError(f"{self.what}: the pattern matches more than {_MOST} texts, which no Format can have")

    def repeated(self, atom: list[Pieces]) -> list[Pieces]:
        blank = all(
            part is Layout.SPACE or (isinstance(part, str) and part.isspace()) for text in atom for part in text
        )
        if self.take("?"):
            atom = [(Layout.SPACE,)] if blank else [*atom, ()]
        elif blank and (self.take("*") or self.take("+")):
            atom = [(Layout.SPACE,)]
            self.take("?")
        return atom

    def atom(self, depth: int) -> list[Pieces]:
        if depth > _DEEPEST:
            raise self.refusal("nested too deeply")
        if self.take("(?:"):
            texts = self.choices(depth + 1)
            if not self.take(")"):
                raise self.refusal("a group without its end")
            return texts
        if group := _GROUP.match(self.pattern, self.at):
            return [(self.group(group),)]
        if self.take("$"):
            return [(Layout.END,)]
        if self.take("\\"):
            return [self.escaped()]
        if self.pattern[self.at] in _SPECIAL:
            raise self.refusal()
        self.at += 1
        return [(self.pattern[self.at - 1],)]

    def escaped(self) -> Pieces:
        self.at -= 1
        escaped = self.pattern[self.at + 1 : self.at + 2]
        if escaped not in ("s", *_ESCAPED) and (not escaped or (escaped.isalnum() and escaped.isascii())):
            raise self.refusal()
        self.at += 2
        return (Layout.SPACE,) if escaped == "s" else (_ESCAPED.get(escaped, escaped),)

    def group(self, opener: re.Match[str]) -> Group:
        body = _ANYTHING.match(self.pattern, opener.end())
        if body is None or not self.pattern.startswith(")", body.end()):
            raise self.refusal("a group of more than one kind of character")
        self.at = body.end() + 1
        return Group(opener[1])


def _laid_out(parts: Pieces) -> Pieces:
    """The same pieces, with layout in texts as `Layout.SPACE`, and never twice in a row."""
    pieces: list[Piece] = []
    for part in parts:
        texts = _LAYOUT.split(part) if isinstance(part, str) else [part]
        for number, piece in enumerate(texts):
            pieces += [Layout.SPACE] * (number > 0) + [piece] * (piece != "")
    doubled = zip(pieces, [None, *pieces], strict=False)
    return tuple(piece for piece, before in doubled if piece is not Layout.SPACE or before is not Layout.SPACE)


def _joined(parts: Pieces) -> Pieces:
    """The same pieces, with neighbouring texts joined."""
    joined: list[Piece] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return tuple(joined)
