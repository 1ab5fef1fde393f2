"""The bodies of calls that are JSON: section 5 of docs/tags.md. Each reader returns where it stopped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reference_tags_json import (
    Member,
    ObjectScan,
    are_names,
    decode_string,
    escaped_controls,
    is_escaped,
    is_in_string,
    is_object,
    json_state,
)
from reference_tags_log import Log
from reference_tags_text import LONGEST, WS, Marker, More, Text, holds_objects, latin, may_lack
from reference_tags_values import literal_json

NORMAL_STOPS = ("stop", "tool_calls", "function_call")
WHOLE = ("closed", "scalar")
OPENERS = ("call_open", "section_open")
ENDS = ("call_close", "section_close", *OPENERS, "stop")


JSON_BYTES = frozenset(WS) | frozenset('{}[],:"0123456789+-.Etruefalsn')  # outside of strings


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
        self.last_cut = False  # the end of the stream cuts the last call
        self.size = len(text)
        self.written = ""
        self.unread = False  # a part of the call's body was not read
        self.inside = self.escaped = False  # RAW: in a string; after a backslash in one
        self.quotes = False  # and a string has the opener of a section or call
        self.tool = ""
        self.named: int | None = None  # of an object: where the name begins
        self.holder: int | None = None  # and the object in it that holds the name and the arguments
        self.name_is_open = False  # the name's closing quote is missing

    @property
    def index(self) -> int:
        return len(self.calls)

    def write(self, piece: str, first: int, last: int | None = None) -> None:
        self.written += piece
        self.log.arguments(self.index, piece, first, last)

    def write_json(self, piece: str, first: int, last: int) -> None:
        """JSON that the model wrote."""
        self.write(escaped_controls(self.written, piece), first, last)

    def end_call(self, i: int, complete: bool) -> None:
        complete = complete and not self.unread
        if complete and self.written and not is_object(self.written):
            self.log.note("invalid-json", i)
            complete = False
        self.last_cut = not complete and i == self.size and self.finish not in NORMAL_STOPS
        if complete and not self.written:
            self.write(self.empty_args, i)
        whole = json_state(self.written) in WHOLE
        self.log.put_event("ToolCallEnd", self.index, complete, whole, self.log.start(i), self.log.start(i))
        self.calls.append(complete)

    def cut_call(self) -> int:
        """The stream ended in a body that is not pairs."""
        state = json_state(self.written)
        whole = state in WHOLE or (state == "start" and self.finish is not None)
        self.end_call(self.size, whole and self.finish in (None, *NORMAL_STOPS))
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
        assert self.row.call
        alone = may_lack(self.row.call[2])
        s = self.text.s
        b, i = self.before_raw(b)
        fence = None if alone else re.compile(r"```[A-Za-z]*").match(s, i)
        if fence:
            b, i = self.before_raw(b, fence.end())
        body: list[int] = []
        edges = {*WS, "`", *(form[0] for kind in ENDS for form in self.text.kinds.get(kind, ()))}
        self.quotes = False
        while i < self.size:
            if alone and self.is_over(body, i):
                self.log.lands(b, i, "arguments")
                self.write_raw(body)
                self.end_call(i, True)
                return i
            if alone and self.text.is_byte(i) and self.text.leaves_json(i) and self.is_between_strings(body):
                self.log.note("missing-closer", i)
                self.log.lands(b, i, "arguments")
                self.write_raw(body)
                self.end_call(i, False)
                return i
            whole = bool(body) and s[body[-1]] in '}]"' and not alone and self.is_over(body, i)
            if self.text.is_byte(i) and s[i] not in edges and not whole:
                body.append(i)
                i += 1
                continue
            said = "".join(map(self.text.spelled, body))
            state = json_state(said)
            self.inside, self.escaped = state == "open" and is_in_string(said), is_escaped(said)
            if alone and s[i] == "\n" and self.lost_end(i, i, False):
                self.log.note("missing-closer", i)
                self.log.lands(b, i, "arguments")
                self.write_raw(body)
                self.end_call(i, False)
                return i
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
            if whole and said.lstrip(WS)[0] in '{["' and self.text.is_byte(i) and self.is_noise(i):
                self.log.lands(b, i, "arguments")
                b = self.raw_noise(i)
                if b is None:
                    self.log.note("missing-closer", i)
                    self.write_raw(body)
                    self.end_call(i, True)
                    return i
                self.log.note("ignored-text", i)
                i = b
                continue
            stop = i + 1
            if edge and s[i] in WS:
                stop = self.text.skip(i, self.text.limit(i))
            body += self.kept(i, stop)
            i = stop
        self.log.lands(b, self.size, "arguments")
        self.write_raw(body)
        if alone and self.is_over(body, i):
            self.end_call(i, True)
            self.last_cut = False  # its JSON has ended it, and not the end of the stream
            return i
        return self.cut_call()

    def before_raw(self, b: int, i: int | None = None) -> tuple[int, int]:
        """Past what is dropped before a body that begins at `b`: ws, controls, and ends of the name. Returns where the
        tokens of arguments begin, and the first byte."""
        text, i = self.text, b if i is None else i
        while (i := text.skip(i, self.size)) < self.size:
            try:
                if again := text.at(i, self.size, "name_end"):
                    self.log.lands(b, i, "arguments")
                    self.log.note("stray-closer", i)
                    b = i = again.stop
                    continue
                if text.is_byte(i) or text.at(i, self.size, *ENDS):
                    break
            except More:
                break
            if self.kept(i, i + 1):
                break
            i += 1
        return b, i

    def is_over(self, body: list[int], i: int) -> bool:
        """Is the JSON before `i` whole? A number or word is if ws follows."""
        state = json_state("".join(map(self.text.spelled, body)))
        return state == "closed" or (state == "scalar" and i < self.size and self.text.s[i] in WS)

    def is_between_strings(self, body: list[int]) -> bool:
        """Is an object or array open, and no string?"""
        said = "".join(map(self.text.spelled, body))
        return json_state(said) == "open" and not is_in_string(said)

    def lost_end(self, i: int, after: int, far: bool) -> bool:
        """In a string: does the call end at `i`, and the string's end is missing? `after`: from where that shows.
        `far`: at a closer."""
        in_bracket = self.text.ends_in_bracket(i)
        if not self.inside or self.escaped or self.quotes or not (in_bracket or far):
            return False
        return self.text.has_lost_end(after, self.is_cut, far and in_bracket)

    @property
    def is_cut(self) -> bool:
        return self.finish is not None and self.finish not in NORMAL_STOPS

    def is_noise(self, i: int) -> bool:
        """Does no other value begin here, after the JSON?"""
        limit = self.text.limit(i)
        x = self.text.skip(i, limit)
        return x == limit or self.text.s[x] not in '{["'

    def raw_noise(self, i: int) -> int | None:
        """Where the noise ends that begins at `i`; None: the call is over."""
        text, limit = self.text, self.text.limit(i)
        try:
            for j in range(i + 1, limit):
                if mark := text.at(j, limit, *ENDS):
                    if mark.kind not in ("call_close", "section_close"):
                        return None
                    self.unread |= any(self.says_more(k, j) for k in range(i, j))
                    return j
        except More:
            pass
        return None

    def says_more(self, i: int, limit: int) -> bool:
        """May an argument begin here?"""
        try:
            tag = self.text.at(i, limit, "key_open", "element_open") if self.text.is_byte(i) else None
        except More:
            tag = None
        return tag is not None or self.text.s[i] in '"{[=:'

    def raw_tail(self, i: int, fenced: bool, state: str) -> Marker | None:
        """Past ws, and the fence, from `i`: the marker that ends the body, if one does. `More`: the stream ends."""
        limit = self.text.limit(i)
        q = self.text.skip(i, limit)
        state = "closed" if state == "scalar" and q > i else state
        try:
            if fenced and q < limit and self.text.s[q] == "`":
                if not self.text.s.startswith("```", q, limit):
                    if "```".startswith(self.text.s[q:limit]):
                        q = limit
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
        mark = text.at(i, limit, "call_close", "section_close", "stop", *OPENERS)
        if not mark or state in ("start", "closed"):
            return mark
        followers = {
            "call_close": (*OPENERS, "section_close", "stop"),
            "section_close": (*OPENERS, "stop"),
            "stop": ("stop", "turn"),
        }
        if text.is_control(mark) or (mark.kind not in ("stop", *OPENERS) and not self.inside):
            return mark
        if mark.kind in OPENERS and not self.inside:
            return None if JSON_BYTES.issuperset(text.s[i : mark.stop]) else mark
        if mark.kind in OPENERS:
            lost = may_lack(self.row.call[2]) and text.ends_in_bracket(i) and self.lost_end(i, mark.stop, False)
            self.quotes |= not lost
            return mark if lost else None
        counts = text.counts(mark, *followers[mark.kind])
        return mark if counts or (mark.kind != "stop" and self.lost_end(i, mark.stop, True)) else None

    def write_raw(self, body: list[int]) -> None:
        if body:
            self.write_json(self.log.decode(body), body[0], body[-1])

    def end_raw(self, body: list[int], mark: Marker) -> int:
        self.write_raw(body)
        if mark.kind != "call_close":
            self.log.note("missing-closer", mark.start)
        said = "".join(map(self.text.spelled, body))
        in_string = json_state(said) == "open" and is_in_string(said)
        over = mark.kind != "stop" and not in_string
        self.end_call(mark.start, over or json_state(self.written) in WHOLE)
        return mark.stop if mark.kind == "call_close" else mark.start

    # -- wrapped JSON -------------------------------------------------------------------------------------------------

    @property
    def around(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The openers and the closers around an object."""
        if holds_objects(self.row):
            return ("section_open", "call_open"), ("call_close", "section_close")
        return (("section_open",), ("section_close",)) if self.row.section else (("call_open",), ("call_close",))

    def json(self, q: int) -> int:
        openers, closers = self.around
        is_open = self.named if self.name_is_open else None
        scan = ObjectScan(self.text, q, self.size, (*openers, *closers), closers, self.is_cut, self.holder, is_open)
        self.log.spoken.update(scan.kept)
        for i in scan.dropped:
            self.drop_control(i)
        for code, i in scan.noise:
            self.log.note(code, i)
        self.log.lands(q, scan.stop, "arguments")
        says = self.row.members
        any_key = are_names(scan.members, says)
        roles = ["" if one.misplaced else "arguments" if any_key else says.get(one.key, "") for one in scan.members]
        for at, one in enumerate(scan.members):
            if roles[at] == "alias":
                roles[at] = "name" if one.start in (self.named, self.holder) else ""
            if roles[at] == "arguments" and not any_key and self.text.s[one.start] != "{" and self.declares(one.key):
                roles[at] = ""
        member = next((one for one, role in zip(scan.members, roles) if role == "arguments"), None)
        unfinished = ("in key", "colon", "value", *(() if member else ("key",)))
        self.unread |= scan.stray or (scan.ended != "object" and scan.stage in unfinished)
        before = scan.members.index(member) if member else len(scan.members)
        held = self.held_members(scan.members[:before], roles)
        unknown = [one for one in held if roles[scan.members.index(one)] == ""]
        self.unread |= scan.ended == "object" and scan.after_comma and not (member or held)
        if member and unknown:
            self.log.note("ignored-member", held[0].start)
            self.unread |= any(self.may_be_argument(one.key) for one in unknown)
        for other, role in zip(scan.members[before + 1 :], roles[before + 1 :]):
            if role in ("", "arguments") and not other.misplaced:
                self.log.note("ignored-member", other.start)
                self.unread |= role == "arguments" or self.may_be_argument(other.key)
        if member and member.indices:
            if member.kind == "string":
                chars = decode_string(self.text, member.indices, member.stop if member.closed else None)
                if chars:
                    self.write_json("".join(char for char, _ in chars), chars[0][1], chars[-1][1])
            elif scan.python:
                self.write_literal(self.log.decode(member.indices), member)
            else:
                piece = self.log.decode(member.indices)
                is_null = piece == "null" if member.closed else "null".startswith(piece)
                if member.kind != "scalar" or not is_null:
                    self.write_json(piece, member.indices[0], member.indices[-1])
        if held and not member:
            self.write_members(held, scan)
        if scan.ended == "limit":
            return self.cut_call()
        complete = True
        if scan.ended in ("marker", "line"):
            self.log.note("missing-closer", scan.stop)
            stopped = scan.ended == "line" or scan.in_string or scan.is_stop(scan.stop)
            complete = not stopped or json_state(self.written) in WHOLE
        self.end_call(scan.stop - (scan.ended == "object"), complete)
        return scan.stop

    def write_literal(self, piece: str, member: Member) -> None:
        """Arguments as Python prints them, as JSON. What is not a literal stays as it is."""
        is_long = len(piece.encode()) > self.max_hold
        if is_long:
            self.log.note("held-too-long", member.start)
        text = piece if is_long else literal_json(piece) or piece
        if text != "null":
            self.write_json(text, member.indices[0], member.indices[-1])

    # -- members that may be the arguments ----------------------------------------------------------------------------

    def declares(self, key: str) -> bool:
        return key in [latin(name) for name in self.types.get(self.tool, ())]

    def may_be_argument(self, key: str) -> bool:
        return not self.types.get(self.tool) or self.declares(key) or len(key) >= LONGEST

    def held_members(self, members: Sequence[Member], roles: Sequence[str]) -> list[Member]:
        """Those that are the arguments if no others come. What cannot be held is noted."""
        held: list[Member] = []
        size, too_long = 0, False
        for one, role in zip(members, roles):
            if one.misplaced or role == "name" or (role and not self.declares(one.key)):
                continue
            if too_long or one.late or len(one.key) >= LONGEST:
                if not role:
                    self.log.note("ignored-member", one.start)
                    self.unread |= self.may_be_argument(one.key)
                continue
            held.append(one)
            size += len(self.member_text(one, len(held) == 1).encode())
            if size > self.max_hold:
                self.log.note("held-too-long", held[0].start)
                held, too_long, self.unread = [], True, True
        return held

    def span(self, one: Member) -> list[int]:
        """All of a value, with its quotes."""
        return [one.start, *one.indices, *[one.stop] * one.closed] if one.kind == "string" else one.indices

    def member_text(self, one: Member, first: bool) -> str:
        key = one.key.encode("latin-1").decode("utf-8", "replace")
        return ("{" if first else ", ") + f'"{key}": ' + self.log.decode(self.span(one))

    def write_members(self, held: Sequence[Member], scan: ObjectScan) -> None:
        whole = scan.ended != "limit" and scan.stage in ("key", "comma", "over")
        self.unread |= not whole
        self.log.note("other-body", held[0].start)
        text = "".join(self.member_text(one, one is held[0]) for one in held)
        if whole and scan.python:
            text, whole = literal_json(text + "}") or text + "}", False
        self.write_json(text, held[0].start, self.span(held[-1])[-1])
        if whole:
            self.write("}", scan.stop - (scan.ended == "object"))
