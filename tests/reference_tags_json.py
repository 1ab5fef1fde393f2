"""Objects of wrapped JSON, and how far a JSON text has come: section 5 of docs/tags.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reference_tags_text import WS, More, Text

OPENERS, CLOSERS = "{[", "}]"
SCALAR = re.compile(r"true|false|null|-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}


def json_state(text: str) -> str:
    """ "start", "open" (inside a string, object or array), "closed" (one whole value), "broken", or "scalar": a whole
    number or word, which goes on unless ws follows."""
    whole, text = text, text.strip(WS)
    if not text:
        return "start"
    if text[0] not in '{["':
        return "broken" if not SCALAR.fullmatch(text) else "closed" if whole[-1] in WS else "scalar"
    depth, in_string, escaped = 0, False, False
    for position, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        else:
            depth += (char in OPENERS) - (char in CLOSERS)
        if depth == 0 and not in_string:
            return "closed" if position == len(text) - 1 else "broken"
    return "open"


@dataclass
class Member:
    key: str
    kind: str = ""  # "string", "container" or "scalar"; empty until the value begins
    indices: list[int] = field(default_factory=list)  # of a string, those between its quotes
    closed: bool = False
    start: int = 0
    stop: int = 0  # where it was closed


class ObjectScan:
    """Reads an object from its `{` at `start`, as far as the limit.

    `ended`: "object" (`stop` is behind its end), "marker" (one of `markers` outside strings, or a control stop), "bad"
    (`strict`: a control character outside strings) or "limit".
    """

    def __init__(self, text: Text, start: int, limit: int, markers: Sequence[str], strict: bool = False):
        self.text, self.limit, self.markers, self.strict = text, limit, markers, strict
        self.members: list[Member] = []
        self.dropped: list[int] = []
        self.depth = 1
        self.expects = "key"  # then ":", a value, and "," at depth 1; "rest": what is none of these up to the comma
        self.key = ""
        self.stop = start + 1
        self.ended = self.run()

    @property
    def member(self) -> Member | None:
        return self.members[-1] if self.members and not self.members[-1].closed else None

    def is_control_stop(self, i: int) -> bool:
        return not self.text.is_byte(i) and self.text.s[i] in self.text.kinds.get("stop", ())

    def run(self) -> str:
        text, s = self.text, self.text.s
        while self.stop < self.limit:
            i = self.stop
            try:
                if self.is_control_stop(i) or text.at(i, self.limit, *self.markers):
                    return "marker"
            except More:
                return "limit"
            if not text.is_byte(i):
                self.dropped.append(i)
                self.stop += 1
            elif s[i] == '"':
                if ended := self.string():
                    return ended
            elif self.strict and (s[i] < " " and s[i] not in WS or s[i] == "\x7f"):
                return "bad"
            elif self.plain(i):
                return "object"
        return "limit"

    def string(self) -> str:
        """From one quote to the other."""
        text, s, first = self.text, self.text.s, self.stop
        indices: list[int] = []
        escaped = False
        i = first + 1
        new = None
        if self.member and self.member.kind == "scalar":
            self.member.closed = True
            self.expects = "rest"
        if self.depth == 1 and self.expects == "value":
            new = Member(self.key, "string", indices, start=first)
            self.members.append(new)
        while i < self.limit and not self.is_control_stop(i):
            if not text.is_byte(i):
                self.dropped.append(i)
            elif s[i] == '"' and not escaped:
                break
            else:
                escaped = s[i] == "\\" and not escaped
                indices.append(i)
            i += 1
        over = i < self.limit and s[i] == '"'
        self.stop = i + over
        if self.depth > 1 and self.member and self.member is not new:
            self.member.indices += [first, *indices] + [i] * over
        if not over:
            return "marker" if i < self.limit else "limit"
        if new:
            new.closed, new.stop = True, i
        if self.depth == 1:
            if self.expects == "key":
                self.key = "".join(s[k] for k in indices)
            self.expects = {"key": ":", "value": "rest"}.get(self.expects, "rest")
        return ""

    def plain(self, i: int) -> bool:
        """A byte outside strings. Does the object end with it?"""
        c = self.text.s[i]
        self.stop = i + 1
        scalar = self.member if self.member and self.member.kind == "scalar" else None
        if scalar and (c in WS or c in ',:{}["]'):
            scalar.closed = True
            scalar = None
            self.expects = "rest"
        if self.depth > 1:
            if self.member:
                self.member.indices.append(i)
            self.depth += (c in OPENERS) - (c in CLOSERS)
            if self.depth == 1 and self.member:
                self.member.closed = True
        elif c in OPENERS:
            self.depth += 1
            if self.expects == "value":
                self.members.append(Member(self.key, "container", [i], start=i))
            self.expects = "rest"
        elif c in CLOSERS:
            return True
        elif c == ",":
            self.expects = "key"
        elif scalar:
            scalar.indices.append(i)
        elif c in WS:
            pass
        elif self.expects == ":" and c == ":":
            self.expects = "value"
        elif self.expects == "value" and c != ":":
            self.members.append(Member(self.key, "scalar", [i], start=i))
        else:
            self.expects = "rest"
        return False


def decode_string(text: Text, indices: Sequence[int], closed: bool) -> list[tuple[str, int]]:
    """The characters between two quotes, each with the byte that decides it; what is still open at the end is left out.

    `closed`: the byte behind the last is a quote.
    """
    s = text.s
    found: list[tuple[str, int]] = []
    at, half = 0, False  # half: of a surrogate pair, whose first part was read
    ends = [*indices, indices[-1] + 1 if indices else 0]
    while at < len(indices):
        escape = re.match(r"\\(u[0-9a-fA-F]{0,4}|.|\Z)", "".join(s[k] for k in indices[at : at + 6]), re.S)
        size = len(escape[0]) if escape else run_length(s, indices, at)
        cut = escape and (size == 1 or escape[0][1] == "u") and size < 6
        if cut and at + size == len(indices) and not closed:
            break
        decided = ends[at + size] if cut else indices[at + size - 1]
        first = indices[at] if not escape else decided
        code = int(escape[0][2:], 16) if escape and size == 6 else 0
        if half and 0xDC00 <= code < 0xE000:
            found.append((chr(0x10000 + ((high - 0xD800) << 10) + code - 0xDC00), decided))
            half, at = False, at + size
            continue
        if half:
            found.append(("\ufffd", first))
        half = 0xD800 <= code < 0xDC00
        if half:
            high = code
        elif not escape:
            found += decode_run(s, indices[at : at + size])
        else:
            found.append((unescape(escape[0], code), decided))
        at += size
    if half and closed:
        found.append(("\ufffd", ends[-1]))
    return found


def run_length(s: str, indices: Sequence[int], at: int) -> int:
    """The bytes up to the next escape, or to something that was dropped."""
    stop = at + 1
    while stop < len(indices) and indices[stop] == indices[stop - 1] + 1 and s[indices[stop]] != "\\":
        stop += 1
    return stop - at


def decode_run(s: str, indices: Sequence[int]) -> list[tuple[str, int]]:
    """All its characters at once; the first and the last byte matter to the range."""
    plain = bytes(ord(s[k]) for k in indices).decode("utf-8", "replace")
    return [(plain, indices[0]), ("", indices[-1])]


def unescape(escape: str, code: int) -> str:
    if escape[1:2] == "u":
        return "\ufffd" if len(escape) < 6 or 0xDC00 <= code < 0xE000 else chr(code)
    return SIMPLE.get(escape[1:], escape[1:])
