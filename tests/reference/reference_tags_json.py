"""Objects of wrapped JSON, and how far a JSON text has come: section 5 of docs/tags.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reference_tags_text import CALL, INERT, SECTION, WS, More, Text, lacks_closer

OPENERS, CLOSERS = "{[", "}]"
MOST = 255  # values of an object that are counted
SCALAR = re.compile(r"true|false|null|-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
SCALAR_ENDS = ",}" + WS
SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"'}


def json_state(text: str) -> str:
    """How far a text has come: "start", "open" (inside a string, object or array, of whatever), "closed" (one whole
    value), "broken", or "scalar": a whole number or word, which goes on unless ws follows."""
    whole, text = text, text.strip(WS)
    if not text:
        return "start"
    if SCALAR.fullmatch(text):
        return "closed" if whole[-1] in WS else "scalar"
    depth, in_string, escaped = 0, False, False
    for position, char in enumerate(text):
        was_in = in_string or depth > 0
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        else:
            depth = max(0, depth + (char in OPENERS) - (char in CLOSERS))
        if not in_string and not depth and (was_in or char in WS):  # a value is over, and nothing opens again
            return "closed" if text[0] in '{["' and position == len(text) - 1 else "broken"
    return "open" if in_string or depth else "broken"


def is_object(text: str) -> bool:
    """Is it JSON, an object of at most 32 levels?"""
    try:
        value = json.loads(text, parse_int=str, parse_float=str, parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and levels(value) <= 32


def refuse(word: str) -> None:
    raise ValueError(word)


def levels(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(levels, inner), default=0)


def is_in_string(text: str) -> bool:
    in_string, escaped = False, False
    for char in text:
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        else:
            in_string = char == '"'
    return in_string


def is_escaped(text: str) -> bool:
    """Does a backslash that a string ends with escape what follows?"""
    return is_in_string(text) and (len(text) - len(text.rstrip("\\"))) % 2 == 1


def escaped_controls(before: str, piece: str) -> str:
    """`piece`, which comes after `before`, with the control characters in its strings escaped, and so is a backslash
    before one. After the value, and where no object, array or string begins the text, nothing is."""
    depth, in_string, escaped, out = 0, False, False, ""
    ready = len(before)
    is_json = (before + piece).lstrip(WS)[:1] in ("{", "[", '"')
    for at, char in enumerate(before + piece):
        said = char
        if in_string:
            if char < " " and is_json:
                said = "\\" * escaped + json.dumps(char)[1:-1]
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        else:
            depth = max(0, depth + (char in OPENERS) - (char in CLOSERS))
        if at >= ready:
            out += said
        if not in_string and not depth and char in '}]"':
            is_json = False
    return out


@dataclass
class Member:
    key: str
    kind: str = ""  # "string", "container", "holder" or "scalar"; empty until the value begins
    indices: list[int] = field(default_factory=list)  # of a string, those between its quotes
    closed: bool = False
    start: int = 0
    stop: int = 0  # where it was closed
    misplaced: bool = False  # a container where no value belongs
    inner: bool = False  # in an object that holds the name and the arguments
    late: bool = False  # before it the object has what is not part of one
    key_indices: list[int] = field(default_factory=list)  # between the quotes of its key


class ObjectScan:
    """Reads an object from its `{` at `start`, as far as the limit.

    `ended`: "object" (`stop` is after its end), "marker" (one of `markers` outside strings, or a control stop), "line"
    (the end of a line in a string, or what is not JSON) or
    "limit". `closers`: of the markers, those that end the body of a call, also in a
    string that is not closed, as a stop in the text does. Without them this is the look of a header, which also ends
    ("odd") at a byte between members that JSON does not allow there.
    """

    def __init__(
        self,
        text: Text,
        start: int,
        limit: int,
        markers: Sequence[str],
        closers: Sequence[str] = (),
        cut: bool = False,
        holder: int | None = None,
        open_name: int | None = None,
    ):
        self.text, self.limit, self.markers, self.closers, self.cut = text, limit, markers, closers, cut
        self.holder = holder  # where the object begins that holds the name and the arguments
        self.open_name = open_name  # where the name begins whose closing quote is missing: it is the next key's
        self.inner = False  # in such an object
        self.quotes = False  # a string has an opener
        self.in_string = False  # it ended in a string
        self.quote = '"'  # of the last string
        self.python = False  # its first key is in single quotes
        self.members: list[Member] = []
        self.dropped: list[int] = []
        self.kept: list[int] = []  # control ids that are text
        self.depth = 1
        self.expects = "key"  # then ":", a "value", and ":" again up to the comma; what is not expected is passed over
        self.key = ""
        self.key_indices: list[int] = []
        self.stop = start + 1
        self.stage = "key"  # as it is read: "key", "in key", "colon", "value", "in value", "comma" or "over"
        self.after_comma = False  # it ended where a key should have come
        self.stray = False  # there is what is not part of an object
        self.noise: list[tuple[str, int]] = []  # what is to be noted of that, or of a key without a value
        self.ended = self.run()

    @property
    def member(self) -> Member | None:
        return self.members[-1] if self.members and not self.members[-1].closed else None

    @property
    def in_scalar(self) -> bool:
        return self.member is not None and self.member.kind == "scalar"

    def is_control_stop(self, i: int) -> bool:
        return not self.text.is_byte(i) and self.text.s[i] in self.text.kinds.get("stop", ())

    def is_stop(self, i: int) -> bool:
        """A control stop, or, in a body, one in the text that counts. In a header, any control marker."""
        if not self.closers and not self.text.is_byte(i):
            return not (self.text.s[i] == INERT or self.text.is_a(i, "turn"))
        if self.is_control_stop(i):
            return True
        mark = self.text.at(i, self.limit, "stop")
        return mark is not None and self.text.stop_counts(mark)

    def ends_string(self, i: int) -> bool:
        """Does what stands in a string say that its quote is missing?"""
        if not self.text.is_byte(i):
            return self.is_stop(i) or self.text.at(i, self.limit, *SECTION, *CALL) is not None
        if self.is_stop(i):
            return True
        mark = self.text.at(i, self.limit, *(self.closers or self.markers))
        if mark is None:
            return False
        if self.text.s[i - 1] == "\n" or (self.closers and self.closes(mark.stop)):
            return True
        if self.closers:
            far = self.text.ends_in_bracket(i)
            return not self.quotes and self.text.has_lost_end(mark.stop, self.cut, far, self.quote)
        return mark.kind.endswith("close") and self.text.s[:i].rstrip(WS)[-1] in CLOSERS

    def ends_line(self, i: int) -> bool:
        """Where no closer need follow: is here, in a string, the end of a line that ended the call? Notes openers."""
        try:
            openers = [kind for kind in self.markers if kind.endswith("open")] if self.closers else []
            self.quotes |= bool(openers) and self.text.is_byte(i) and self.text.at(i, self.limit, *openers) is not None
        except More:
            pass
        if not self.closers or not lacks_closer(self.text.row) or self.text.s[i] != "\n" or self.quotes:
            return False
        return self.text.ends_in_bracket(i) and self.text.has_lost_end(i, self.cut, False, self.quote)

    def closes(self, i: int) -> bool:
        """Does a stop, the end, or an opener and an object whose quotes are not escaped follow?"""
        text, limit = self.text, self.text.limit(i)
        try:
            after = text.follows(i, limit, "section_open", "call_open", "stop")
            if after is None or after.kind == "stop":
                return after is not None and text.stop_counts(after)
            form = rf"[ \t\n\r]*(\[?[ \t\n\r]*(\{{[ \t\n\r]*({self.quote}|\Z)|\Z)|\Z)"
            found = re.compile(form).match(text.s[after.stop : limit])
            return found is not None and (found[0].endswith(self.quote) or limit == len(text))
        except More:
            return limit == len(text)

    def run(self) -> str:
        text, s = self.text, self.text.s
        while self.stop < self.limit:
            i = self.stop
            try:
                markers = self.markers if text.is_byte(i) else (*SECTION, *CALL)
                if text.at(i, self.limit, *markers) or self.is_stop(i):
                    return "marker"
            except More:
                return "limit"
            is_body = self.closers and lacks_closer(text.row) and text.is_byte(i)
            if is_body and text.leaves_json(i) and not (self.python and s[i] in "()'"):
                return "line"
            if self.member and self.in_scalar and s[i] in SCALAR_ENDS:
                self.member.closed = True
                self.expects = ":"
                self.stage = "comma"
            if not text.is_byte(i):
                self.dropped.append(i)
                self.stop += 1
            elif not self.closers and self.is_odd(s[i]):
                return "odd"
            elif self.begins_string(s[i]) and not self.in_scalar:
                if ended := self.string():
                    return ended
            elif self.plain(i):
                return "object"
        return "limit"

    def is_odd(self, c: str) -> bool:
        """Between the members of a header's object, a byte that shows that a quote or brace is missing or doubled."""
        if self.depth > 1 or self.in_scalar or self.expects == "value" or c in WS + ",:}]":
            return False
        return self.expects != "key" or not self.begins_string(c)

    def begins_string(self, c: str) -> bool:
        """Does `c` do so where a string may begin? The first key says whether there are single quotes."""
        is_first = self.depth == 1 and self.stage == "key" and not (self.inner or self.stray)
        is_first = is_first and all(one.misplaced for one in self.members)
        return c == '"' or (c == "'" and (self.python or is_first))

    def string(self) -> str:
        """From one quote to the other."""
        text, s, first = self.text, self.text.s, self.stop
        self.quote = s[first]
        indices: list[int] = []
        escaped = False
        i = first + 1
        new = None
        if self.depth == 1 and self.stage in ("colon", "comma"):
            self.is_stray(first)
        if self.depth == 1 and self.stage == "key":
            self.stage = "in key"
            self.python |= self.quote == "'"
        if self.depth == 1 and self.expects == "value":
            self.stage = "in value"
            new = Member(self.key, "string", indices, start=first, key_indices=self.key_indices, late=self.stray)
            new.inner = self.inner
            self.members.append(new)
        ended = ""
        while i < self.limit:
            try:
                ended = "marker" if not (escaped and text.is_byte(i)) and self.ends_string(i) else ""
                if not ended and not escaped and self.ends_line(i):
                    ended = "line"
            except More:
                ended = "limit"
            if ended or self.is_control_stop(i):
                ended = ended or "marker"
                break
            if self.depth > 1 and text.is_a(i, "think_open", "think_close", "drop"):
                indices.append(i)
                self.kept.append(i)
            elif not text.is_byte(i):
                self.dropped.append(i)
            elif s[i] == self.quote and not escaped:
                break
            else:
                escaped = s[i] == "\\" and not escaped
                indices.append(i)
            i += 1
        over = i < self.limit and not ended
        self.in_string = not over
        self.stop = i + over
        if self.depth > 1 and self.member and self.member is not new:
            self.member.indices += [first, *indices] + [i] * over
        if not over:
            return ended or "limit"
        if new:
            new.closed, new.stop = True, i
        if self.depth == 1:
            if self.expects == "key":
                self.key, self.key_indices = "".join(s[k] for k in indices), indices
            self.expects = ":"
            self.stage = {"in key": "colon", "in value": "comma"}.get(self.stage, self.stage)
        if new and first == self.open_name:
            self.stop, self.expects, self.stage = i, "key", "key"
        return ""

    def plain(self, i: int) -> bool:
        """A byte outside strings. Does the object end with it?"""
        c = self.text.s[i]
        self.stop = i + 1
        if self.depth > 1:
            if self.member:
                self.member.indices.append(i)
            self.depth += (c in OPENERS) - (c in CLOSERS)
            if self.depth == 1 and self.member:
                self.member.closed = True
            self.stage = "in value" if self.depth > 1 else "comma"
        elif c == "}":
            self.lacks_value(i)
            self.after_comma = self.stage == "key"
            self.expects, self.stage = ":", "comma" if self.inner else "over"
            self.inner, was_inner = False, self.inner
            return not was_inner
        elif c == ",":
            self.lacks_value(i)
            self.expects = self.stage = "key"
        elif self.member and self.in_scalar:
            self.member.indices.append(i)
        elif c == ":" and self.expects in ("key", ":"):
            if self.stage != "colon":
                self.is_stray(i)
            self.expects = self.stage = "value"
        elif c in OPENERS or (self.expects == "value" and c not in WS and c not in ":]"):
            self.value(i, c)
        elif c not in WS and not (c == ":" and self.stage == "value"):
            self.is_stray(i)
        return False

    def is_stray(self, i: int) -> None:
        """What is at `i` is not part of an object."""
        if not self.stray:
            self.noise.append(("ignored-text", i))
        self.stray = True

    def lacks_value(self, i: int) -> None:
        """A comma or brace is at `i`. Has the key before it a value?"""
        if self.stage in ("value", "colon"):
            self.noise.append(("missing-value", i))
            self.stray = True

    def value(self, i: int, c: str) -> None:
        """A value begins, or a container where none belongs."""
        misplaced = self.expects != "value"
        if c == "{" and not misplaced and self.holds_call(i):
            self.members.append(Member(self.key, "holder", closed=True, start=i))
            self.inner, self.expects, self.stage = True, "key", "key"
            return
        if misplaced:
            self.is_stray(i)
        self.stage = "in value"
        if misplaced:
            self.key = ""
        if c in OPENERS:
            self.depth += 1
            self.expects = ":"
        kind = "container" if c in OPENERS else "scalar"
        self.members.append(
            Member(self.key, kind, [i], start=i, misplaced=misplaced, key_indices=[] if misplaced else self.key_indices)
        )
        self.members[-1].late, self.members[-1].inner = self.stray, self.inner

    def holds_call(self, i: int) -> bool:
        """May the name and the arguments be in the object at `i`? A header looks into each."""
        says = self.text.row.members
        if self.inner or says.get(self.key) != "alias" or not (self.members or "*" not in says):
            return False
        if self.closers:
            return i == self.holder
        return not are_names(self.members, says) and count(self.members, inner=False) < MOST - 1


def count(members: Sequence[Member], inner: bool) -> int:
    """The values that have begun, in the object or in the one in it that is open."""
    after = max((at for at, one in enumerate(members) if one.kind == "holder"), default=-1) + 1 if inner else 0
    return sum(one.inner == inner and not one.misplaced for one in members[after:])


def are_names(members: Sequence[Member], says: Mapping[str, str]) -> bool:
    """Is each key of this object the name of a call? Not if the row knows the first, and it has a string."""
    first = next((one for one in members if not one.misplaced), None)
    plain = first is not None and first.key in says and first.kind == "string"
    return "*" in says and not plain


def decode_string(text: Text, indices: Sequence[int], quote: int | None) -> list[tuple[str, int]]:
    """The characters between two quotes, each with the byte that decides it; what is still open at the end is left out.

    `quote`: where the quote is that closes the string; ids that are dropped may come before it.
    """
    s = text.s
    found: list[tuple[str, int]] = []
    at, half = 0, False  # half: of a surrogate pair, whose first part was read
    ends = [*indices, quote or 0]
    high = 0
    while at < len(indices):
        escape = re.match(r"\\(u[0-9a-fA-F]{0,4}|.|\Z)", "".join(s[k] for k in indices[at : at + 6]), re.S)
        if escape and escape[1] > "\x7f" and len(escape[1]) == 1:
            at += 1  # the backslash stands before a character of several bytes
            escape = None
        size = len(escape[0]) if escape else run_length(s, indices, at)
        cut = escape and (size == 1 or escape[0][1] == "u") and size < 6
        if cut and at + size == len(indices) and quote is None:
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
    if half and quote is not None:
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
