"""Bodies of pairs, keys and values: sections 5 and 6 of docs/tags.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reference_tags_bodies import NORMAL_STOPS, OPENERS, Bodies
from reference_tags_header import LONGEST, Header
from reference_tags_text import WS, Marker, More, latin
from reference_tags_values import fits, may_be_literal, quote, transcode

MAYBE = 64  # bytes of a string that may be something else


class Pairs(Bodies):
    """Reads a body of pairs. Each reader returns where it stopped, and whether the call is over."""

    pairs_so_far = 0
    names: Callable[[str], bool] = bool

    def pairs(self, i: int, header: Header) -> int:
        self.pairs_so_far = 0
        over = False
        if header.key:
            i, over = self.value(i, header.value, header, header.key, "")
        while not over:
            i, over = self.pair(self.text.skip(i, self.size), header)
        return i

    def pair(self, i: int, header: Header) -> tuple[int, bool]:
        """What stands at `i`; then the place behind it, and whether the call is over."""
        text, live = self.text, ("key_open", "value_close", "call_close", "section_close", *OPENERS, "stop")
        try:
            mark = text.at(i, self.size, *live)
            key = self.key(mark, self.size) if mark and mark.kind == "key_open" else None
        except More:
            return self.cut_pairs(), True
        if key:
            if key[3]:
                self.log.note("missing-opener", i)
            return self.value(i, key[2], header, *key[:2], key[3])
        if mark and mark.kind == "value_close":
            self.log.note("stray-closer", i)
            return mark.stop, False
        if mark and mark.kind != "key_open" and (mark.kind != "stop" or text.stop_counts(mark)):
            if mark.kind != "call_close":
                self.log.note("missing-closer", i)
            self.end_pairs(i)
            return mark.stop if mark.kind == "call_close" else i, True
        if text.s[i] == "{" and not self.pairs_so_far:
            self.log.note("other-body", i)
            return self.raw(i), True
        if not mark and not text.is_byte(i):
            self.drop_control(i)
            return i + 1, False
        stop = self.noise(i)
        if stop is None:
            self.log.note("missing-closer", i)
            self.end_pairs(i)
            return i, True
        self.log.note("ignored-text", i)
        return stop, False

    def end_pairs(self, i: int) -> None:
        if self.pairs_so_far:
            self.write("}", i)
        self.end_call(i, True)

    def cut_pairs(self) -> int:
        """The stream ended between two pairs."""
        if self.finish in NORMAL_STOPS:
            self.end_pairs(self.size)
        else:
            self.end_call(self.size, False)
        return self.size

    def key(self, opener: Marker, limit: int) -> tuple[str, str, int, bool] | None:
        """The key, the type that its end says, where its value begins, and whether the value's opener was seen."""
        text = self.text
        limit = min(limit, text.limit(opener.start))
        first = last = j = text.skip(opener.stop, limit)
        quoted = '<>"' if any(form[0] == '"' for form in text.kinds["key_end"]) else "<>"
        try:
            while not (mark := text.at(j, limit, "key_end", "value_open")):
                if text.s[j] in quoted or not text.is_byte(j):
                    return None
                j += 1
                if text.s[j - 1] not in WS:
                    if ("\n" in text.s[last : j - 1] and first < last) or j - first > LONGEST:
                        return None
                    last = j
        except More:
            if limit == self.size:
                raise
            return None
        return (text.s[first:last], mark.says, mark.stop, mark.kind == "value_open") if first < last else None

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

    def value(self, at: int, p: int, header: Header, key: str, says: str, opened: bool = False) -> tuple[int, bool]:
        """Reads the value behind the end of a key whose opener stands at `at`. Is the call over with it?"""
        text, v = self.text, p
        if text.kinds.get("value_open") and not opened:
            v = text.skip(p, self.size)
            try:
                mark = text.at(v, self.size, "value_open")
            except More:
                return self.cut_value(self.size, "", [], "held")
            if mark:
                v = mark.stop
            else:
                self.log.note("missing-opener", v if header.value == p else at)
        body = v + (self.row.newlines == "strip" and text.s.startswith("\n", v))
        types, untyped = self.typed(header, key, says)
        self.names = self.may_follow(header, key)
        j, mark = self.value_end(body)
        cut = mark is None or mark.kind == "stop"
        stop = j - (self.row.newlines == "strip" and j > body and text.s[j - 1] == "\n")
        over = j if mark else self.size
        indices = [k for k in self.kept(body, over) if k < stop]
        self.log.lands(v, j if mark else stop, "arguments")
        how = self.how(types, untyped, indices)
        if cut or not mark:
            return self.cut_value(over, key, indices, self.how_cut(how, types, indices))
        if mark.misspelt:
            self.log.note("misspelt-closer", j)
        if mark.kind != "value_close":
            self.log.note("missing-closer", j)
        first = indices[0] if indices else j
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
        types = self.types.get(header.name, {}).get(name, frozenset())
        if says == "string" and (not types or "string" in types):
            return frozenset(["string"]), "string"
        return types, "json" if says == "json" else self.row.untyped

    def value_end(self, body: int) -> tuple[int, Marker | None]:
        """Where the value ends, and the marker that ends it; None: the stream does."""
        for j in range(body, self.size):
            try:
                mark = self.value_end_at(j)
            except More:
                return j, None  # a marker begins there
            if mark:
                return j, mark
        return self.size, None

    def value_end_at(self, j: int) -> Marker | None:
        text, rest = self.text, (*OPENERS, "stop")
        if mark := text.closer_at(j, self.size):
            return mark if text.counts(mark, "key_open", "call_close", "section_close", *rest) else None
        mark = text.at(j, self.size, "call_close", "section_close", "stop")
        if mark and mark.kind == "stop":
            return mark if text.stop_counts(mark) else None
        if mark:
            if mark.kind == "call_close" and self.before_section_close(mark):
                return mark
            return mark if text.counts(mark, *rest) else None
        if j and text.s[j - 1] == "\n" and (mark := text.at(j, self.size, "key_open")):
            key = self.key(mark, self.size)
            return mark if key and self.names(key[0]) else None
        return None

    def may_follow(self, header: Header, key: str) -> Callable[[str], bool]:
        """Which keys, just after a newline, end a value whose closer is missing: another of the tool's own."""
        declared = {latin(name) for name in self.types.get(header.name, ())}
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

    def how(self, types: frozenset[str], untyped: str, indices: Sequence[int]) -> str:
        """Does this value stream as a "string", or is it "held"? "maybe": held while it may be no string."""
        if types == {"string"} or (not types and untyped == "string"):
            return "string"
        if "string" in types and not types & {"object", "array"}:
            return "maybe" if len(indices) <= MAYBE else "string"
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
