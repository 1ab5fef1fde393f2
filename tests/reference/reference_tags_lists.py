"""Calls without tags of their own, and what comes after one: the last part of section 5 of docs/tags.md."""

from __future__ import annotations

from collections.abc import Callable

from reference_tags_header import Header, HeaderReader
from reference_tags_keys import written
from reference_tags_python import PythonCalls
from reference_tags_text import INERT, Marker, More, lacks_closer


class Lists(PythonCalls):
    """Part of the machine, whose methods the first four are."""

    reader: Callable[[], HeaderReader]
    begin: Callable[[int, Header], None]
    plain: Callable[[int, int], int]
    section: Callable[[int], int]
    marked: int

    def wrapped(self, q: int, header: Header) -> int:
        """Wrapped JSON from its `{` or `[`, and what comes after an object."""
        in_array = self.text.s[q] == "["
        i = self.json(self.text.skip(q + 1, self.size) if in_array else q)
        return self.after_call(i, in_array, header.in_section)

    def listed(self, header: Header) -> int:
        """A written call, and what comes after it."""
        self.in_array, self.in_section = header.array, header.in_section
        i = self.python(header.stop, header)
        return self.after_call(i, self.in_array, header.in_section)

    def next_call(self, i: int, in_array: bool, in_section: bool) -> Header | None:
        """The header of another call after the last; None: no call begins here."""
        text, is_object = self.text, self.text.s[i] == "{"
        if self.text.s[i] == "[" or (self.text.s[i] == "," and not in_array):
            return None
        if not is_object and (self.row.body == "json" or self.text.s[i] == "[" or not text.is_byte(i)):
            return None
        header = self.reader().read_object(i, unmarked=not is_object and not in_array)
        if is_object or header.verdict == "stands":
            return header
        return header if header.verdict == "open" and (in_array or in_section) else None

    def apart(self, i: int, in_array: bool) -> tuple[int, Header] | None:
        """Another call outside of an array, after a comma or in an array of its own: where, and its header."""
        s, limit = self.text.s, self.text.limit(i)
        q = self.text.skip(i + 1, limit) if s[i] == "," else i
        if (in_array and s[i] == ",") or s[i] not in ",[" or q == limit or not self.text.is_byte(q):
            return None
        if self.row.body == "json" and s[q] not in "{[":
            return None
        header = self.reader().read_object(q, unmarked=s[q] != "{")
        return (q, header) if header.verdict == "stands" else None

    def closer_after(self, i: int) -> Marker | None:
        """The closer after an object, perhaps misspelt."""
        closers = self.around[1]
        return self.text.at(i, self.size, *closers) or self.text.closer_at(i, self.size, closers[0])

    def ends_fence(self, i: int) -> bool:
        """The end of a Markdown fence, and the closer after an object?"""
        text, limit = self.text, self.text.limit(i)
        if lacks_closer(self.row) or text.s[i : i + 3] != "```":
            return False
        try:
            return text.follows(i + 3, limit, *self.around[1]) is not None
        except More:
            return text.sees_end(i)

    def after_call(self, i: int, in_array: bool, in_section: bool) -> int:
        s, text = self.text.s, self.text
        closers = "}]" if self.row.body == "json" else "}]" + written(self.row)[1]
        while (i := text.skip(i, self.size)) < self.size:
            self.marked = i
            try:
                mark = self.closer_after(i)
            except More:
                return self.size
            if mark or s[i] == INERT or text.is_a(i, "turn"):
                if mark and mark.misspelt:
                    self.log.note("misspelt-closer", i)
                if mark:
                    self.marked = mark.stop
                    goes_on = in_section and mark.kind == "call_close"
                    return self.section(self.marked) if goes_on else self.marked
                self.drop_control(i)
                i += 1
            elif self.ends_fence(i):
                self.log.note("ignored-text", i)
                i += 3
            elif s[i] in closers:
                if s[i] != "]" or not in_array:
                    self.log.note("ignored-text", i)
                in_array = in_array and s[i] != "]"
                i += 1
            elif (s[i] == "," and in_array) or (s[i] and s[i] == self.row.between):
                i += 1
            elif found := self.apart(i, in_array):
                self.log.note("ignored-text", i)
                i, header = found
                self.begin(i, header)
                self.in_array, self.in_section = s[i] == "[", in_section
                q = text.skip(i + 1, self.size) if self.in_array else i
                i = self.python(header.stop, header) if header.body == "python" else self.json(q)
                in_array = self.in_array
            elif header := self.next_call(i, in_array, in_section):
                if header.verdict == "open":
                    self.log.note("unfinished-header", i)
                    return i
                if header.verdict == "fails":
                    return self.plain(i, header.stop)
                self.begin(i, header)
                self.in_array, self.in_section = in_array, in_section
                i = self.python(header.stop, header) if header.body == "python" else self.json(i)
                in_array = self.in_array
            else:
                return i
        return i
