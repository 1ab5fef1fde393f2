"""The bodies of calls: sections 5 and 6 of docs/tags.md. Each reader returns where it stopped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reference_tags_header import LONGEST, Header
from reference_tags_json import ObjectScan, decode_string, json_state
from reference_tags_log import Log
from reference_tags_text import WS, Marker, More, Text
from reference_tags_values import fits, may_be_literal, quote, transcode

NORMAL_STOPS = ("stop", "tool_calls", "function_call")
WHOLE = ("closed", "scalar")
MAYBE = 64  # bytes of a string that may be something else
OPENERS = ("call_open", "section_open")
ENDS = ("call_close", "section_close", *OPENERS, "stop")


class Bodies:
    """`types` are those of each tool's parameters."""

    def __init__(
        self,
        text: Text,
        types: Mapping[str, Mapping[str, frozenset[str]]],
        finish: str | None,
        empty_args: str,
        max_hold: int,
    ):
        self.text, self.row, self.log = text, text.row, Log(text)
        self.types, self.finish, self.empty_args, self.max_hold = types, finish, empty_args, max_hold
        self.calls: list[bool] = []
        self.size = len(text)
        self.pairs_so_far = 0
        self.written = ""

    @property
    def index(self) -> int:
        return len(self.calls)

    def write(self, piece: str, first: int, last: int | None = None) -> None:
        self.written += piece
        self.log.arguments(self.index, piece, first, last)

    def end_call(self, i: int, complete: bool) -> None:
        if complete and not self.written:
            self.write(self.empty_args, i)
        whole = json_state(self.written) in WHOLE
        self.log.tell("ToolCallEnd", self.index, complete, whole, self.log.start(i), self.log.start(i))
        self.calls.append(complete)

    def cut_call(self) -> int:
        """The stream ended in a body that is not pairs."""
        whole = json_state(self.written) in WHOLE if self.finish is None else self.finish in NORMAL_STOPS
        self.end_call(self.size, whole)
        return self.size

    def drop_control(self, i: int) -> None:
        self.log.note("stray-control", i)

    def kept(self, start: int, stop: int) -> list[int]:
        """What is text in a body; other control ids are dropped."""
        for i in range(start, stop):
            if self.text.is_a(i, "think_open", "think_close", "drop"):
                self.log.spoken.add(i)
            elif not self.text.is_byte(i):
                self.drop_control(i)
        return [i for i in range(start, stop) if self.text.is_byte(i) or i in self.log.spoken]

    # -- RAW ----------------------------------------------------------------------------------------------------------

    def raw(self, b: int) -> int:
        s, i = self.text.s, self.text.skip(b, self.size)
        while i < self.size and not self.text.is_byte(i) and not self.text.at(i, self.size, *ENDS):
            if not self.kept(i, i + 1):
                i = self.text.skip(i + 1, self.size)
            else:
                break
        fence = re.compile(r"```[A-Za-z]*[ \t\r\n]*").match(s, i)
        i = fence.end() if fence else i
        body: list[int] = []
        edges = {*WS, "`", *(form[0] for kind in ENDS for form in self.text.kinds.get(kind, ()))}
        while i < self.size:
            if self.text.is_byte(i) and s[i] not in edges:
                body.append(i)
                i += 1
                continue
            state = json_state("".join(map(self.text.spelled, body)))
            edge = state != "open" and (s[i] in WS or (fence is not None and s[i] == "`"))
            try:
                mark = self.raw_tail(i, fence is not None, state) if edge else self.raw_end(i, state)
            except More as more:
                if edge or state == "closed":
                    self.log.lands(b, more.at, "arguments")
                    self.write_raw(body)
                    return self.cut_call()
                mark = None  # half a marker at the end is text, unless the JSON is over
            if mark:
                self.log.lands(b, mark.start, "arguments")
                return self.end_raw(body, mark)
            stop = i + 1
            if edge and s[i] in WS:
                stop = self.text.skip(i, self.text.limit(i))
            body += self.kept(i, stop)
            i = stop
        self.log.lands(b, self.size, "arguments")
        self.write_raw(body)
        return self.cut_call()

    def raw_tail(self, i: int, fenced: bool, state: str) -> Marker | None:
        """Past ws, and the fence, from `i`: the marker that ends the body, if one does. `More`: the stream ends."""
        limit = self.text.limit(i)
        q = self.text.skip(i, limit)
        state = "closed" if state == "scalar" and q > i else state
        try:
            if fenced and q < limit and self.text.s[q] == "`":
                if not self.text.s.startswith("```", q, limit):
                    if "```".startswith(self.text.s[q:limit]):
                        raise More(limit)
                    return None
                q = self.text.skip(q + 3, limit)
            return self.raw_end(q, state, limit)
        except More as more:
            if limit == self.size and (q == limit or state == "closed"):
                more.at = q
                raise
            return None

    def raw_end(self, i: int, state: str, limit: int | None = None) -> Marker | None:
        """A marker at `i` that ends the body."""
        text, limit = self.text, self.size if limit is None else limit
        openers = OPENERS if state == "closed" or (i < limit and not text.is_byte(i)) else ()
        mark = text.at(i, limit, "call_close", "section_close", "stop", *openers)
        if not mark or state == "closed":
            return mark
        followers = {
            "call_close": (*OPENERS, "section_close", "stop"),
            "section_close": (*OPENERS, "stop"),
            "stop": ("stop", "turn"),
        }
        return mark if text.is_control(mark) or text.counts(mark, *followers[mark.kind]) else None

    def write_raw(self, body: list[int]) -> None:
        if body:
            self.write(self.log.decode(body), body[0], body[-1])

    def end_raw(self, body: list[int], mark: Marker) -> int:
        self.write_raw(body)
        if mark.kind != "call_close":
            self.log.note("missing-closer", mark.start)
        self.end_call(mark.start, mark.kind != "stop" or json_state(self.written) in WHOLE)
        return mark.stop if mark.kind == "call_close" else mark.start

    # -- wrapped JSON -------------------------------------------------------------------------------------------------

    @property
    def outer(self) -> tuple[str, str]:
        return ("section_open", "section_close") if self.row.section else ("call_open", "call_close")

    def json(self, q: int) -> int:
        scan = ObjectScan(self.text, q, self.size, self.outer)
        for i in scan.dropped:
            self.drop_control(i)
        self.log.lands(q, scan.stop, "arguments")
        member = next((one for one in scan.members if one.key in ("arguments", "parameters")), None)
        if member and member.indices:
            if member.kind == "string":
                chars = decode_string(self.text, member.indices, member.closed)
                if chars:
                    self.write("".join(char for char, _ in chars), chars[0][1], chars[-1][1])
            else:
                piece = self.log.decode(member.indices)
                is_null = piece == "null" if member.closed else "null".startswith(piece)
                if member.kind != "scalar" or not is_null:
                    self.write(piece, member.indices[0], member.indices[-1])
        if scan.ended == "limit":
            return self.cut_call()
        complete = True
        if scan.ended == "marker":
            self.log.note("missing-closer", scan.stop)
            complete = not scan.is_control_stop(scan.stop) or json_state(self.written) in WHOLE
        self.end_call(scan.stop - (scan.ended == "object"), complete)
        return scan.stop

    # -- PAIRS --------------------------------------------------------------------------------------------------------

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
        try:
            while not (mark := text.at(j, limit, "key_end", "value_open")):
                if text.s[j] in "<>" or not text.is_byte(j):
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
        if j and text.s[j - 1] == "\n" and (mark := text.at(j, self.size, "key_open")) and self.key(mark, self.size):
            return mark
        return None

    def before_section_close(self, mark: Marker) -> bool:
        """Does a closer of the section follow, and after it what may follow?"""
        text, limit = self.text, self.text.limit(mark.start)
        try:
            after = text.follows(mark.stop, limit, "section_close")
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
