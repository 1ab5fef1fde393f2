"""Bodies of pairs, keys and values: sections 5 and 6 of docs/tags.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from reference_tags_attributes import tag_at, type_of_word
from reference_tags_bodies import NORMAL_STOPS, OPENERS
from reference_tags_cdata import Cdata
from reference_tags_header import MOST, Header
from reference_tags_text import CALL, LONGEST, PAIR, SECTION, WS, Marker, More, is_stem, latin
from reference_tags_values import WS as SPACE
from reference_tags_values import fits, may_be_json, may_be_literal, quote, transcode

LEFT = 32  # bytes that may be left of a key's opener
SIGNS = 16  # bytes between a key and its value's opener
MAYBE = 64  # bytes of a string that may be something else, and of ws before JSON that nothing declares
AROUND_KEYS = ("key_open", "value_close", *CALL, *SECTION, "stop")
WRAPPERS = ("arguments", "parameters", "input")


class Key(NamedTuple):
    """The key, the type that comes with it, what stands after that, and whether the value begins there."""

    name: str
    says: str
    stop: int
    opened: bool = False
    foreign: bool = False  # its tag has an attribute that means nothing
    lost: bool = False  # its opener is missing
    repeated: bool = False  # its opener comes more than once


class Pairs(Cdata):
    """Reads a body of pairs. Each reader returns where it stopped, and whether the call is over."""

    pairs_so_far = 0
    paired = False  # a value was read
    names: Callable[[str], bool] = bool
    open_key = ""

    def pairs(self, i: int, header: Header) -> int:
        self.pairs_so_far, self.paired = 0, False
        over = False
        if header.key:
            i, over = self.value(header.value, header, header.key, "")
        while not over:
            i, over = self.pair(self.text.skip(i, self.size), header)
        return i

    def pair(self, i: int, header: Header) -> tuple[int, bool]:
        """What is at `i`; then the place after it, and whether the call is over."""
        text, live = self.text, ("key_open", "key_end", "value_close", "call_close", "section_close", *OPENERS, "stop")
        try:
            mark = text.at(i, self.size, *live)
            key = self.key(mark, self.size, header) if mark and mark.kind == "key_open" else None
        except More:
            return self.cut_pairs(i), True
        counts = mark and mark.kind != "key_open" and (mark.kind != "stop" or text.stop_counts(mark))
        if key is None and mark and (not counts or mark.kind == "call_open"):
            key = self.lost_key(i, i, header)
        if key:
            return self.read_key(i, key, header)
        if mark and mark.kind in ("value_close", "key_end"):
            self.log.note("stray-closer", i)
            return mark.stop, False
        if mark and counts:
            if mark.kind != "call_close":
                self.log.note("missing-closer", i)
            self.unread |= not self.paired and mark.kind != "stop" and self.loses_pair(mark)
            self.end_pairs(i)
            return mark.stop if mark.kind == "call_close" else i, True
        if text.s[i] == "{" and not self.paired:
            self.log.note("other-body", i)
            return self.raw(i), True
        if not mark and not text.is_byte(i):
            self.drop_control(i)
            return i + 1, False
        with suppress(More):
            if not mark and (closer := text.closer_at(i, self.size)):
                self.log.note("misspelt-closer", i)
                return closer.stop, False
            if not mark and (closer := self.call_closer(i)):
                self.log.note("misspelt-closer", i)
                self.end_pairs(i)
                return closer.stop, True
            if not mark and (key := self.lost_key(i, i, header)):
                return self.read_key(i, key, header)
        stop = self.noise(i)
        if stop is None:
            self.log.note("missing-closer", i)
            self.unread |= mark is not None and mark.kind == "key_open"
            self.end_pairs(i)
            return i, True
        self.log.note("ignored-text", i)
        self.unread = True
        return stop, False

    def read_key(self, i: int, key: Key, header: Header) -> tuple[int, bool]:
        """The key at `i`, and its value."""
        if key.opened or key.lost or key.foreign:
            self.log.note("missing-opener" if key.opened or key.lost else "ignored-text", i)
        if key.repeated:
            self.log.note("repeated-opener", i)
        return self.value(key.stop, header, key.name, key.says, key.opened)

    def lost_key(self, i: int, origin: int, header: Header) -> Key | None:
        """A declared key at `i`, and its end, without its opener: only a part of it, or a call's, comes before."""
        with suppress(More):
            return self.find_lost(i, self.text.limit(origin), header)
        return None

    def find_lost(self, i: int, limit: int, header: Header) -> Key | None:
        text, declared = self.text, self.declared(header)
        if not declared:
            return None
        start = text.skip(i, limit)
        if opener := text.at(start, limit, "call_open"):
            start = text.skip(opener.stop, limit)
        x, kinds = start, ("key_end", "value_open", *AROUND_KEYS)
        while not (mark := text.at(x, limit, *kinds)):
            if not text.is_byte(x) or text.s[x] == "\n" or x - start > LONGEST + LEFT:
                return None
            x += 1
        said = text.s[start:x].rstrip(WS)
        for at in range(min(len(said), LEFT + 1)):
            name, before = said[at:], said[:at][-1:]
            if name in declared and len(name) <= LONGEST and not re.match(r"[0-9A-Za-z_.\-\x80-\xff]", before):
                if mark.kind != "key_end":
                    return None
                says, stop = self.says(mark, limit)
                return Key(name, says, stop, lost=True) if stop else None
        return None

    def call_closer(self, i: int) -> Marker | None:
        """The call's closer, misspelt, and what may follow it."""
        text, limit = self.text, self.text.limit(i)
        try:
            mark = text.closer_at(i, limit, "call_close") or text.wrong_closer_at(i, limit, "call_close")
        except More:
            if limit == self.size:
                raise
            return None
        return mark if mark and text.counts(mark, "section_close", *OPENERS, "stop") else None

    def loses_pair(self, closer: Marker) -> bool:
        """Does the rest of a pair come directly after this marker, which ends a call without pairs?"""
        text, limit = self.text, self.text.limit(closer.start)
        kinds = ("key_open", "value_close", *CALL, *SECTION, "stop")
        with suppress(More):
            for j in range(closer.stop, limit):
                mark = text.at(j, limit, *kinds)
                if j == closer.stop and (mark or not text.is_byte(j) or text.s[j] in WS):
                    return False
                if mark:
                    return mark.kind == "value_close"
        return False

    def end_pairs(self, i: int) -> None:
        if self.pairs_so_far:
            self.write("}", i)
        self.end_call(i, True)

    def is_half_closer(self, i: int) -> bool:
        """Is what the stream ends with nothing, or the beginning of a closer or a stop?"""
        try:
            self.text.at(i, self.size, "value_close", "element_close", "call_close", "section_close", "stop")
        except More:
            return True
        return False

    def cut_pairs(self, i: int) -> int:
        """The stream ended between two pairs. `i`: where what it ends with begins."""
        if self.finish in NORMAL_STOPS and not self.unread and self.is_half_closer(i):
            self.end_pairs(self.size)
        else:
            self.end_call(self.size, False)
        return self.size

    def key(self, opener: Marker, limit: int, header: Header) -> Key | None:
        """The key after this opener; None: the opener is noise."""
        text, repeated = self.text, 0
        limit = min(limit, text.limit(opener.start))
        spelling = text.s[opener.start : opener.stop]
        while not is_stem(self.row, "key_open", spelling) and repeated < MOST - 1:
            try:
                again = text.follows(opener.stop, limit, "key_open")
            except More:
                if limit == self.size:
                    raise
                return None
            if not again or is_stem(self.row, "key_open", text.s[again.start : again.stop]):
                break
            opener, repeated = again, repeated + 1
            spelling = text.s[opener.start : opener.stop]
        found = self.one_key(opener, limit, header, spelling)
        return found._replace(repeated=repeated > 0) if found else None

    def one_key(self, opener: Marker, limit: int, header: Header, spelling: str) -> Key | None:
        text = self.text
        found = None if is_stem(self.row, "key_open", spelling) else self.plain_key(opener, limit, header)
        if found and (found.opened or not set(found.name) & set("\"'=") or found.name in self.declared(header)):
            return found
        try:
            tag = tag_at(text, opener, limit)
        except More:
            if limit == self.size:
                raise
            return found
        return Key(tag.name, tag.says, tag.stop, foreign=tag.foreign) if tag and not tag.empty else found

    def plain_key(self, opener: Marker, limit: int, header: Header) -> Key | None:
        """The same, as the row writes it."""
        text, declared = self.text, self.declared(header)
        first = last = j = text.skip(opener.stop, limit)
        barred = '<>"' if any(form[0] == '"' for form in text.kinds["key_end"]) else "<>"
        odd = broken = False
        try:
            while not (mark := text.at(j, limit, "key_end", "value_open")):
                if not text.is_byte(j):
                    return None
                if text.s[j] in barred:
                    if not odd and (equals := self.equals(first, j, limit)):
                        return Key(text.s[first:equals].rstrip(WS), "", equals + 1, True)
                    odd = True
                    broken = broken or "value_open" not in text.kinds or bool(text.at(j, limit, *AROUND_KEYS))
                    if broken and not declared:
                        return None
                j += 1
                if text.s[j - 1] not in WS:
                    ended = "\n" in text.s[last : j - 1] and first < last
                    if ended and text.s[first:last] in declared:  # the newline ends it
                        return Key(text.s[first:last], "", last, "value_open" not in text.kinds)
                    if ended or j - first > LONGEST:
                        return None
                    last = j
        except More:
            if limit == self.size and not broken:
                raise
            return None
        broken = broken or mark.kind == "value_open"
        if first == last or (odd and broken and text.s[first:last] not in declared):
            return None
        opened = mark.kind == "value_open"
        try:
            says, stop = (mark.says, mark.stop) if opened else self.says(mark, limit)
        except More:
            if limit == self.size:
                raise
            return None
        return Key(text.s[first:last], says, stop, opened) if stop else None

    def says(self, end: Marker, limit: int) -> tuple[str, int]:
        """The type that comes with a key, and what is after it; 0: half a type, which no key has."""
        text = self.text
        if not self.row.value_type:
            return end.says, end.stop
        opener = text.follows(end.stop, limit, "type_open")
        if opener is None:
            return end.says, end.stop
        j = text.skip(opener.stop, limit)
        while not (closer := text.at(j, limit, "type_close", "type_open", *PAIR, *SECTION, *CALL, "stop")):
            if not text.is_byte(j):
                return "", 0
            j += 1
        if closer.kind != "type_close":
            return "", 0
        word = text.s[opener.stop : j].strip(WS)
        return type_of_word(word), closer.stop

    def equals(self, first: int, j: int, limit: int) -> int:
        """Where `=` stands between a key and its value, which is closed at `j`; 0: nowhere."""
        if "value_open" in self.text.kinds or not self.text.at(j, limit, "value_close"):
            return 0
        at = self.text.s.find("=", first, j)
        return at if at > first else 0

    def declared(self, header: Header) -> set[str]:
        """The names of the tool's parameters."""
        return {latin(name) for name in self.types.get(header.name, ())}

    def noise(self, i: int) -> int | None:
        """Where the noise ends that begins at `i`; None: the call is over."""
        text, limit = self.text, self.text.limit(i)
        try:
            for j in range(i, limit):
                mark = text.at(j, limit, "key_open", "call_close", "section_close", "section_open", "call_open", "stop")
                if mark and j > i:  # the noise may begin with a key's opener, or a stop, that is none
                    return j if mark.kind in ("key_open", "call_close", "section_close") else None
        except More:
            pass
        return None

    # -- values -------------------------------------------------------------------------------------------------------

    def value_opener(self, p: int) -> tuple[int, bool]:
        """Past the value's opener, from the key's end. Is there a value? Raises `More` where the stream ends before."""
        text = self.text
        while True:
            v = text.skip(p, self.size)
            others = ("key_open", "call_close", "section_close", *OPENERS, "stop")
            mark = text.at(v, self.size, "value_open", "key_end", *others)
            if mark and mark.kind == "key_end":
                self.log.note("stray-closer", v)
                p = mark.stop
            elif mark and mark.kind == "value_open":
                if not self.is_doubled(mark):
                    return mark.stop, True
                self.log.note("repeated-opener", v)
                p = mark.stop
            elif (not mark or (mark.kind == "stop" and not text.stop_counts(mark))) and (stop := self.signs(v)):
                self.log.note("ignored-text", v)
                p = stop
            else:
                empty = mark is not None and (mark.kind != "stop" or text.stop_counts(mark))
                self.log.note("missing-value" if empty else "missing-opener", v)
                return v, not empty

    def is_doubled(self, opener: Marker) -> bool:
        """Does the opener of a value come once more, directly after it?"""
        with suppress(More):
            return self.text.at(opener.stop, self.size, "value_open") is not None
        return False

    def signs(self, v: int) -> int:
        """After a few signs, where a value's opener is; 0: nowhere."""
        text, limit = self.text, self.text.limit(v)
        with suppress(More):
            for x in range(v, v + SIGNS + 1):
                if not text.is_byte(x) or re.match(r"[0-9A-Za-z_\x80-\xff]", text.s[x]):
                    return 0
                if text.at(x + 1, limit, "value_open"):
                    return x + 1
        return 0

    def same_key(self, body: int, header: Header, key: str) -> bool:
        """Before the value's first byte: the open key once more? Not if the value quotes a call."""
        with suppress(More):
            mark = self.text.at(body, self.size, "key_open")
            again = self.key(mark, self.size, header) if mark and "value_open" not in self.text.kinds else None
            return again is not None and again.name == key and not self.text.is_quoted(body)
        return False

    def value(self, p: int, header: Header, key: str, says: str, opened: bool = False) -> tuple[int, bool]:
        """Reads the value after the end of a key. Is the call over with it?"""
        text, v = self.text, p
        if text.kinds.get("value_open") and not opened:
            try:
                v, there = self.value_opener(p)
            except More:
                self.end_call(self.size, False)
                return self.size, True
            if not there:
                self.unread = True
                return v, False
        body, markup, end = self.taken(v)
        layout = not markup and self.row.newlines == "strip" and text.s.startswith("\n", v)
        body += layout
        if not markup and body < self.size and self.same_key(body, header, key):
            self.log.lands(v, body, "arguments")
            self.log.note("repeated-opener", body)
            return body, False
        types, untyped = self.typed(header, key, says)
        self.names, self.open_key = self.may_follow(header, key), key
        j, mark = end or self.value_end(body, header)
        cut = mark is None or mark.kind == "stop"
        own = mark is not None and mark.kind == "value_close" and not layout  # the newline before it is the value's
        stop = j - (self.row.newlines == "strip" and not own and j > body and text.s[j - 1] == "\n")
        over = j if mark else self.size
        indices = [k for k in self.kept_but(v + layout, over, markup) if k < stop]
        self.log.lands(v, j if mark else stop, "arguments")
        for at in markup:
            self.log.lands(at, at + 1, "header")
        wraps = self.may_wrap(header, key, indices, cut)
        how = self.how(frozenset(["object"]) if wraps else types, untyped, indices)
        if cut or not mark:
            return self.cut_value(over, key, indices, self.how_cut(how, types, indices))
        if mark.misspelt:
            self.log.note("misspelt-closer", j)
        if end or mark.kind != "value_close":
            self.log.note("missing-closer", j)
        first = indices[0] if indices else j
        self.paired = True
        if wraps and how == "held" and self.unwrap(indices):
            return mark.stop if mark.kind == "value_close" else j, False
        how = self.how(types, untyped, indices) if wraps and how == "held" else how
        self.begin_value(key, first)
        if how == "string":
            self.write('"', first)
            self.write_string(indices)
            self.write('"', j)
        else:
            plain = self.log.decode(indices)
            if not fits(plain, types):
                self.log.note("value-type", j)
            self.write(transcode(plain, types, untyped), first, indices[-1] if indices else None)
        self.pairs_so_far += 1
        return mark.stop if mark.kind == "value_close" else j, False

    def typed(self, header: Header, key: str, says: str) -> tuple[frozenset[str], str]:
        name = key.encode("latin-1").decode("utf-8", "replace")
        return self.typed_by(self.types.get(header.name, {}).get(name, frozenset()), says)

    def typed_by(self, types: frozenset[str], says: str) -> tuple[frozenset[str], str]:
        """The schema's types, and what a value without one is, with what its tag says."""
        if says not in ("", "json") and (not types or says in types):
            return frozenset([says]), "string"
        return types, "json" if says == "json" else self.row.untyped

    def may_wrap(self, header: Header, key: str, indices: Sequence[int], cut: bool) -> bool:
        """May this be an object that holds all the arguments? Of one that is cut, its first byte must not say no."""
        declared = self.declared(header)
        if self.pairs_so_far or key not in WRAPPERS or not declared or key in declared:
            return False
        text = self.log.decode(indices)
        plain = text.lstrip(SPACE)
        return (plain.startswith("{") or (cut and not plain)) and len(text) - len(plain) <= MAYBE

    def unwrap(self, indices: Sequence[int]) -> bool:
        """Write the members of the object as the call's arguments, if it is one."""
        found = transcode(self.log.decode(indices), frozenset(["object"]), "string")
        if not found.startswith("{"):
            return False
        self.log.note("wrapped-arguments", indices[0])
        members = found.strip(SPACE)[:-1]
        if members[1:].strip(SPACE):
            self.write(members, indices[0], indices[-1])
            self.pairs_so_far += 1
        return True

    def value_end(self, body: int, header: Header) -> tuple[int, Marker | None]:
        """Where the value ends, and the marker that ends it; None: the stream does."""
        quotes = False  # a key's opener is part of the value
        for j in range(body, self.size):
            try:
                mark = self.value_end_at(j, header, quotes)
                if mark:
                    return j, mark
                quotes |= self.text.is_byte(j) and self.text.at(j, self.size, "key_open") is not None
            except More:
                return j, None  # a marker begins there
        return self.size, None

    def value_end_at(self, j: int, header: Header, quotes: bool) -> Marker | None:
        text = self.text
        mark = text.closer_at(j, self.size) or (self.wrong_closer(j) if text.is_byte(j) else None)
        if mark is None:
            return self.implied_end_at(j, header, j > 0 and text.s[j - 1] == "\n")
        if text.is_control(mark):
            return mark
        if mark.misspelt:
            return mark if self.is_implied_end(mark, header) else None
        if not self.closes(mark, quotes):
            key = None if quotes else self.lost_key(mark.stop, mark.start, header)
            if key and self.names(key.name):
                return mark
            return mark if self.is_left(mark.stop, mark, None if quotes else header) else None
        return None if quotes and text.is_quoted(mark.stop) else mark

    def wrong_closer(self, j: int) -> Marker | None:
        limit = self.text.limit(j)
        try:
            if self.text.at(j, limit, "call_close", "section_close", "key_open", "stop"):
                return None
            return self.text.wrong_closer_at(j, limit, "value_close", self.open_key)
        except More:
            if limit == self.size:
                raise
            return None

    def is_implied_end(self, closer: Marker, header: Header) -> bool:
        """Comes, after ws, what ends the value without its closer, an opener of a call, or the end?"""
        text, limit = self.text, self.text.limit(closer.start)
        i = text.skip(closer.stop, limit)
        try:
            mark = text.at(i, limit, "value_close", "call_close", "section_close", "key_open", *OPENERS, "stop")
        except More:
            return text.sees_end(closer.start)
        if mark is None or mark.kind == "value_close":
            return False
        if mark.kind in OPENERS:
            return not text.is_quoted(i)
        at_line_start = mark.kind == "key_open" or text.s[i - 1] == "\n"
        return self.implied_end_at(i, header, at_line_start) is not None

    def implied_end_at(self, j: int, header: Header, at_line_start: bool) -> Marker | None:
        """A marker that ends the value, though not its own closer."""
        text, rest = self.text, (*OPENERS, "stop")
        mark = text.at(j, self.size, "call_close", "section_close", "stop")
        if mark and mark.kind == "stop":
            return mark if text.stop_counts(mark) else None
        if mark:
            if text.counts(mark, *rest) or (mark.kind == "call_close" and self.before_section_close(mark)):
                return mark if text.is_control(mark) or not text.is_quoted(j) else None
            stop = self.after_section_close(mark) if mark.kind == "call_close" else mark.stop
            return mark if stop and self.is_left(stop, mark) else None
        if (at_line_start or self.row.newlines == "keep") and (mark := text.at(j, self.size, "key_open")):
            key = self.key(mark, self.size, header)
            ends = key and self.names(key.name) and self.has_value(mark, key)
            return mark if ends and not text.is_quoted(j) else None
        return None

    def has_value(self, opener: Marker, key: Key) -> bool:
        """May a value follow this key? In a row with `value_open`, that must come, or the key's end once more."""
        text, limit = self.text, self.text.limit(opener.start)
        if key.opened or "value_open" not in text.kinds:
            return True
        try:
            return text.follows(key.stop, limit, "value_open", "key_end") is not None
        except More:
            return limit == self.size

    def closes(self, mark: Marker, quotes: bool) -> bool:
        """Does what may follow a value come after its closer, or after a few more of these?"""
        followers = ("key_open", "call_close", "section_close", *OPENERS, "stop", *["value_close"] * (not quotes))
        limit, stop, closed = self.text.limit(mark.start), mark.stop, 0
        try:
            while stop <= limit and closed <= MOST:
                after = self.text.follows(stop, limit, *followers)
                if not after and not quotes:
                    after = self.text.closer_at(self.text.skip(stop, limit), limit)
                if not after:
                    return False
                if after.kind == "key_open" and is_stem(self.row, "key_open", self.text.s[after.start : after.stop]):
                    return tag_at(self.text, after, limit) is not None
                if after.kind != "value_close":
                    return True
                stop, closed = after.stop, closed + 1
        except More:
            return self.text.sees_end(mark.start)
        return False

    def may_follow(self, header: Header, key: str) -> Callable[[str], bool]:
        """Which keys end a value whose closer is missing: another of the tool's own."""
        declared = self.declared(header)
        return lambda name: name != key and (not declared or name in declared)

    def before_section_close(self, mark: Marker) -> bool:
        """Does a closer of the section follow, and after it what may follow?"""
        text, limit = self.text, self.text.limit(mark.start)
        try:
            after = text.follows(mark.stop, limit, "section_close")
            if after is not None and text.s[mark.start - 1 : mark.start] == "\n":  # unless all of it is quoted
                return text.follows(after.stop, limit, "value_close", "call_close", "section_close") is None
            return after is not None and text.follows(after.stop, limit, *OPENERS, "stop") is not None
        except More:
            return limit == self.size

    def after_section_close(self, mark: Marker) -> int:
        """The place after the call's closer, and the section's if that follows; 0: what follows both has been read."""
        text, limit = self.text, self.text.limit(mark.start)
        after = text.follows(mark.stop, limit, "section_close")
        if after is None:
            return mark.stop
        return 0 if text.s[mark.start - 1 : mark.start] == "\n" else after.stop

    def is_left(self, i: int, closer: Marker, header: Header | None = None) -> bool:
        """Is the call left after its closer that ends at `i`? None of its markers comes any more. With a `header`,
        noise may come instead: then the next marker is that of a good key, or closes the call."""
        text, limit = self.text, self.text.limit(closer.start)
        rest = (*OPENERS, "stop")
        try:
            for j in range(i, limit):
                if mark := text.at(j, limit, "key_open", "value_close", "call_close", "section_close", *rest):
                    noise = header is not None and mark.kind != "value_close"
                    if header and mark.kind == "key_open":
                        noise = self.key(mark, limit, header) is not None
                    return (mark.kind in rest or noise) and not text.is_quoted(i)
        except More:
            pass
        return text.sees_end(closer.start) and self.finish in (None, *NORMAL_STOPS)

    def how(self, types: frozenset[str], untyped: str, indices: Sequence[int]) -> str:
        """Does this value stream as a "string", or is it "held"? "maybe": held while it may be no string."""
        if types == {"string"} or (not types and untyped == "string"):
            return "string"
        if "string" in types and not types & {"object", "array"}:
            return "maybe" if len(indices) <= MAYBE else "string"
        if not types and not may_be_json(self.log.decode(indices)):
            return "string"
        if len(indices) > self.max_hold:
            self.log.note("held-too-long", indices[0])
            return "string"
        return "held"

    def how_cut(self, how: str, types: frozenset[str], indices: Sequence[int]) -> str:
        if how == "maybe":
            return "held" if may_be_literal(self.log.decode(indices), types) else "string"
        return how

    def begin_value(self, key: str, i: int) -> None:
        name = key.encode("latin-1").decode("utf-8", "replace")
        self.write(f"{', ' if self.pairs_so_far else '{'}{quote(name)}: ", i)

    def write_string(self, indices: Sequence[int]) -> None:
        if indices:
            self.write(quote(self.log.decode(indices))[1:-1], indices[0], indices[-1])

    def cut_value(self, j: int, key: str, indices: Sequence[int], how: str) -> tuple[int, bool]:
        if how == "string" and indices:
            self.begin_value(key, indices[0])
            self.write('"', indices[0])
            self.write_string(indices)
        self.end_call(j, False)
        return j, True
