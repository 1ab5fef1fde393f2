"""Regular expressions of JSON Schema, rewritten so that each backend reads them in the same way.

The result matches a whole string. It has classes, groups, `|` and counts alone. Look-around, references and other
anchors are not rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Pattern", "rewritten", "sized"]

_MOST_SIZE = 3000  # classes, with their counts multiplied
_MOST_LENGTH = 2000  # characters of an expression
_MOST_DEPTH = 20  # groups inside of each other
_LAST = 0x10FFFF

_Set = tuple[tuple[int, int], ...]


class Pattern(NamedTuple):
    """An expression. least, most: the lengths of the strings that it matches; most is None without a limit.

    size: how many classes it has if counts are multiplied out.
    """

    text: str
    least: int
    most: int | None
    size: int = 1

    @property
    def fits(self) -> bool:
        return self.size <= _MOST_SIZE


class _UnknownError(Exception):
    """The expression has something that is not rewritten."""


@lru_cache(1024)
def rewritten(pattern: str, never: str = "") -> Pattern | None:
    """The expression for a whole string, without these characters. None if it cannot be rewritten, or is too large."""
    if len(pattern) > _MOST_LENGTH:
        return None
    try:
        made = _Reader(pattern, never).whole()
    except _UnknownError:
        return None
    return made if made.fits else None


@lru_cache(256)
def sized(least: int, most: int | None, never: str = "", edge: str = "") -> Pattern | None:
    """A string of this length, without these characters. edge: characters that are not at its beginning or end.

    None if it is too large, or if there is no such length.
    """
    if max(least, most or 0) > _MOST_SIZE or (most is not None and most < least):
        return None
    one, end = _class(_without(_ANY, never)), _class(_without(_ANY, never + edge))
    if most == 0:
        return Pattern("", 0, 0)
    if not edge:
        return Pattern(one + _count(least, most), least, most)
    inside = "" if most in (1, 2) else one + _count(max(least - 2, 0), None if most is None else most - 2)
    text = end if most == 1 else f"{end}({inside}{end})" + ("?" if least < 2 else "")
    return Pattern(f"({text})?" if least == 0 else text, least, most)


# --- sets of characters, as ranges in their order ---

_ANY: _Set = ((0, 0xD7FF), (0xE000, _LAST))


def _joined(ranges: Iterable[tuple[int, int]]) -> _Set:
    made: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if made and low <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(high, made[-1][1]))
        else:
            made.append((low, high))
    return tuple(made)


def _inverse(ranges: _Set) -> _Set:
    made, at = [], 0
    for low, high in ranges:
        if low > at:
            made.append((at, low - 1))
        at = high + 1
    return (*made, (at, _LAST)) if at <= _LAST else tuple(made)


def _without(ranges: _Set, never: str) -> _Set:
    kept = _inverse(_joined((*_inverse(ranges), *((ord(one), ord(one)) for one in never), (0xD800, 0xDFFF))))
    if not kept:
        raise _UnknownError
    return kept


def _class(ranges: _Set) -> str:
    negated = ranges[-1][1] == _LAST
    if negated:  # a half of a surrogate pair is in no text, so it needs no place in the class
        ranges = tuple(one for one in _inverse(ranges) if one != (0xD800, 0xDFFF)) or ((0, 0),)
    # xgrammar reads letters after an escape sequence as a part of it, so these come last.
    shown = sorted((_shown(low, high) for low, high in ranges), key=lambda one: one.startswith("\\"))
    return f"[{'^' * negated}{''.join(shown)}]"


def _shown(low: int, high: int) -> str:
    plain = all(code > 0x206F or 0xA0 < code < 0x2000 or (code < 128 and chr(code).isalnum()) for code in (low, high))
    ends = [chr(code) if plain else _escaped(code) for code in dict.fromkeys((low, high))]
    return "-".join(ends)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else chr(code)


def _count(least: int, most: int | None) -> str:
    if (least, most) == (1, 1):
        return ""
    known = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((least, most))
    return known or (f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}")


_DIGITS: _Set = ((48, 57),)
_WORD: _Set = ((48, 57), (65, 90), (95, 95), (97, 122))
_LATE: _Set = ((0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF))
_SPACES = _joined(
    ((9, 13), (32, 32), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), *_LATE)
)
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES, "D": _inverse(_DIGITS), "W": _inverse(_WORD)}
_CLASSES["S"] = _inverse(_SPACES)
_LETTERS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}
_LINES = "\n\r\u2028\u2029"
_COUNT = re.compile(r"\{(\d{1,5})(,?)(\d{0,5})\}")
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}")


class _Reader:
    def __init__(self, text: str, never: str) -> None:
        self.text, self.never, self.at, self.depth = text, never, 0, 0

    def whole(self) -> Pattern:
        anything = Pattern(_class(_without(_ANY, self.never)) + "*", 0, None)
        ways = []
        while True:
            anchored = self._skip("^")
            parts = [] if anchored else [anything]
            parts.append(self._sequence())
            if not self._skip("$"):
                parts.append(anything)
            ways.append(_after(parts))
            if not self._skip("|"):
                break
        if self.at < len(self.text):
            raise _UnknownError
        return _either(ways)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _skip(self, text: str) -> bool:
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def _sequence(self) -> Pattern:
        parts = []
        while (one := self._peek()) and one not in "|)$":
            parts.append(self._counted(self._atom()))
        return _after(parts)

    def _counted(self, atom: Pattern) -> Pattern:
        least, most = 1, None
        if self._skip("*"):
            least = 0
        elif self._skip("+"):
            least = 1
        elif self._skip("?"):
            least, most = 0, 1
        elif found := _COUNT.match(self.text, self.at):
            self.at = found.end()
            least = int(found[1])
            most = (int(found[3]) if found[3] else None) if found[2] else least
        else:
            return atom
        self._skip("?")  # the same strings match, in whatever order they are tried
        if self._peek() in ("*", "+", "?", "{"):
            raise _UnknownError
        if (most is not None and most < least) or (most is None and atom.least == 0):
            raise _UnknownError
        text = atom.text if _is_class(atom.text) else f"({atom.text})"
        highest = None if most is None or atom.most is None else most * atom.most
        if most == 0 or not atom.text:
            return Pattern("", 0, 0, 0)
        size = atom.size * max(most or least, 1)
        if size > _MOST_SIZE:
            raise _UnknownError
        return Pattern(text + _count(least, most), least * atom.least, highest, size)

    def _atom(self) -> Pattern:
        one = self._peek()
        if one == "(":
            return self._group()
        if one == "[":
            return self._of(self._set())
        self.at += 1
        if one == ".":
            return self._of(_without(_ANY, _LINES))
        if one == "\\":
            return self._of(self._escape())
        if one in "^*+?{}]":
            raise _UnknownError
        return self._of(((ord(one), ord(one)),))

    def _of(self, ranges: _Set) -> Pattern:
        return Pattern(_class(_without(ranges, self.never)), 1, 1)

    def _group(self) -> Pattern:
        self.at += 1
        self.depth += 1
        if self.depth > _MOST_DEPTH or (self._skip("?") and not self._skip(":")):
            raise _UnknownError
        ways = [self._sequence()]
        while self._skip("|"):
            ways.append(self._sequence())
        if not self._skip(")"):
            raise _UnknownError
        self.depth -= 1
        return _either(ways)

    def _escape(self) -> _Set:
        one = self._peek()
        if found := _CODE.match(self.text, self.at):
            self.at = found.end()
            code = int(found[1] or found[2] or found[3], 16)
        else:
            self.at += 1
            if one in _CLASSES:
                return _CLASSES[one]
            if one in _LETTERS:
                code = _LETTERS[one]
            elif not one or one.isalnum():
                raise _UnknownError
            else:
                code = ord(one)
        if code > _LAST or 0xD800 <= code <= 0xDFFF:
            raise _UnknownError
        return ((code, code),)

    def _set(self) -> _Set:
        self.at += 1
        negated = self._skip("^")
        found: list[tuple[int, int]] = []
        while not self._skip("]"):
            low = self._member()
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self._member()
                if len(low) != 1 or len(high) != 1 or low[0][0] != low[0][1] or low[0][0] > high[0][1]:
                    raise _UnknownError
                found.append((low[0][0], high[0][1]))
            else:
                found += low
        ranges = _joined(found)
        return _inverse(ranges) if negated else ranges

    def _member(self) -> _Set:
        one = self._peek()
        self.at += 1
        if not one:
            raise _UnknownError
        return self._escape() if one == "\\" else ((ord(one), ord(one)),)


def _is_class(text: str) -> bool:
    return text.startswith("[") and "]" not in text[:-1] and text.endswith("]")


def _after(parts: Sequence[Pattern]) -> Pattern:
    most: int | None = 0
    for one in parts:
        most = None if most is None or one.most is None else most + one.most
    texts = [f"({one.text})" if _is_union(one.text) else one.text for one in parts] if len(parts) > 1 else None
    text = parts[0].text if len(parts) == 1 else "".join(texts or ())
    return Pattern(text, sum(one.least for one in parts), most, sum(one.size for one in parts))


def _is_union(text: str) -> bool:
    depth = 0
    for one in text:
        depth += (one == "(") - (one == ")")
        if one == "|" and not depth:
            return True
    return False


def _either(ways: Sequence[Pattern]) -> Pattern:
    if len(ways) == 1:
        return ways[0]
    texts = [one.text for one in ways if one.text]
    mosts = [one.most for one in ways]
    text = "|".join(texts)
    if len(texts) < len(ways):
        text = f"({text})?" if text else ""
    most = None if None in mosts else max(one for one in mosts if one is not None)
    return Pattern(text, min(one.least for one in ways), most, sum(one.size for one in ways))
