"""The command line's input: pieces of a file or a live pipe as they arrive, as text or as token ids.

Ids may be written in any of these ways, mixed: numbers between whitespace or commas, JSON lists, one list of any size,
and objects with `ids` or `token_ids`, whose other fields are ignored. All are read piece by piece: what has arrived is
passed on, and nothing is kept but an unfinished number or object.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator

from .._native.core.json_scan import JsonScanner

__all__ = ["IdReader", "InputError", "is_ids", "pieces"]

MAX_ID = 0xFFFFFFFF
_PIECE = 1 << 16
_BOM = b"\xef\xbb\xbf"
_PLAIN = b"0123456789, \t\r\n"
_SPACE = b" \t\r\n"
_PART = re.compile(rb"(?P<gap>[\s,]+)|(?P<number>[0-9]+(?=[\s,\]\[{]))|(?P<open>\[)|(?P<close>\])|(?P<object>\{)")
_WORD = re.compile(rb"[^\s,\[\]{]{1,41}")


class InputError(ValueError):
    """The input is wrong; the message says where and how."""


def pieces(fd: int) -> Iterator[bytes]:
    """The bytes of a file descriptor, as soon as they arrive. Raises `InputError` if it cannot be read."""
    try:
        while piece := os.read(fd, _PIECE):
            yield piece
    except OSError as error:
        raise InputError(f"cannot read the input: {error.strerror}") from None


def is_ids(start: bytes) -> bool | None:
    """Does an input that begins like this hold ids? None while this is unknown.

    A digit, `[` or `{` as the first character after whitespace means ids; Harmony text begins with none of them.
    """
    if _BOM.startswith(start):
        return None
    first = start.removeprefix(_BOM).lstrip(_SPACE)[:1]
    return first in b"0123456789[{" if first else None


class IdReader:
    """Turns pieces of input into lists of ids."""

    def __init__(self) -> None:
        self._rest = b""
        self._line = 1
        self._in_list = False
        self._object: JsonScanner | None = None
        self._object_parts: list[bytes] = []
        self._began = False

    def feed(self, piece: bytes) -> list[int]:
        """The ids that are whole now. Raises `InputError` for anything that is not an id."""
        data = self._rest + piece
        if not self._began:
            if _BOM.startswith(data) and data != _BOM:
                self._rest = data
                return []
            data = data.removeprefix(_BOM)
            self._began = True
        self._rest = b""
        return self._take(data)

    def finish(self) -> list[int]:
        """The last id, which nothing followed. Raises `InputError` if the input ends too early."""
        ids = self.feed(b" ")
        if self._object is not None:
            raise InputError(f"line {self._line}: the input ends inside an object")
        if self._in_list:
            raise InputError(f"line {self._line}: the input ends inside a list")
        return ids

    def _take(self, data: bytes) -> list[int]:
        if self._object is None and not data.translate(None, _PLAIN):
            end = len(data.rstrip(b"0123456789"))
            numbers = data[:end].replace(b",", b" ").split()
            if max(map(len, numbers), default=0) <= 9 and len(data) - end <= 10:  # plain ids: no need to look at each
                self._rest = data[end:]
                self._line += data.count(b"\n")
                return list(map(int, numbers))
        ids: list[int] = []
        at = 0
        while at < len(data):
            at = self._take_object(data, at, ids) if self._object is not None else self._take_part(data, at, ids)
        return ids

    def _take_part(self, data: bytes, at: int, ids: list[int]) -> int:
        """One number, bracket or gap. Returns the index after it."""
        part = _PART.match(data, at)
        kind = part.lastgroup if part else None
        if part is None:
            word = _WORD.match(data, at)
            if word and word.end() == len(data) and word[0].isdigit() and len(word[0]) <= 10:
                self._rest = word[0]  # a number that may go on in the next piece
                return len(data)
            raise self._refusal(word[0] if word else data[at : at + 1])
        if kind == "gap":
            self._line += part[0].count(b"\n")
        elif kind == "number":
            ids += self._checked([part[0]])
        elif kind == "object":
            self._object = JsonScanner()
            return at
        elif self._in_list == (kind == "open"):
            problem = "a list inside a list: one stream's ids are flat" if self._in_list else "a ] without its ["
            raise InputError(f"line {self._line}: {problem}")
        else:
            self._in_list = kind == "open"
        return part.end()

    def _take_object(self, data: bytes, at: int, ids: list[int]) -> int:
        """More of an object, up to the brace that may end it. Returns the index after it."""
        scanner = self._object
        assert scanner is not None
        end = data.find(b"}", at) + 1
        part = data[at : end or len(data)]
        scanner.feed(part)
        self._object_parts.append(part)
        if scanner.complete:
            text = b"".join(self._object_parts)
            self._object, self._object_parts = None, []
            ids += self._checked(self._ids_of(text))
            self._line += text.count(b"\n")
        return at + len(part)

    def _ids_of(self, text: bytes) -> list[object]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {self._line}: an object that is not JSON: {error}") from None
        found = value.get("ids", value.get("token_ids"))
        if found is None:
            raise InputError(f'line {self._line}: an object without "ids" or "token_ids"')
        return found if isinstance(found, list) else [found]

    def _checked(self, values: Iterable[object]) -> list[int]:
        ids = []
        for value in values:
            tid = value if type(value) is int else int(value) if isinstance(value, bytes) and len(value) <= 10 else -1
            if not 0 <= tid <= MAX_ID:
                raise self._refusal(value)
            ids.append(tid)
        return ids

    def _refusal(self, value: object) -> InputError:
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False)
        short = text if len(text) <= 40 else text[:40] + "…"
        return InputError(
            f"line {self._line}: {short!r} is not a token id (a number from 0 to {MAX_ID}); "
            "text is read with --input text"
        )
