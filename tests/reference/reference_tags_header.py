"""The header of a call: section 4 of docs/tags.md, and the look into wrapped JSON of section 5."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from string import ascii_letters

from reference_names import find_name, names_tool
from reference_tags_attributes import tag_at
from reference_tags_json import MOST as MOST_VALUES
from reference_tags_json import Member, ObjectScan, are_names, count, decode_string
from reference_tags_keys import key_at, written
from reference_tags_text import (
    CALL,
    LONGEST,
    NEAR,
    PAIR,
    SECTION,
    WS,
    Marker,
    More,
    Text,
    holds_objects,
    is_stem,
    lacks_closer,
    latin,
    may_lack,
)

BLANK = " \t"
BAD = set("<>{}[]()\"'`=,;")
MOST = 8  # openers in a row, or closers after the one of a value


class Fails(Exception):  # noqa: N818 - no error
    """This is not a header: the byte at `at` shows it."""

    def __init__(self, at: int = 0):
        self.at = at


@dataclass
class Header:
    verdict: str = "stands"  # or "void", "fails", "open"
    stop: int = 0  # where the body begins, or what is void ends
    name: str = ""
    written: str = ""  # the name as it stands there
    id: str | None = None
    kind: str = "function"
    body: str = ""  # "raw", "pairs", "elements", "wrapped", "python" or "empty"
    array: bool = False  # python: the call is the first of an array
    key: str = ""  # of a first pair without its opener
    value: int = 0  # where its value begins
    in_section: bool = False
    named: int | None = None  # of an object: where the name begins
    holder: int | None = None  # and the object in it that holds the name and the arguments
    name_is_open: bool = False  # its closing quote is missing
    hollow: bool = False  # void, because there is no call between the opener and its closer
    notes: list[str] = field(default_factory=list)


def is_bad(char: str) -> bool:
    """What no name has."""
    return char in BAD or char < " " or char == "\x7f" or char > "\xff"


class HeaderReader:
    """Reads one header. `begins_line`: do only blanks come before this place in its line?"""

    def __init__(self, text: Text, tools: Sequence[str] | None, max_hold: int, begins_line: Callable[[int], bool]):
        self.text = text
        self.row = text.row
        self.tools = None if tools is None else [latin(tool) for tool in tools]
        self.max_hold = max_hold
        self.begins_line = begins_line
        self.at = 0  # where the header begins
        self.last: Marker | None = None  # the opener that was read last

    def read(self, i: int, in_section: bool) -> Header:
        header = Header(in_section=in_section)
        self.at = i
        try:
            self.opener(i, self.text.limit(i), header)
        except (Fails, More) as how:
            self.failed(i, how, header)
        return header

    def read_named(self, i: int) -> Header:
        """Of a declared name that begins a line, with the call's opener after it."""
        text, limit = self.text, self.text.limit(i)
        header, j = Header(stop=i), i
        try:
            while j < limit and text.is_byte(j) and not is_bad(text.s[j]) and text.s[j] not in WS:
                j += 1
            name = text.s[i:j]
            if not name or not any(tool.startswith(name) for tool in self.tools or ()):
                raise Fails
            if j == limit:
                raise More(limit)
            mark = text.at(text.skip(j, limit), limit, "call_open") if name in (self.tools or ()) else None
            if mark is None:
                raise Fails
            q = text.skip(mark.stop, limit)
            if end := text.at(q, limit, "name_end"):
                q = text.skip(end.stop, limit)
            if q == limit:
                raise More(limit)
            if text.s[q] != "{":
                raise Fails
            header.name, header.stop, header.body = name.encode("latin-1").decode("utf-8", "replace"), q, "raw"
        except (Fails, More) as how:
            self.failed(i, how, header)
        return header

    def read_object(self, i: int, unmarked: bool = False, line: bool = False) -> Header:
        """Of an object after another, or, if `unmarked`, of an object or array that begins an answer or a `line`."""
        header, far = Header(stop=i), self.text.limit(i, NEAR if line else max(NEAR, self.max_hold))
        try:
            if self.is_python(i, self.text.limit(i)):
                self.in_python(i, self.text.limit(i), header, unmarked)
                return header
            if not self.row.wrapped:
                raise Fails(i)
            q = i
            if self.text.s[i] == "[":
                near = self.text.limit(i)
                q = self.text.skip(i + 1, near)
                if q == near:
                    raise More(near)
            self.in_object(q, far, header, unmarked)
        except (Fails, More) as how:
            self.failed(i, how, header)
        return header

    def failed(self, i: int, how: Fails | More, header: Header) -> None:
        """`header.stop`: up to there everything is text."""
        if isinstance(how, More) and how.limit == len(self.text):
            header.verdict = "open"
            return
        at = how.at if isinstance(how, Fails) else how.limit
        header.verdict, header.stop = "fails", at if self.text.ends[at] - self.text.ends[i] > NEAR else i

    # -- openers ------------------------------------------------------------------------------------------------------

    def opener(self, i: int, limit: int, header: Header) -> None:
        inside = header.in_section
        bare_is_text = bool(self.row.section) and not inside and self.row.bare == "no"
        if bare_is_text and self.text.at(i, limit, "call_open"):
            raise Fails
        p, sections = self.openers(i, limit, "section_open")
        header.in_section = inside or sections > 0
        if sections > MOST:
            raise Fails
        name, calls = self.openers(p, limit, "call_open")
        if sections + calls > MOST:
            raise Fails
        header.notes += ["repeated-opener"] * (sections > 1 or calls > 1)
        q = self.text.skip(name, limit)
        if q == limit:
            raise More(limit)
        is_outer = sections > 0 if not calls else not self.row.section
        if self.row.wrapped and (is_outer or self.holds(calls, header)):
            q = self.after_fence(q, limit)
        may_be_hollow = (sections and not calls) or (lacks_closer(self.row) and self.text.s[q] == "[")
        if may_be_hollow and self.is_hollow(q, limit, header):
            return
        if is_outer and self.is_python(q, limit):
            self.in_python(q, limit, header)
        elif self.row.wrapped and self.text.s[q] in "{[" and (is_outer or self.holds(calls, header)):
            self.wrapped(i, q, header)
        elif calls:
            assert self.last
            self.once(self.last, limit, header)
            self.bare(i, inside, limit, header)
        else:
            raise Fails

    def after_fence(self, q: int, limit: int) -> int:
        """Past a Markdown fence's beginning at `q`, if an object or array is in the fence."""
        if lacks_closer(self.row) or not "```".startswith(self.text.s[q : min(q + 3, limit)]):
            return q
        first = q + 3
        while first < limit and self.text.s[first] in ascii_letters:
            first += 1
        first = self.text.skip(first, limit)
        if first >= limit:
            raise More(limit)
        return first if self.text.s[first] in "{[" else q

    def is_hollow(self, q: int, limit: int, header: Header) -> bool:
        """Is there no call in the section, or nothing but an empty array?"""
        alone = 0
        if self.text.s[q] == "[" and (self.row.wrapped or self.row.body != "json"):
            q = self.text.skip(q + 1, limit)
            if q == limit:
                raise More(limit)
            if self.text.s[q] != "]":
                return False
            alone = q + 1 if lacks_closer(self.row) else 0
            q = self.text.skip(q + 1, limit)
        try:
            mark = self.text.at(q, limit, "section_close")
        except More:
            if not alone:
                raise
            mark = None
        if mark or alone:
            header.verdict, header.stop, header.hollow = "void", mark.stop if mark else alone, True
        return header.hollow

    def once(self, opener: Marker, limit: int, header: Header) -> None:
        """A header that is there more than once, for the same call, is read once."""
        assert self.row.call
        inside, fails, has_end = header.in_section, False, not may_lack(self.row.call[1])
        try:
            self.opened(opener, limit, header)
        except Fails:
            if self.tools is not None or not header.stop or has_end:
                raise
            fails = True
        again = False
        while (header.verdict == "stands" or fails) and header.body != "empty" and not header.key:
            other = Header(in_section=inside)
            try:
                p, sections = self.openers(header.stop, limit, "section_open")
                if sections > MOST - 1:
                    break
                mark = self.text.at(self.text.skip(p, limit), limit, "call_open")
                if not mark:
                    break
                self.opened(mark, limit, other)
            except (Fails, More):
                break
            if other.verdict != "stands" or (other.written, other.id) != (header.written, header.id):
                break
            header.__dict__.update(other.__dict__)
            again, fails = True, False
        if fails:
            raise Fails
        if again:
            header.notes.append("repeated-opener")

    def holds(self, calls: int, header: Header) -> bool:
        """May an object follow the opener of a call that is in a section, or could be?"""
        return calls > 0 and holds_objects(self.row) and (header.in_section or self.row.bare == "any")

    def openers(self, i: int, limit: int, kind: str) -> tuple[int, int]:
        """All openers of this kind from `i`, with ws between: where the last ends, and how many there are."""
        stop, count = i, 0
        while count <= MOST and (mark := self.text.at(self.text.skip(stop, limit), limit, kind)):
            stop, count, self.last = mark.stop, count + 1, mark
        return stop, count

    def wrapped(self, i: int, q: int, header: Header) -> None:
        text, far = self.text, self.text.limit(i, max(NEAR, self.max_hold))
        header.stop = q
        header.body = "wrapped"
        self.in_object(text.skip(q + 1, far) if text.s[q] == "[" else q, far, header)

    def is_python(self, q: int, limit: int) -> bool:
        """Is it a written call, if anything, that begins at `q`? No object does, nor an array of objects."""
        first = self.text.skip(q + 1, limit) if self.text.s[q] == "[" else q
        is_object = self.row.wrapped and first < limit and self.text.s[first] == "{"
        return self.row.body != "json" and not is_object

    def in_python(self, q: int, limit: int, header: Header, alone: bool = False) -> None:
        """The name of the written call at `q`, up to its bracket. `alone`: nothing but the call says that it is one."""
        s, opens, closes = self.text.s, *written(self.row)[:2]
        header.array, header.body = s[q] == "[", "python"
        start = j = self.text.skip(q + 1, limit) if header.array else q
        if self.row.name_as == "call":
            if "call:".startswith(s[j : min(j + 5, limit)]) and limit - j < 5:
                raise More(limit)
            start = j = j + (5 if s.startswith("call:", j) else s[j] == ":")
        roomy = any(c in tool for tool in self.tools or () for c in WS)
        last = start
        while j < limit and s[j] != opens:
            if j - start >= LONGEST or (s[j] in WS and s[j] not in BLANK and not roomy):
                raise Fails
            if s[j] not in WS:
                if is_bad(s[j]) or (last < j and not roomy):
                    raise Fails
                last = j + 1
            j += 1
        if j == limit:
            raise More(limit)
        name = s[start:last]
        if not name or name != name.strip(WS) or s[last:j].strip(BLANK) or not self.good(name):
            raise Fails
        header.name, header.stop = name.encode("latin-1").decode("utf-8", "replace"), j + 1
        if self.row.name_as == "id":
            self.resolve_id(header)
        if not alone:
            return
        if self.tools is not None:
            if not names_tool(name, self.tools):
                raise Fails
            if last == j:
                return
        first = self.text.skip(j + 1, limit)
        if first == limit:
            raise More(limit)
        if s[first] != closes and not key_at(self.text, first, limit):
            raise Fails

    def in_object(self, q: int, far: int, header: Header, unmarked: bool = False) -> None:
        """The name and the id in the object at `q`. `unmarked`: there was no opener."""
        if q == far:
            raise More(far)
        if self.text.s[q] != "{":
            raise Fails(q)
        scan = ObjectScan(self.text, q, far, (*SECTION, *CALL))
        says = self.row.members
        if are_names(scan.members, says):
            members = [member for member in scan.members if not member.misplaced]
            name = self.fitting(members[0].key_indices) if members else ""
            if name:
                header.name = name
                header.notes += ["call-syntax"] * scan.python
                return
        name, id, holder = "", None, None
        for at, member in enumerate(scan.members):
            role = "" if member.misplaced else says.get(member.key, "")
            if role == "alias" and not self.may_name(scan.members[: at + 1]):
                role = "other" if not unmarked else ""
            if unmarked and self.is_other(member, role, header):
                raise Fails(member.start)
            holder = member.start if member.kind == "holder" else holder
            if role == "id":
                text = self.decoded(member.indices) if member.kind == "string" and member.closed else ""
                id = text if 1 <= len(text.encode()) <= LONGEST else None
            elif role == "name" or (role == "alias" and member.kind == "string"):
                name = self.named_by(member, scan.members[: at + 1], unmarked, header)
                header.named = None
            is_bare = role == "name" and member.kind == "scalar"
            if (role in ("name", "alias") and member.kind == "string") or (name and is_bare):
                header.named, header.holder = member.start, holder if member.inner else None
            known = names_tool(latin(name), self.tools)
            if role == "alias" and member.kind == "string" and member.closed and unmarked and not known:
                raise Fails(member.stop)
            declared = (role == "name" and not unmarked) or (role in ("name", "alias") and known)
            if name and (declared or header.name_is_open or (role == "arguments" and self.tools is None)):
                header.name, header.id = name, id
                header.notes += ["missing-opener"] * (header.name_is_open or is_bare)
                header.notes += ["call-syntax"] * scan.python
                return
        if scan.ended != "limit":
            raise Fails(scan.stop - (scan.ended == "object"))
        raise More(far)

    def named_by(self, member: Member, members: Sequence[Member], unmarked: bool, header: Header) -> str:
        """The name that this member says, the last one of these. Quotes of it may be missing."""
        if not member.closed or member.kind in ("container", "holder"):
            return ""
        if member.kind == "scalar":
            bare = "".join(self.text.s[i] for i in member.indices)
            bare = bare.encode("latin-1").decode("utf-8", "replace")
            bare = bare[:-1] if bare[-1:] in ('"', "'", "`") else bare
            bare = bare[1:] if bare[:1] in ("'", "`") else bare
            return bare if latin(bare) in (self.tools or ()) else ""
        if name := self.fitting(member.indices):
            return name
        text = self.decoded(member.indices)
        name = self.as_name(text[:-1].rstrip(WS)) if text.endswith(",") and len(text.encode()) <= LONGEST else ""
        if latin(name) in (self.tools or ()) or (name and self.tools is None and not unmarked):
            header.name_is_open = self.may_name(members)
            return name if header.name_is_open else ""
        return ""

    def may_name(self, members: Sequence[Member]) -> bool:
        """May the last of these hold the name? Only so many are counted, in an object and in one in it."""
        in_inner = count(members, inner=True) if members[-1].inner else 0
        return count(members, inner=False) < MOST_VALUES and in_inner < MOST_VALUES - 1

    def is_other(self, member: Member, role: str, header: Header) -> bool:
        """Does this member show that an object without an opener is not a call?"""
        if role == "alias":
            return header.named is not None or member.kind not in ("string", "holder")
        return not role and not member.misplaced

    def decoded(self, indices: Sequence[int]) -> str:
        return "".join(char for char, _ in decode_string(self.text, indices, 0)).strip(WS)

    def fitting(self, indices: Sequence[int]) -> str:
        """The name that a string says; empty: it does not fit."""
        return self.as_name(self.decoded(indices))

    def as_name(self, name: str) -> str:
        plain = not any(char < " " or char == "\x7f" or char in BAD or char in WS for char in name)
        known = latin(name) in (self.tools or ())
        return name if (plain or known) and 1 <= len(name.encode()) <= LONGEST else ""

    # -- the name -----------------------------------------------------------------------------------------------------

    def scan_name(self, p: int, limit: int, ends: Sequence[str], marks: str = "") -> tuple[str, int, Marker | None]:
        """The name from `p`, where it ends, and the marker there. Raises Fails once it cannot become a good one."""
        s = self.text.s
        start = last = j = self.text.skip(p, limit)
        roomy = any(c in tool for tool in self.tools or () for c in WS)
        while True:
            try:
                mark = self.text.at(j, limit, *ends)
            except More:
                if (
                    may_lack(self.row.call[2])
                    and start < last
                    and j == limit == len(self.text)
                    and not marks.count("`")
                ):
                    return s[start:last], j, None  # the stream ends the name
                raise
            if mark or re.match(marks or r"(?!)", s[j:limit]):
                return s[start:last], j, mark
            if marks and "`" in marks and "```".startswith(s[j:limit]):
                raise More(limit)
            if s[j] in WS:
                j += 1
                continue
            if is_bad(s[j]) or (start < last < j and not roomy) or j + 1 - start > LONGEST:
                raise Fails
            j += 1
            last = j

    def good(self, name: str) -> bool:
        return 1 <= len(name) <= LONGEST and (not any(c in WS for c in name) or name in (self.tools or ()))

    def opened(self, opener: Marker, limit: int, header: Header) -> None:
        """The name after a call's opener. Where it is not what the row says, attributes may say it."""
        spelling = self.text.s[opener.start : opener.stop]
        try:
            if is_stem(self.row, "call_open", spelling):
                raise Fails
            self.named(self.text.skip(opener.stop, limit), limit, header)
        except Fails:
            if not is_stem(self.row, "call_open", spelling) and self.unended(opener, limit, header):
                return
            tag = tag_at(self.text, opener, limit)
            good = tag and (tag.name in (self.tools or ()) or not any(is_bad(c) or c in WS for c in tag.name))
            if not tag or not good:
                raise
            header.name, header.written = tag.name.encode("latin-1").decode("utf-8", "replace"), tag.name
            header.id, header.stop = None, tag.stop
            header.body = "pairs" if self.row.pair else "elements" if self.row.element else "raw"
            header.body = "empty" if tag.empty else header.body

    def unended(self, opener: Marker, limit: int, header: Header) -> bool:
        """A known name without its end: before an object, perhaps in a fence, or before a key or the call's closer?"""
        text, begins = self.text, ("key_open", "element_open", "call_close")
        if may_lack(self.row.call and self.row.call[1]):
            return False
        has_tags, found = bool(self.row.pair or self.row.element), False
        start = j = text.skip(opener.stop, limit)
        while j < limit and text.s[j] not in "\n{" and text.is_byte(j) and j - start < LONGEST:
            try:
                found = has_tags and text.at(j, limit, *begins) is not None
            except More:
                found = True
            if found:
                break
            j += 1
        name = text.s[start:j].rstrip(WS) if j < limit and (found or text.s[j] in "\n{") else ""
        if not find_name(name, self.tools or (), self.row.name_as == "id"):
            return False
        x = text.skip(start + len(name), limit)
        if text.s[x : min(x + 1, limit)] != "{":
            if has_tags:
                found = text.at(x, limit, *begins) is not None
            else:
                found = text.s.startswith("```", x, limit)
                if not found and "```".startswith(text.s[x:limit]):
                    raise More(limit)
            if not found:
                return False
        header.name, header.written = name.encode("latin-1").decode("utf-8", "replace"), name
        header.id, header.stop = None, start + len(name)
        header.body = "pairs" if self.row.pair else "elements" if self.row.element else "raw"
        header.notes.append("missing-opener")
        if self.row.name_as == "id":
            self.resolve_id(header)
        return True

    def named(self, p: int, limit: int, header: Header) -> None:
        assert self.row.call
        has_end, open_end = not may_lack(self.row.call[1]), may_lack(self.row.call[2])
        others = (*SECTION, *CALL, *PAIR, "stop") if self.row.control or not has_end else ()
        ends, brace = ("name_end", "empty_call", "id_open", *others), "" if has_end else r"\{"
        name, stop, mark = self.scan_name(p, limit, ends, brace)
        if has_id := mark is not None and mark.kind == "id_open":
            id, stop, mark = self.scan_name(mark.stop, limit, ends, brace)
            if (id and not self.good(id)) or (mark and mark.kind == "id_open"):
                raise Fails
            header.id = (id.encode("latin-1").decode("utf-8", "replace") or None) if self.row.call_id else None
        if mark is None and stop == len(self.text) and (has_id or name not in (self.tools or ())):
            raise More(limit)
        header.stop, header.written = stop, name
        header.body = "pairs" if self.row.pair else "elements" if self.row.element else "raw"
        if mark and mark.kind == "call_close" and not has_end and not name and not has_id:
            header.verdict, header.stop, header.hollow = "void", mark.stop, True
            return
        if mark and mark.kind == "key_end" and not has_end:
            if has_id:
                raise Fails
            name = self.split(name, mark, header)
        elif mark and mark.kind in ("name_end", "empty_call"):
            header.stop = mark.stop
            if mark.kind == "empty_call":
                header.body = "empty"
        elif has_end or (open_end and mark):
            spelled = mark is not None and self.text.is_byte(mark.start)
            known = name in (self.tools or ()) or (
                self.row.name_as == "id" and name.startswith("functions.") and len(name) > 10
            )
            if name and (not self.good(name) or (spelled and not known)):
                raise Fails
            header.verdict = "void"
            return
        if not self.good(name):
            raise Fails
        without_pairs = not has_end and mark is not None and mark.kind in (*SECTION, *CALL, "stop")
        believed = self.tools is None and mark is not None and not mark.kind.endswith("_open")
        if without_pairs and not believed and name not in (self.tools or ()):
            raise Fails
        if self.row.name_as == "function" and mark and mark.kind == "name_end":
            header.written = name = self.after_function(name, limit, others, header)
        header.name = name.encode("latin-1").decode("utf-8", "replace")
        if self.row.name_as == "id":
            self.resolve_id(header)

    def split(self, name: str, mark: Marker, header: Header) -> str:
        """The name and the first key, which has no opener."""
        found = [tool for tool in self.tools or () if name.startswith(tool) and name[len(tool) :].strip(WS)]
        if not found:
            raise Fails
        tool = max(found, key=len)
        header.key = name[len(tool) :].strip(WS)
        if "\n" in header.key:
            raise Fails
        header.value = mark.stop
        header.notes.append("missing-opener")
        return tool

    def after_function(self, word: str, limit: int, others: Sequence[str], header: Header) -> str:
        """The name after the word `function` and its end, which may come more than once. After another word, only a
        name that a fence follows."""
        text = self.text
        first = q = text.skip(header.stop, limit)
        while again := text.at(q, limit, "name_end"):
            q = text.skip(again.stop, limit)
        if text.at(q, limit, *others) or text.s[q] == "{":
            return word
        try:
            name, stop, _ = self.scan_name(q, limit, ("name_end", *others), r"\n|```|\{")
        except Fails:
            return word
        fence = text.skip(stop, limit)
        if word != "function" and "```".startswith(text.s[fence : min(fence + 3, limit)]) and fence + 3 > limit:
            if limit == len(text):
                return word
            raise More(limit)
        if not self.good(name) or (word != "function" and not text.s.startswith("```", fence, limit)):
            return word
        header.stop = stop
        header.notes += ["stray-closer"] * (q > first)
        return name

    def resolve_id(self, header: Header) -> None:
        header.id = header.name
        header.name = re.sub(r":[0-9]+\Z", "", header.name.removeprefix("functions."))
        self.find_name(header, header.id, numbered=True)
        declared = latin(header.name) in (self.tools or ())
        of_api = "|(call_|chatcmpl-tool-).+" if self.tools else ""
        if not declared and re.fullmatch(f"(call_)?[0-9]+|{of_api}", header.name, re.S):
            if self.tools and len(set(self.tools)) == 1:
                header.name = self.tools[0].encode("latin-1").decode()
            else:
                header.name, header.kind = header.id, "other"

    def find_name(self, header: Header, written: str, numbered: bool = False) -> None:
        """A declared name with more around it. written: the name, or the whole id."""
        if self.tools and latin(header.name) not in self.tools:
            found = find_name(latin(written), self.tools, numbered)
            if found:
                header.name = found.encode("latin-1").decode()
                header.notes.append("misspelt-name")

    def may_stand(self, header: Header, name: str) -> None:
        """Where prose might say the same: a declared name, or, if none is, the start of a line or after a marker."""
        if self.tools is None:
            if not self.begins_line(self.at):
                raise Fails
        elif not names_tool(name, self.tools):
            raise Fails

    # -- calls outside a section --------------------------------------------------------------------------------------

    def bare(self, i: int, inside: bool, limit: int, header: Header) -> None:
        if not self.row.section or header.in_section or self.row.bare == "any" or header.verdict != "stands":
            return
        self.may_stand(header, latin(header.name))
        try:
            if header.body != "empty" and not self.text.follows(
                header.stop, limit, "key_open", "element_open", "call_close"
            ):
                raise Fails
        except More:
            if limit < len(self.text):
                raise
        if "missing-opener" not in header.notes:
            header.notes.append("missing-opener")
