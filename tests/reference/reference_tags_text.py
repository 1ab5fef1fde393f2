"""The text that the reference interpreter of docs/tags.md reads: section 2.

A stream becomes one str with a character for each byte, each control marker and each inert id, so that positions are
plain indices. Whatever looks ahead is given a limit, and raises `More` where it would have to see what is after it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reference import Item

from harmonystream.formats import Format

WS = " \t\n\r"
THOUGHT_TAG = re.compile(r"<([ /\\]*)(?:think|thinking|thoughts?|reasoning) *>", re.IGNORECASE)
LONGEST = 256  # bytes of a name or key
OPENER = re.compile(r"(.+?)(?: +([A-Za-z_]+))?=[\"']?", re.DOTALL)  # a tag up to its first attribute
NEAR = 1024  # bytes that a look-ahead sees
SLIP_SIZE = 8  # bytes of the shortest closer in which one byte may be wrong
CONTROL = 0x100  # chr(CONTROL + n) is the n-th marker, as a control id
INERT = "\uffff"
SECTION = ("section_open", "section_close")
CALL = ("call_open", "call_close")
ELEMENT = ("element_open", "element_end", "element_close")
CDATA = ("cdata_open", "cdata_close")
PAIR = ("key_open", "key_end", "value_open", "value_close")


class More(Exception):  # noqa: N818 - no error
    """What is after `limit` decides what begins at `at`."""

    def __init__(self, limit: int, at: int = 0):
        self.limit, self.at = limit, at


@dataclass(frozen=True)
class Marker:
    kind: str
    start: int
    stop: int
    says: str = ""  # the type that an end of a key says
    misspelt: bool = False


def latin(spelling: str) -> str:
    return spelling.encode().decode("latin-1")


def aliases(marker: str | Sequence[str]) -> tuple[str, ...]:
    """Its spellings, without the empty one."""
    return tuple(one for one in ((marker,) if isinstance(marker, str) else marker) if one)


def may_lack(marker: str | Sequence[str] | None) -> bool:
    """Is one of its spellings empty?"""
    return marker == "" or (isinstance(marker, tuple) and "" in marker)


def holds_objects(row: Format) -> bool:
    """Are objects in a call's tags, and these in a section's?"""
    return bool(row.wrapped and row.section and row.call and may_lack(row.call[1]))


def lacks_closer(row: Format) -> bool:
    """Need no closer follow the JSON of a call?"""
    return may_lack(row.section[1] if row.section else row.call and row.call[2])


def opener_of(row: Format, kind: str) -> tuple[tuple[str, ...], str, str] | None:
    """Of openers that end in an attribute: the spellings that have one, the attribute that is the name, and what ends
    the tag."""
    marker = row.call if kind == "call_open" else row.pair
    if not row.call or not marker or row.control or may_lack(row.call[1]) or (kind == "key_open" and row.value_type):
        return None
    found = [one for one in aliases(marker[0]) if OPENER.fullmatch(one)]
    words = [hit[2] for hit in map(OPENER.fullmatch, found) if hit and hit[2]]
    end = aliases(marker[1])[0].lstrip("\"'")
    return (tuple(found), words[0] if words else "", latin(end)) if found and end else None


def opener_parts(row: Format, kind: str, spelling: str) -> tuple[str, str, str] | None:
    """What stands before the attributes in an opener as it is in the text, the attribute that is the name, and the
    end of the tag."""
    tag = opener_of(row, kind)
    if tag is None:
        return None
    for one in tag[0]:
        hit = OPENER.fullmatch(one)
        assert hit
        stem = latin(hit[1])
        if spelling in (latin(one), stem + " ", stem + "="):
            return stem, *tag[1:]
    return None


def add_stems(row: Format, kinds: dict[str, tuple[str, ...]]) -> None:
    """What is before the attributes of a tag, and a space or `=`, is its opener, too."""
    for kind in ("call_open", "key_open"):
        tag = opener_of(row, kind)
        for one in tag[0] if tag else ():
            hit = OPENER.fullmatch(one)
            assert hit
            for stem in (hit[1] + " ", hit[1] + "="):
                others = [(other, form) for other, forms in kinds.items() if other != kind for form in forms]
                short = any(stem.startswith(form) and other not in ("drop", "element_open") for other, form in others)
                if stem not in kinds[kind] and not short and not any(form.startswith(stem) for _, form in others):
                    kinds[kind] = (*kinds[kind], stem)


def is_stem(row: Format, kind: str, spelling: str) -> bool:
    """Is this opener one that attributes must follow?"""
    marker = row.call if kind == "call_open" else row.pair
    return bool(marker and opener_of(row, kind)) and spelling not in map(latin, aliases(marker[0]))


def spellings_of(row: Format) -> dict[str, tuple[str, ...]]:
    """What each kind of marker looks like."""
    kinds: dict[str, tuple[str, ...]] = {"stop": row.stops, "turn": row.turns, "drop": row.drop, "answer": row.answer}
    groups = (
        (("think_open", "think_close"), row.think),
        (SECTION, row.section),
        (("call_open", "name_end", "call_close"), row.call),
        (PAIR, row.pair),
        (("type_open", "type_close"), row.value_type),
        (CDATA, row.cdata),
        (ELEMENT, row.element),
    )
    for names, markers in groups:
        kinds |= {name: aliases(marker) for name, marker in zip(names, markers or ()) if aliases(marker)}
    if aliases(row.quote):
        kinds["quote"] = aliases(row.quote)
    if aliases(row.call_id) or aliases(row.attribute):
        kinds["id_open"] = aliases(row.call_id) + aliases(row.attribute)
    if row.empty_call:
        kinds["empty_call"] = (row.empty_call,)
    if row.typed:
        kinds["key_end"] = (*kinds["key_end"], *row.typed)
    add_stems(row, kinds)
    return kinds


def can_be_control(row: Format) -> set[str]:
    """The spellings that are control markers in id mode, if the vocabulary has them."""
    kinds = spellings_of(row)
    names = kinds if row.control else ("stop", "turn")
    return {spelling for name in names for spelling in kinds.get(name, ())}


def other_name(form: str, seen: str, key: str) -> tuple[int, bool]:
    """The size of this closer with another name, or without its `>`; 0: it is not here. Or does it begin?"""
    shape = re.fullmatch(r"([^/]*/.*?)([0-9A-Za-z_]{3,})>", form, re.DOTALL)
    if shape is None or not seen.startswith(shape[1]):
        return 0, shape is not None and shape[1].startswith(seen)
    rest, partial = seen[len(shape[1]) :].lstrip(" \t"), False
    names = [rf"{re.escape(key)}(?![0-9A-Za-z_])"] if key else []
    names.append(rf"(?i:{re.escape(shape[2][:3])})[0-9A-Za-z_]*")
    for name in names:
        if match := re.match(rf"(?:{name})[ \t]*(?:>|(?=[<\n\u0100-\uffff]))", rest):
            return len(seen) - len(rest) + match.end(), False
        partial |= re.fullmatch(rf"(?:{name})[ \t]*", rest) is not None
    return 0, partial or shape[2][:3].lower().startswith(rest.lower()) or key.startswith(rest)


def slip(form: str, seen: str) -> tuple[int, bool]:
    """The size of this closer with one byte missing, too many, or another; 0: it is not here. Or does it begin?"""
    partial = False
    slips = "/" in form and form.endswith(">") and len(form) >= SLIP_SIZE
    for p in range(form.index("/") + 1, len(form) - 1) if slips else ():
        for head, more, tail in ((form[:p], 0, form[p + 1 :]), (form[:p], 1, form[p:]), (form[:p], 1, form[p + 1 :])):
            other, rest = seen[p : p + more], seen[p + more :]
            fits = seen.startswith(head) and not re.search("[<>\n\u0100-\uffff]", other)
            if fits and rest.startswith(tail):
                return p + more + len(tail), False
            partial |= head.startswith(seen) or (fits and tail.startswith(rest))
    return 0, partial


class Text:
    """The whole stream. `s` has one character per symbol; `starts` and `stops` are the positions of their tokens."""

    def __init__(self, row: Format, items: Iterable[Item], controls: frozenset[str]):
        self.row = row
        self.order = sorted(controls)
        self.kinds = {kind: [self.form(one) for one in some] for kind, some in spellings_of(row).items()}
        self.first = {kind: {form[:1] for form in forms} for kind, forms in self.kinds.items()}
        self.says = {self.form(one): says for one, says in row.typed.items()}
        self.starts: list[int] = []
        self.stops: list[int] = []
        self.unknown: list[int] = []
        self.named: dict[int, int] = {}  # control ids that count as text: where each begins -> after it
        self.gone: dict[int, int] = {}  # what was dropped like an inert id: after it -> where it begins
        symbols: list[str] = []
        for item in items:
            if item.kind == "named":
                self.named[len(symbols)] = len(symbols) + len(item.data)
            for symbol in self.symbols(item):
                symbols.append(symbol)
                self.starts.append(item.start)
                self.stops.append(item.stop)
        self.s = "".join(symbols)
        self.ends = [0]  # the number of bytes before each symbol
        for symbol in symbols:
            self.ends.append(self.ends[-1] + self.weight(symbol))

    def form(self, spelling: str) -> str:
        return chr(CONTROL + self.order.index(spelling)) if spelling in self.order else latin(spelling)

    def symbols(self, item: Item) -> str:
        if item.kind == "control":
            return self.form(item.data.decode())
        if item.kind == "unknown":
            self.unknown.append(item.start)
            return latin("\ufffd")
        return INERT if item.kind == "inert" else item.data.decode("latin-1")

    def weight(self, symbol: str) -> int:
        return 1 if symbol < "\u0100" or symbol == INERT else len(self.order[ord(symbol) - CONTROL].encode())

    def __len__(self) -> int:
        return len(self.s)

    def is_byte(self, i: int) -> bool:
        return self.s[i] < "\u0100"

    def spelled(self, i: int) -> str:
        """What a symbol says that is text: a byte, or a marker's spelling."""
        return self.s[i] if self.is_byte(i) else latin(self.order[ord(self.s[i]) - CONTROL])

    def is_a(self, i: int, *kinds: str) -> bool:
        """Is this symbol a control marker of one of these kinds?"""
        return not self.is_byte(i) and any(self.s[i] in self.kinds.get(kind, ()) for kind in kinds)

    def limit(self, i: int, size: int = NEAR) -> int:
        """Where a look-ahead from `i` that sees `size` bytes ends."""
        return bisect_right(self.ends, self.ends[i] + size, i) - 1

    def sees_end(self, i: int) -> bool:
        """Does a look-ahead from `i` see that the stream is over? Not after 1,024 bytes."""
        return self.ends[-1] - self.ends[i] < NEAR

    def skip(self, i: int, limit: int) -> int:
        while i < limit and self.s[i] in WS:
            i += 1
        return i

    def at(self, i: int, limit: int, *kinds: str) -> Marker | None:
        """The marker of these kinds that begins at `i`."""
        if i < limit and not any(self.first.get(kind, set()) & {self.s[i], ""} for kind in kinds):
            return None  # quick: none of them begins so
        seen = self.s[i:limit]
        partial = i >= limit
        best: Marker | None = None
        if not partial and self.is_a(i, "turn"):
            return None
        for kind in kinds:
            for form in self.kinds.get(kind, ()):
                if seen.startswith(form) and (best is None or i + len(form) > best.stop):
                    best = Marker(kind, i, i + len(form), self.says.get(form, ""))
                partial |= form != seen and form.startswith(seen)
        if partial and (best is None or limit < len(self)):  # the longest counts
            raise More(limit, i)
        return best

    def closer_at(self, i: int, limit: int, kind: str = "value_close") -> Marker | None:
        """A closer, perhaps misspelt (sections 5 and 6)."""
        partial = False
        try:
            if found := self.at(i, limit, kind):
                return found
        except More:
            partial = True
        for form in self.kinds.get(kind, ()):
            if form.endswith(">"):
                shape = re.escape(form[:-1]) + r"[^<>\n\u0100-\uffff]{1,16}"
                if match := re.compile(shape + ">").match(self.s, i, limit):
                    return Marker(kind, i, match.end(), misspelt=True)
                partial |= re.compile(shape).fullmatch(self.s, i, limit) is not None
        if partial:
            raise More(limit)
        return None

    def wrong_closer_at(self, i: int, limit: int, kind: str, key: str = "") -> Marker | None:
        """A closer with another name, with a wrong byte, or without its `>`. The name is the key, or begins as the
        closer's does."""
        partial, seen = False, self.s[i:limit]
        for form in self.kinds.get(kind, ()):
            for size, begins in (other_name(form, seen, key), slip(form, seen)):
                if size:
                    return Marker(kind, i, i + size, misspelt=True)
                partial |= begins
        if partial:
            raise More(limit)
        return None

    def before(self, i: int) -> int:
        """The last byte before `i`, over inert ids and what is like them."""
        while i in self.gone or (i > 0 and not self.is_byte(i - 1)):
            i = self.gone.get(i, i - 1)
        return i - 1

    def follows(self, i: int, limit: int, *kinds: str) -> Marker | None:
        """The marker of these kinds after ws; `More` at the end."""
        return self.at(self.skip(i, limit), limit, *kinds)

    def is_control(self, marker: Marker) -> bool:
        return not self.is_byte(marker.start)

    def is_id(self, marker: Marker) -> bool:
        """Does it come as a control id, also as one that counts as text?"""
        return self.is_control(marker) or marker.start in self.named

    def is_rare(self, marker: Marker) -> bool:
        """Has it a bar? Nobody mentions it by chance."""
        return re.search("\\||" + latin("\uff5c"), self.s[marker.start : marker.stop]) is not None

    def is_quote(self, i: int, limit: int) -> bool:
        """Is a closing quote at `i`?"""
        following = "".join(self.s[i:limit])
        if any(following.startswith(latin(quote)) for quote in "\u00bb\u2019\u201d\u300d\u300f"):
            return True
        if following[:1] not in ("'", '"', "`"):
            return False
        if len(following) == 1:
            return limit == len(self)
        return re.match("[0-9A-Za-z\x80-\xff]", following[1:]) is None

    def goes_on(self, i: int, limit: int) -> bool:
        """Does a sentence go on at `i`?"""
        return self.is_quote(i, limit) or re.match("[.,;:!?)]| [a-z]", "".join(self.s[i:limit])) is not None

    def ends_code(self, i: int, origin: int) -> bool:
        """Do one or two backquotes at `i` close inline code? Not if they open some, which their line closes."""
        stop = i
        while stop < len(self) and self.is_byte(stop) and self.s[stop] != "\n":
            stop += 1
        if self.ends[stop] - self.ends[origin] >= NEAR:
            return False
        runs = [len(run) for run in re.findall("`+", self.s[i:stop])]
        return self.s[i:stop].startswith("`") and runs[0] <= 2 and runs.count(runs[0]) % 2 == 1

    def thought_tag(self, i: int) -> tuple[int, bool] | None:
        """Where a tag that is named after thoughts ends, and whether it closes them."""
        found = THOUGHT_TAG.match(self.s, i, i + 32)
        return (found.end(), found[1].strip() != "") if found else None

    def counts(self, marker: Marker, *followers: str) -> bool:
        """Does a marker in the text count? One of the followers, or the end, must come after it."""
        if self.is_control(marker):
            return True
        limit = self.limit(marker.start)
        try:
            return marker.stop <= limit and self.follows(marker.stop, limit, *followers) is not None
        except More:
            return limit == len(self)

    def misspelt_close(self, q: int) -> Marker | None:
        """The call's closer once more, or the section's, with something before its `>`."""
        limit = self.limit(q)
        try:
            if mark := self.closer_at(q, limit, "call_close"):
                return mark if self.counts(mark, *SECTION, *CALL, "stop") else None
            return self.closer_at(q, limit, "section_close")
        except More:
            if limit == len(self):
                raise
            return None

    def late_closer(self, i: int) -> Marker | None:
        """A misspelt closer directly after the end of a call, though nothing is open any more."""
        limit = self.limit(i)
        for kind in SECTION[1:] if self.row.bare == "no" and self.row.section else (CALL[1], SECTION[1]):
            try:
                if mark := self.closer_at(i, limit, kind):
                    return mark if self.counts(mark, *SECTION, *CALL, "stop") else None
            except More:
                pass
        return None

    def is_quoted(self, i: int) -> bool:
        """Does the value go on, because a closer of its own comes (section 6)? `i`: what would end it otherwise."""
        limit, depth = self.limit(i), 0
        try:
            while i < limit:
                mark = self.at(i, limit, "key_open", "value_close", "stop")
                if mark and (mark.kind == "stop" or (mark.kind == "value_close" and not depth)):
                    return mark.kind == "value_close"
                depth += 0 if not mark else 1 if mark.kind == "key_open" else -1
                i = mark.stop if mark else i + 1
        except More:
            pass
        return False

    def ends_in_bracket(self, i: int) -> bool:
        """Is a closing bracket before `i`, with nothing but ws between?"""
        return self.s[:i].rstrip(WS)[-1:] in ("}", "]")

    def leaves_json(self, i: int) -> bool:
        """Outside of strings: is here what is not JSON, where no number or word may stand?"""
        if self.s[i] in WS + '{}[]",:':
            return False
        last = self.s[:i].rstrip(WS)[-1:]
        return last in ("}", "]") or (self.s[i - 1] == "\n" and last not in ("{", "[", ",", ":"))

    def has_lost_end(self, i: int, cut: bool, far: bool, quote: str = '"') -> bool:
        """In a JSON string, before `i` is what could end the call: is the string's own end missing? `cut`: the engine
        says that the stream was cut. `far`: the answer if nothing is seen within the look-ahead."""
        limit, x = self.limit(i), i
        while x < limit:
            try:
                mark = self.at(x, limit, "stop")
                if mark and self.stop_counts(mark):
                    return True
            except More:
                pass
            if self.s[x] == quote:
                x = self.skip(x + 1, limit)
                if x < limit:
                    return self.s[x] not in ",:]}"
                return far and self.ends[limit] - self.ends[i] == NEAR
            x += 2 if self.s[x] == "\\" else 1
        return far if self.ends[limit] - self.ends[i] == NEAR or limit < len(self) else not cut

    def stop_counts(self, marker: Marker) -> bool:
        return self.counts(marker, "stop", "turn")
