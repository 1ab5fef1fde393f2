"""A slow, obvious interpreter of docs/tags.md, the oracle for the native tag machine.

It has the whole stream before it and looks as far ahead as the page allows; nothing is read twice differently because
of how it came. Section numbers refer to docs/tags.md. The text is in reference_tags_text.py, headers in
reference_tags_header.py, bodies in reference_tags_bodies.py and reference_tags_pairs.py. Nothing here is shared with
the native code.

The result of `interpret_tags` is what a replay of the native parser must give after merging.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters

from reference import REGIONS, EventTuple, Item
from reference_tags_bodies import NORMAL_STOPS
from reference_tags_elements import Elements
from reference_tags_fences import Fences
from reference_tags_header import Header, HeaderReader
from reference_tags_lists import Lists
from reference_tags_text import (
    CALL,
    CDATA,
    CONTROL,
    ELEMENT,
    INERT,
    NEAR,
    PAIR,
    SECTION,
    WS,
    Marker,
    More,
    Text,
    latin,
    may_lack,
)

from harmonystream.formats import Format

MAX_HOLD = 1 << 20
MESSAGE = ("assistant", None, None, None)


@dataclass
class TagResult:
    events: list[EventTuple]
    deviations: list[tuple[str, int]]
    regions: list[str]
    usage: dict[str, int]


class Machine(Fences, Elements, Lists):
    """Section 3, and what comes after a call (5)."""

    def __init__(self, text: Text, tools: Sequence[str] | None, start: str, trim: str, **options: object):
        super().__init__(text, **options)  # type: ignore[arg-type]
        self.tools, self.trim = tools, trim == "seams"
        self.region = "reasoning" if start == "reasoning" else "content"
        self.thinks = start != "answer"
        self.marked = 0 if start in ("reasoning", "answer") else -1  # the place directly after the last marker
        self.mentions = 0
        self.think_mentions = 0
        self.dropped: dict[int, int] = {}  # where a dropped marker ends -> where it begins
        self.lacks = self.row.section is not None and may_lack(self.row.section[0])
        self.blank = self.lacks and self.region == "content"  # of the answer there is nothing but whitespace
        self.pending = (-1, -1)  # newlines before a dropped marker wait for what follows: where they end, and it
        self.spoken: set[str] = set()  # the kinds of text that came, other than blanks
        self.parted: dict[str, int] = {}  # kinds whose next text begins a line of its own -> what comes before it
        self.splits = False  # newlines directly after the last marker part text
        self.over = False
        self.labelled = 0  # where a label may be

    def run(self) -> None:
        if self.size:
            self.log.put_event("MessageStart", *MESSAGE, 0, 0)
        for position in self.text.unknown:
            self.log.deviations.append(("unknown-id", position))
        i = 0
        while i < self.size and not self.over:
            i = self.place(i)
        if not self.over:
            self.end_newlines(self.size)
        if self.over and i < self.size:
            self.log.note("after-end", i)
            self.log.lands(i, self.size, "done")
        if self.size and not self.over:
            self.log.put_event("MessageEnd", *MESSAGE, self.log.total, self.log.total)
        self.log.put_event("StreamEnd", self.outcome(), self.log.total, self.log.total)

    def outcome(self) -> str | None:
        if self.finish is not None and self.finish not in NORMAL_STOPS:
            return self.finish
        if self.calls and not self.last_cut:
            return "tool_calls"
        return "stop" if self.over or self.finish is not None else None

    # -- section 3 ----------------------------------------------------------------------------------------------------

    def place(self, i: int) -> int:
        """Reads what stands at one place of CONTENT or REASONING."""
        kinds = ["think_open", "think_close", "drop", "answer", "stop", "turn", "name_end", "empty_call", "quote"]
        kinds += [*SECTION, *CALL, *PAIR]
        if self.spelling(i) != "`":
            self.end_backquotes(self.spelling(i))
        if i == self.labelled:
            self.labelled = -1
            if (stop := self.label(i)) > i:
                if self.region == "content":
                    self.log.note("stray-control", i)
                return self.act(i, stop)
        if (after := self.line(i)) >= 0:
            return after
        try:
            mark = self.text.at(i, self.size, *kinds)
        except More:
            mark = None
        if mark and self.code == "example" and mark.kind in (*SECTION, *CALL) and self.text.is_byte(i):
            return self.byte(i)
        if mark:
            return self.marker(mark)
        if self.blank and self.region == "content" and self.tools != [] and self.text.s[i] in "{[":
            header = self.reader().read_object(i, unmarked=True)
            if header.verdict == "stands":
                self.act(i, i)
                self.begin(i, header)
                return self.listed(header) if header.body == "python" else self.wrapped(i, header)
            self.blank = False
        is_late = self.calls and self.trim and i == self.marked and self.code != "example" and self.tools != []
        if is_late and (late := self.text.late_closer(i)):
            self.log.note("misspelt-closer", i)
            return self.act(i, late.stop)
        if self.region == "reasoning" and (after := self.thought_tag(i)):
            return after
        if self.text.is_byte(i):
            return self.byte(i)
        inside_calls = ("id_open", "type_open", "type_close", *CDATA, *ELEMENT)
        is_call = self.tools == [] and any(self.text.s[i] in self.text.kinds.get(kind, ()) for kind in inside_calls)
        return self.drop_here(i, i + 1, "call-without-tools" if is_call else "stray-control")

    def label(self, i: int) -> int:
        """Where the label of thoughts ends, which may be before an answer too, or `i`."""
        stop = i + len(latin(self.row.think_label))
        if not self.row.think_label or self.text.s[i:stop] != latin(self.row.think_label):
            return i
        if self.region == "content":
            return stop if self.text.s[stop : stop + 1] == "\n" else i
        try:
            is_alone = stop == self.size or self.text.s[stop] == "\n" or self.text.at(stop, self.size, "think_close")
        except More:
            is_alone = False
        return stop if is_alone else i

    def line(self, i: int) -> int:
        """Reads a call that begins a line without an opener, or with its name before the opener; -1: there is none."""
        is_shown = self.code == "blank" and self.row.fenced == "call"
        if not self.tools or not self.text.is_byte(i) or not self.at_line_start(i) or (self.code and not is_shown):
            return -1
        is_open = may_lack(self.row.call[2]) if self.row.call else False
        starts = ("[" if self.row.body == "python" else "") + ("{[" if self.row.wrapped else "")
        if self.row.bare_line == "call" and self.region == "content" and self.text.s[i] in starts:
            header = self.reader().read_object(i, unmarked=True, line=True)
        elif is_open:
            header = self.reader().read_named(i)
        else:
            return -1
        if header.verdict != "stands":
            return -1
        region = self.region
        self.act(i, i, keeps=is_shown)
        ended = is_shown and self.log.ends_in_newline(region)
        self.begin(i, header)
        if ended:
            self.parted.pop(region, None)
        if header.body == "raw":
            self.marked = self.raw(header.stop)
            return self.marked
        return self.listed(header) if header.body == "python" else self.wrapped(i, header)

    def byte(self, i: int) -> int:
        if i in self.text.named:
            self.end_backquotes(self.spelling(i))
            return self.drop_here(i, self.text.named[i])
        self.log.lands(i, i + 1, self.region)
        if self.trim and self.text.s[i] == "\n" and i == self.marked:
            self.move(i + 1)  # the whole run goes
            if self.splits and not self.log.ends_in_newline(self.region):
                self.parted = dict.fromkeys(self.spoken, i)
        else:
            self.part(i)
            for char in self.text.spelled(i):
                self.follow(char)
                self.blank = self.blank and char in " \n\t"
            self.log.put(self.region, [i])
        return i + 1

    def part(self, i: int) -> None:
        """A newline parts text after a call, thoughts or a dropped newline run from text of its kind before."""
        char = self.spelling(i)
        called = self.parted.pop(self.region, None) if char != "\n" else None
        if called is not None and char not in WS and not self.log.has_newline(self.region, called):
            self.log.put(self.region, [-1 - i])
        if char not in " \t\n":
            self.spoken.add(self.region)

    def spelling(self, i: int) -> str:
        """The first byte of what stands at `i`."""
        return INERT if self.text.s[i] == INERT else self.text.spelled(i)[0]

    # -- markers ------------------------------------------------------------------------------------------------------

    def spell(self, mark: Marker) -> int:
        """Text, control marker or not."""
        self.log.spoken.add(mark.start)
        return self.byte(mark.start)

    def act(self, start: int, stop: int, keeps: bool = False) -> int:
        """A marker that was acted on takes the newlines with it that it touches, or keeps those before it."""
        if self.trim and not keeps:
            before = self.pending[0] if start == self.marked == self.pending[1] else start
            if self.log.trim(self.region, before):
                self.parted = dict.fromkeys(self.spoken, start)
        self.splits = True
        self.marked, self.at_start = stop, True
        return stop

    def move(self, stop: int) -> None:
        """What stands before `stop` goes, and the marker before it is the last still."""
        if self.pending[1] == self.marked:
            self.pending = (self.pending[0], stop)
        self.marked = stop

    def drop(self, mark: Marker) -> int:
        """It takes the newlines after it with it, if there is a newline, or a marker, before it."""
        self.dropped[mark.stop] = mark.start
        if self.marked == mark.start:
            self.move(mark.stop)
        elif self.at_line_start(mark.start):
            self.pending = (mark.start, mark.stop)
            self.marked = mark.stop
        return mark.stop

    def plain(self, start: int, stop: int) -> int:
        """At least one byte of text."""
        i = self.byte(start)
        while i < stop:
            if self.text.is_byte(i):
                i = self.byte(i)
            else:
                self.end_backquotes(INERT)
                i = self.drop_here(i, i + 1)
        return i

    def drop_here(self, start: int, stop: int, code: str = "stray-control") -> int:
        """Newlines touch over it, and the line goes on as if it were not there."""
        self.log.note(code, start)
        self.dropped[stop] = self.text.gone[stop] = start
        if self.marked == start:
            self.move(stop)
        return stop

    def ignore(self, mark: Marker, code: str = "stray-control") -> int:
        """Not acted on: in the text it is text, as a control marker dropped."""
        return self.drop_here(mark.start, mark.stop, code) if self.text.is_control(mark) else self.byte(mark.start)

    def marker(self, mark: Marker) -> int:
        kind = mark.kind
        if kind in ("think_open", "think_close"):
            return self.think(mark) if self.thinks or self.text.is_control(mark) else self.byte(mark.start)
        if kind == "drop" or (kind == "answer" and self.region == "content"):
            return self.drop(mark)
        if kind == "answer":
            self.log.note("missing-closer", mark.start)
            return self.turn(mark, "content")
        if kind == "stop":
            return self.stop(mark) if self.text.stop_counts(mark) else self.ignore(mark)
        is_stray = kind == "name_end" and self.row.control and self.tools != [] and self.code != "example"
        if is_stray and not self.mentions:
            return self.drop_here(mark.start, mark.stop)
        if kind not in (*SECTION, *CALL) or self.tools == []:
            return self.ignore(mark, "call-without-tools" if self.tools == [] and kind != "turn" else "stray-control")
        return self.closer(mark) if kind.endswith("close") else self.opener(mark)

    def at_line_start(self, i: int) -> bool:
        if i == self.marked:
            return True
        while i in self.dropped:
            i = self.dropped[i]
        before = self.text.before(i)
        return before < 0 or self.text.s[before] == "\n"

    def begins_line(self, i: int) -> bool:
        """Do only spaces and tabs come before `i` in its line?"""
        while not self.at_line_start(i):
            if i in self.dropped:
                i = self.dropped[i]
            elif self.text.s[i - 1] in " \t":
                i -= 1
            else:
                return False
        return True

    def think(self, mark: Marker) -> int:
        if not self.text.is_id(mark) and self.only_mentions(mark):
            return self.byte(mark.start)
        after = "reasoning" if mark.kind == "think_open" else "content"
        if after == self.region:
            self.log.note("repeated-opener" if after == "reasoning" else "stray-closer", mark.start)
        return self.turn(mark, after)

    def turn(self, mark: Marker, after: str) -> int:
        """After the marker comes reasoning, or content."""
        self.think_mentions = self.fence = self.ticks = 0
        self.code = ""
        self.act(mark.start, mark.stop)
        if self.trim and self.region != after:
            self.parted = dict.fromkeys(self.spoken, mark.start)
            self.splits = False
        self.region = after
        self.thinks = self.thinks or after == "reasoning"
        self.blank = self.lacks and after == "content"
        self.labelled = mark.stop
        return mark.stop

    def only_mentions(self, mark: Marker) -> bool:
        """Does the text only mention the marker of thoughts?"""
        is_shown = self.fence or self.region == "content"
        if mark.kind == "think_open":
            if self.opens_thoughts(mark):
                return False
            self.think_mentions = min(self.think_mentions + bool(is_shown), 255)
            return True
        if self.think_mentions and is_shown:
            self.think_mentions -= 1
            return True
        if self.region == "content" and self.text.s[mark.start] in ascii_letters and "content" in self.spoken:
            return True
        if self.region == "reasoning" or self.row.mention == "think" or self.text.is_rare(mark):
            return False
        if self.begins_line(mark.start):
            return False
        return self.text.ends_code(mark.stop, mark.start)

    def thought_tag(self, i: int) -> int:
        """Reads a tag that is named after thoughts, in thoughts; 0: there is none."""
        has_tags = any(form.startswith("</") for form in self.text.kinds.get("think_close", ()))
        has_ids = any(form >= chr(CONTROL) for form in self.text.kinds.get("think_close", ()))
        tag = self.text.thought_tag(i) if has_tags and not has_ids else None
        if tag is None:
            return 0
        stop, closes = tag
        if not closes:
            self.think_mentions = min(self.think_mentions + 1, 255)
        elif self.think_mentions:
            self.think_mentions -= 1
        elif not self.fence and not self.is_quoted_tag(i, stop):
            self.log.note("misspelt-closer", i)
            return self.turn(Marker("think_close", i, stop), "content")
        return self.byte(i)

    def is_quoted_tag(self, i: int, stop: int) -> bool:
        if self.row.mention == "think" or self.begins_line(i):
            return False
        limit = self.text.limit(i)
        if self.text.s[stop : stop + 1] == "`" and stop < limit:
            return self.text.ends_code(stop, i)
        return self.text.is_quote(stop, limit)

    def opens_thoughts(self, mark: Marker) -> bool:
        """Not if the text only mentions the opener. In thoughts, an opener that counts is dropped."""
        if self.row.mention == "think" or self.text.is_rare(mark):
            return True
        if self.fence or self.begins_line(mark.start):
            return not self.fence
        if self.region == "reasoning":
            return not self.text.ends_code(mark.stop, mark.start)
        limit = self.text.limit(mark.start)
        if self.text.is_quote(mark.stop, limit):
            return False
        try:
            for i in range(mark.stop, limit):
                found = self.text.at(i, limit, "think_close", "stop")
                if found and found.kind == "think_close":
                    return not self.text.is_quote(found.stop, limit)
                if found and self.text.stop_counts(found):
                    return False
        except More:
            pass
        return False

    def end_newlines(self, i: int) -> None:
        """The turn ends at `i`. A newline run before a dropped marker is dropped with it."""
        if self.trim and i == self.marked == self.pending[1]:
            self.log.trim(self.region, self.pending[0])

    def stop(self, mark: Marker) -> int:
        self.over = True
        self.end_newlines(mark.start)
        start, stop = self.text.starts[mark.start], self.text.stops[mark.stop - 1]
        self.log.put_event("MessageEnd", *MESSAGE, start, stop)
        return mark.stop

    def closer(self, mark: Marker) -> int:
        if mark.kind == "call_close" and self.row.bare == "no" and self.row.section:
            return self.ignore(mark)
        if self.mentions and not self.text.is_id(mark):
            self.mentions -= 1
            return self.byte(mark.start)
        if not self.text.is_id(mark) and not self.text.is_rare(mark) and self.is_in_sentence(mark):
            return self.byte(mark.start)
        self.log.note("stray-closer", mark.start)
        return self.act(mark.start, mark.stop)

    def is_in_sentence(self, mark: Marker) -> bool:
        """Does the text only mention the closer of a call or section?"""
        if self.fence:
            return True
        return not self.begins_line(mark.start) and self.text.goes_on(mark.stop, self.text.limit(mark.start))

    def opener(self, mark: Marker) -> int:
        if mark.start in self.text.named and mark.kind == "call_open" and self.row.bare == "no" and self.row.section:
            return self.byte(mark.start)
        header = self.header(mark.start, in_section=False)
        is_apart = self.text.is_id(mark) or (
            self.code not in ("code", "example") and (self.begins_line(mark.start) or self.text.is_rare(mark))
        )
        if header.hollow and not is_apart:
            header.verdict, header.stop = "fails", mark.start
        if (
            self.row.fenced == "text"
            and header.verdict in ("stands", "void")
            and self.code in ("info", "blank")
            and not self.text.is_id(mark)
        ):
            self.code = "example"
            self.log.note("fenced-call", mark.start)
            return self.byte(mark.start)
        if header.verdict == "open":
            is_cut = self.finish is not None and self.finish not in NORMAL_STOPS
            if (is_apart or is_cut) and self.has_openers_only(mark.start):
                return self.take(mark.start, header)
            self.log.note("unfinished-header", mark.start)
            header.stop = self.size if self.text.ends[-1] - self.text.ends[mark.start] > NEAR else mark.start
        if header.verdict in ("fails", "open"):
            is_alone = self.lacks and not self.code and self.begins_line(mark.start)
            is_far = header.stop > mark.start  # then the opener is text, too
            if self.text.is_id(mark) or (not is_far and (is_alone or self.far_call(mark))):
                self.log.note("stray-control", mark.start)
                return self.act(mark.start, mark.stop)
            is_bare = mark.kind == "call_open" and self.row.bare == "no" and self.row.section
            self.mentions += not is_bare
            return self.plain(mark.start, header.stop)
        return self.take(mark.start, header)

    def has_openers_only(self, i: int) -> bool:
        """Is there nothing but openers and ws up to the end?"""
        try:
            while i < self.size:
                mark = self.text.at(i, self.size, "section_open", "call_open")
                if not mark:
                    return False
                i = self.text.skip(mark.stop, self.size)
        except More:
            return False
        return True

    def far_call(self, mark: Marker) -> bool:
        """Does a call come after some words, where the section's opener should be a control token?"""
        if not self.row.control or not self.row.call or mark.kind != "section_open":
            return False
        limit = self.text.limit(mark.start)
        try:
            for i in range(mark.stop, limit):
                found = self.text.at(i, limit, *SECTION, *CALL, "stop")
                if found:
                    return found.kind == "call_open" and self.header(i, in_section=False).verdict == "stands"
        except More:
            pass
        return False

    # -- calls --------------------------------------------------------------------------------------------------------

    def header(self, i: int, in_section: bool) -> Header:
        return self.reader().read(i, in_section)

    def reader(self) -> HeaderReader:
        return HeaderReader(self.text, self.tools, self.max_hold, self.begins_line)

    def take(self, i: int, header: Header) -> int:
        """A header at `i` that did not fail."""
        region, keeps = self.region, header.verdict == "stands" and self.code in ("info", "blank")
        self.act(i, header.stop, keeps=keeps)
        if header.verdict == "open":
            self.log.note("unfinished-header", i)
            return self.size
        if header.verdict == "void":
            self.log.note("abandoned-header", i)
            return header.stop
        ended = keeps and self.log.ends_in_newline(region)
        self.begin(i, header)
        if ended:
            self.parted.pop(region, None)
        if header.body == "python":
            return self.listed(header)
        if header.body == "wrapped":
            return self.wrapped(header.stop, header)
        if header.body == "empty":
            self.end_call(header.stop, True)
            after = header.stop
        else:
            read = {"pairs": self.pairs, "elements": self.elements}.get(header.body)
            after = read(header.stop, header) if read else self.raw(header.stop)
        self.marked = after
        return self.section(after) if header.in_section else after

    def begin(self, i: int, header: Header) -> None:
        self.mentions = 0
        self.blank = self.splits = False
        if self.trim:
            self.parted = dict.fromkeys(self.spoken, i)
        self.code, self.at_start = self.code and "code", True
        self.written, self.unread = "", False
        self.named, self.holder, self.name_is_open = header.named, header.holder, header.name_is_open
        if self.row.name_as != "id" or header.body == "wrapped":
            self.reader().find_name(header, header.name)
        self.tool = header.name
        for code in [*header.notes, *["call-in-reasoning"] * (self.region == "reasoning")]:
            self.log.note(code, i)
        stop = self.text.stops[header.stop - 1] if header.stop > i else self.log.start(i)
        if self.row.after_call == "content":
            self.region = "content"
        self.log.put_event("ToolCallStart", self.index, header.name, header.id, header.kind, self.log.start(i), stop)

    def section(self, i: int) -> int:
        """After a call in a section: where text goes on."""
        text = self.text
        while True:
            q = text.skip(i, self.size)
            self.marked = i
            if q - i > NEAR:
                return i
            if q == i and q < self.size and (text.s[q] == INERT or text.is_a(q, "turn")):
                self.log.note("stray-control", q)
                i = q + 1
                continue
            try:
                mark = text.at(q, self.size, *SECTION, *CALL, "stop") or text.misspelt_close(q)
            except More:
                return self.size
            if mark is None:
                return i
            if mark.misspelt:
                self.log.note("misspelt-closer", q)
            if mark.misspelt and mark.kind == "call_close":
                i = mark.stop
                continue
            if mark.kind == "stop":
                return q if text.stop_counts(mark) else i
            if mark.kind == "section_close":
                self.marked = mark.stop
                return mark.stop
            if mark.kind == "call_close":
                self.log.note("stray-closer", q)
                i = mark.stop
                continue
            header = self.header(q, in_section=True)
            if header.verdict == "fails" or (header.verdict == "open" and not self.has_openers_only(q)):
                return i
            if header.verdict != "void":
                return self.take(q, header)
            self.log.note("abandoned-header", q)
            i = header.stop


def interpret_tags(
    row: Format,
    items: Sequence[Item],
    *,
    controls: frozenset[str] = frozenset(),
    tools: Sequence[str] | None = None,
    types: Mapping[str, Mapping[str, frozenset[str]]] | None = None,
    inside: Mapping[str, Mapping[tuple[str, ...], frozenset[str]]] | None = None,
    start: str = "auto",
    trim: str = "seams",
    finish: str | None = None,
    empty_args: str = "{}",
    max_hold: int = MAX_HOLD,
) -> TagResult:
    """Run a whole stream. `controls`: the spellings that are control markers in it; items of kind "control" are these.

    `types` are the JSON types of each tool's parameters, as far as they are declared; `inside`, by paths, those of what
    is inside of them.
    """
    text = Text(row, items, controls)
    machine = Machine(
        text, tools, start, trim, types=types or {}, finish=finish, empty_args=empty_args, max_hold=max_hold
    )
    machine.levels = inside or {}
    machine.run()
    at = dict(zip(text.starts, machine.log.regions))  # the last byte of a token decides
    regions = [at[item.start] for item in items]
    usage = dict.fromkeys(REGIONS, 0)
    for item, region in zip(items, regions):
        usage[region] += item.stop - item.start
    return TagResult(machine.log.events(), machine.log.deviations, regions, usage)
