"""The strings of written calls, and what may come anywhere in these: section 5 of docs/tags.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from reference_names import names_tool
from reference_tags_bodies import Bodies
from reference_tags_header import Fails, Header, HeaderReader
from reference_tags_keys import key_at, written
from reference_tags_text import CALL, NEAR, WS, Marker, More, lacks_closer, latin
from reference_tags_values import quote

PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
OCTAL = re.compile(r"\\([0-7]{1,3})")
SIMPLE = dict(zip("\\'\"abfnrtv\n", "\\'\"\a\b\f\n\r\t\v")) | {"\n": ""}
CLOSES = {"[": "]", "{": "}", "(": ")", "set": "}", "spread": "}"}
OWN = ""  # the quotes of the row's own


class Ended(Exception):  # noqa: N818 - no error
    """The call ends at `i`, at a marker or with the stream; up to `lands` its bytes are arguments."""

    def __init__(self, i: int, mark: Marker | None, lands: int | None = None, lost: bool = False):
        self.i, self.mark, self.lands, self.lost = i, mark, i if lands is None else lands, lost


class Strings(Bodies):
    """`open` has the brackets that are open, each with the number of its items."""

    open: list[tuple[str, int]]
    expects = ""  # "argument", "value", "item", "key", "colon", "after", "string", "expression" or "noise"
    key_string = False
    in_array = False  # the call is one of an array
    in_section = False
    keys_follow = False  # after the open argument come only arguments with keys
    tools: Sequence[str] | None = None
    quotes = ""
    is_raw = False
    has_opener = False  # a string of the call has the opener of a section
    arguments_so_far = 0
    called = ""  # the name of the open call
    vague = False  # the call has a part whose end only its closer shows
    after_bracket = False  # the last value ended with a bracket
    has_quotes = False  # the string has had a quote of its own as text
    run: list[int]  # bytes of the string that are not yet written

    @property
    def bare_keys(self) -> bool:
        return self.row.body == "object"

    @property
    def closers(self) -> str:
        return "]}" if self.bare_keys else "]})"

    @property
    def openers(self) -> str:
        return "[{" if self.bare_keys else "[{("

    def ends_call(self, c: str) -> bool:
        return c == written(self.row)[1]

    def own_quote(self, i: int) -> Marker | None:
        return self.text.at(i, self.size, "quote")

    # -- what may come anywhere ----------------------------------------------------------------------------------------

    def peek(self, i: int, in_string: bool = False) -> int:
        """The next byte from `i`; ids that mean nothing are dropped. Raises `Ended` at what ends the call."""
        while i < self.size:
            try:
                mark = self.end_at(i, in_string)
                quote = None if mark else self.own_quote(i)
            except More:
                break  # half a marker
            if mark:
                raise Ended(i, mark)
            if self.text.is_byte(i) or quote:
                return i
            self.drop_control(i)
            i += 1
        raise Ended(self.size, None, i)

    def end_at(self, i: int, in_string: bool = False) -> Marker | None:
        """The marker at `i` that ends the call though its bracket is missing."""
        openers = () if in_string else ("section_open",)
        mark = self.text.at(i, self.size, "section_close", "stop", *openers)
        if mark and mark.kind == "stop":
            return mark if self.text.stop_counts(mark) else None
        if mark and in_string:
            counts = self.text.counts(mark, "section_open", *CALL[:1], "stop")
            return mark if counts or self.is_string_lost(mark) else None
        return mark

    def note_opener(self, i: int) -> None:
        """A string that quotes a call quotes its closer, too."""
        with suppress(More):
            opener = self.text.at(i, self.size, "section_open", "section_close")
            self.has_opener |= opener is not None and opener.kind == "section_open"

    def is_string_lost(self, closer: Marker) -> bool:
        """In a string, at the section's closer: is the string's end missing?"""
        return not self.has_opener and self.is_lost_from(closer.start, closer.stop, True)

    def is_line_lost(self, i: int, start: int) -> bool:
        """In a string that begins at `start`: does the newline at `i` follow an array of calls?"""
        if not self.in_array or self.has_opener or (self.in_section and not lacks_closer(self.row)):
            return False
        return self.text.s[start:i].rstrip(WS).endswith("]") and self.is_lost_from(i, i, False)

    def is_lost_from(self, i: int, after: int, in_line: bool) -> bool:
        """At `i`, where the call could end, is the string's end missing? `after`: from where that shows. Not
        `in_line`: at a newline, after which another array of calls shows it, too."""
        text, limit = self.text, self.text.limit(i)
        try:
            goes_on, marker = self.look_on(after, limit, "stop", "section_open", lines=not in_line)
        except Fails:
            return True
        if goes_on or marker:
            return not goes_on
        return in_line if text.ends[limit] - text.ends[i] == NEAR or limit < self.size else not self.is_cut

    def look_on(self, x: int, limit: int, *kinds: str, lines: bool = False) -> tuple[bool, Marker | None]:
        """In the open string, from `x` on, up to one of these markers: does what closes the string come, and after it
        what may follow a string? And the marker. `lines`: raises Fails if a line before that begins with an array of
        calls."""
        text, goes_on = self.text, False
        with suppress(More):
            while x < limit:
                if lines and not goes_on and text.s[x] == "\n" and self.is_array(x + 1, limit):
                    raise Fails
                mark = text.at(x, limit, *kinds)
                if mark and (mark.kind != "stop" or text.stop_counts(mark)):
                    return goes_on, mark
                if stop := self.quotes_end(x, limit):
                    after = text.skip(stop, limit)
                    if after == limit:
                        break
                    goes_on |= text.s[after] in ",:" + self.closers
                    x = stop
                else:
                    x += 2 if self.quotes != OWN and text.s[x] == "\\" else 1
        return goes_on, None

    def call_is_left(self, x: int, origin: int, limit: int, in_line: bool) -> bool:
        """After a string, and what closes the call: is what comes prose, rather than a part of the string?"""
        goes_on, mark = self.look_on(x, limit, "stop", "section_open", "section_close")
        if mark:
            return not goes_on or not (in_line or mark.kind == "section_close")
        if self.text.ends[limit] - self.text.ends[origin] == NEAR or limit < self.size:
            return not goes_on and not in_line
        return not in_line or not (goes_on or self.is_cut)

    def quotes_end(self, x: int, limit: int) -> int:
        """After what closes the open string at `x`; 0: nothing does."""
        if self.quotes == OWN:
            own = self.text.at(x, limit, "quote")
            return own.stop if own else 0
        found = self.text.s[x : min(limit, x + len(self.quotes))]
        if len(found) < len(self.quotes) and self.quotes.startswith(found):
            raise More(limit)
        return x + len(self.quotes) if found == self.quotes else 0

    def ends_at_limit(self, i: int, limit: int) -> bool:
        """Does a marker at `i` end the call, or the stream end there?"""
        if i == limit:
            return limit == self.size
        try:
            return self.end_at(i) is not None
        except More:
            return True

    # -- strings -------------------------------------------------------------------------------------------------------

    def begin_item(self, i: int) -> None:
        if self.expects in ("item", "key"):
            bracket, items = self.open.pop()
            if bracket == "spread":
                self.write(", " if self.arguments_so_far else "{", i)
                self.arguments_so_far += 1
            elif items:
                self.write(", ", i)
            self.open.append((bracket, items + 1))

    def is_argument(self, x: int, limit: int, declared: bool = False) -> bool:
        """A key without quotes at `x`, where no argument is expected? `declared`: of a parameter that the tool has."""
        if x >= limit or not re.match(r"[A-Za-z_\x80-\xff]", self.text.s[x]) or not self.text.is_byte(x):
            return False
        try:
            found = key_at(self.text, x, limit)
        except More:
            return False
        names = [latin(name) for name in self.types.get(self.called, ())]
        return found is not None and (found[0] in names or not (declared or (names and self.bare_keys)))

    def close_string(self, i: int) -> None:
        self.after_bracket = False
        self.write('"', i)
        self.expects = "colon" if self.key_string else "after"

    def put(self, run: Sequence[int]) -> None:
        if run:
            self.write(quote(self.log.decode(run))[1:-1], run[0], run[-1])

    def string(self, i: int, start: int, prefix: str, quotes: str, is_key: bool) -> int:
        """From the quotes that end at `start` on: where the string ends."""
        if prefix not in ("", "r") or quotes.startswith("`"):
            self.log.note("call-syntax", i)
        self.begin_item(i)
        self.write('"', i)
        self.expects, self.key_string, self.run = "string", is_key, []
        self.quotes, self.is_raw, self.has_quotes = quotes, "r" in prefix, False
        i, closed = start, False
        try:
            while not closed:
                i = self.peek(i, in_string=True)
                self.note_opener(i)
                own = self.own_quote(i)
                if self.text.s[i] == "\n" and self.is_line_lost(i, start):
                    raise Ended(i, None, lost=True)
                if own:
                    stop, closed = self.at_own_quote(i, own)
                elif self.quotes != OWN and self.text.s[i] == "\\":
                    stop = self.at_backslash(i)
                elif self.quotes != OWN and self.text.s[i] == self.quotes[0]:
                    stop, closed = self.at_quote(i)
                else:
                    self.run.append(i)
                    stop = i + 1
                i = i if closed else stop
        finally:
            self.flush()
        self.close_string(i)
        return stop

    def flush(self) -> None:
        self.put(self.run)
        self.run = []

    def at_own_quote(self, i: int, own: Marker) -> tuple[int, bool]:
        """Where the string goes on, or that it ends here, and where what follows begins."""
        if self.quotes == OWN and self.closes_string(i, own.stop)[0] == "closed":
            return own.stop, True
        if self.text.is_control(own):
            self.log.note("ignored-text", i)
            self.flush()
            return own.stop, False
        stop = own.stop
        if self.quotes == OWN:
            self.log.note("call-syntax", i)
            stop = i + 1
        self.run += range(i, stop)
        return stop, False

    def at_backslash(self, i: int) -> int:
        size, char = (0, "") if self.is_raw else self.escape(i)
        if size:
            self.flush()
            self.write(quote(char)[1:-1], i, i + size - 1)
            return i + size
        size = 1 + (self.is_raw and self.text.s.startswith((self.quotes[0], "\\"), i + 1))
        self.run += range(i, i + size)
        return i + size

    def at_quote(self, i: int) -> tuple[int, bool]:
        """As `at_own_quote`."""
        how, stop, more = self.closes_string(i, i + len(self.quotes))
        if how == "text":
            if len(self.quotes) == 1:
                self.log.note("call-syntax", i)
            self.has_quotes = True
            self.run.append(i)
        elif how == "adjacent":
            self.flush()
            self.quotes, self.is_raw = more, False
        return stop, how == "closed"

    def closes_string(self, i: int, stop: int) -> tuple[str, int, str]:
        """What the quote at `i` is: "closed", "text", or "adjacent" to another string with these quotes."""
        s, limit, quotes = self.text.s, self.text.limit(i), self.quotes
        if not s.startswith(quotes, i):
            return "text", i + 1, ""
        x = self.text.skip(stop, limit)
        if x < limit:
            brackets = [bracket for bracket, _ in self.open]
            closers = [CLOSES[bracket] for bracket in brackets if bracket != "("]
            if s[x] == ":" and self.key_string:
                return "closed", stop, ""
            if s[x] in (",", written(self.row)[1], *closers):
                ends = quotes == OWN or self.goes_on(i, x, limit)
                return ("closed", stop, "") if ends else ("text", i + 1, "")
            if s[x] == "]" and self.in_array:
                x = self.text.skip(x + 1, limit)
            elif quotes != OWN and s[x] in "\"'" and x > stop and self.is_apart(s[stop:x], s[x]):
                more = s[x] * (3 if s.startswith(s[x] * 3, x) else 1)
                return "adjacent", x + len(more), more
        return ("closed", stop, "") if self.ends_at_limit(x, limit) else ("text", i + 1, "")

    def is_apart(self, between: str, quote: str) -> bool:
        """May a quote after ws go on with the string, rather than be part of it?"""
        return "\n" in between or (quote != self.quotes[0] and not self.has_quotes)

    def goes_on(self, i: int, x: int, limit: int) -> bool:
        """The quote is at `i`, and at `x` what may follow a string. Does what comes after it show that the string is
        over?"""
        text, s = self.text, self.text.s
        closes = written(self.row)[1]
        if s[x] == closes and not self.open:
            return self.call_is_over(i, x + 1, limit)
        y = text.skip(x + 1, limit)
        if y == limit:
            return limit == self.size
        c = s[y]
        if s[x] != ",":
            return c in "," + self.closers + ":" * (len(self.open) > 1) or self.ends_at_limit(y, limit)
        if not text.is_byte(y):
            return self.ends_at_limit(y, limit)
        if not self.open and c == closes:
            return self.call_is_over(i, y + 1, limit)
        try:
            if not self.open and self.keys_follow:
                if c == "*":
                    return True
                wordy = re.match(r"[0-9A-Za-z_.\x80-\xff]", c) is not None
                return (wordy or (self.bare_keys and c != "-")) and key_at(text, y, limit) is not None
            if self.open and self.open[-1][0] in ("{", "spread") and not self.bare_keys and c != "}":
                return self.is_key(y, limit) if c in "\"'" else self.is_argument(y, limit, declared=True)
        except More:
            return limit == self.size
        return True

    def is_key(self, i: int, limit: int) -> bool:
        """Quotes, and a colon after them? A backslash and what follows it are not looked at."""
        s = self.text.s
        x = i + 1
        while x < limit and s[x] != s[i] and self.text.is_byte(x):
            x += 2 if s[x] == "\\" else 1
        x = self.text.skip(x + 1, limit)
        if x >= limit:
            raise More(limit)
        return s[x] == ":"

    def call_is_over(self, origin: int, i: int, limit: int) -> bool:
        """After what closes a call, behind a string whose quote is at `origin`."""
        text, s = self.text, self.text.s
        array_over = False
        x = text.skip(i, limit)
        while x < limit and s[x] in self.closers + self.row.between + "," * self.in_array:
            array_over = array_over or (s[x] == "]" and self.in_array)
            i = x + 1
            x = text.skip(i, limit)
        if x == limit:
            return limit == self.size
        in_line = (self.in_array and not array_over) or "\n" not in s[i:x]
        if not in_line and lacks_closer(self.row):
            return True
        if in_line and not array_over:
            after = x if s[i - 1] == "," else text.skip(x + 1, limit) if s[x] == "," else limit
            if self.is_argument(after, limit, declared=True):
                return True
        if self.ends_at_limit(x, limit):
            return True
        if not text.is_byte(x):
            return not in_line
        try:
            if self.is_array(x, limit):
                return True
        except More:
            return limit == self.size
        return (not array_over and self.is_call(x, limit)) or self.call_is_left(x, origin, limit, in_line)

    def is_array(self, x: int, limit: int) -> bool:
        """An array of calls at `x`, after ws? Nothing else says so."""
        x = self.text.skip(x, limit)
        if x == limit:
            raise More(limit)
        if self.text.s[x] != "[":
            return False
        try:
            HeaderReader(self.text, self.tools, self.max_hold, -1).in_python(x, limit, Header(), alone=True)
        except Fails:
            return False
        return True

    def is_call(self, x: int, limit: int) -> bool:
        """Another call, at `x`?"""
        reader, header = HeaderReader(self.text, self.tools, self.max_hold, -1), Header()
        try:
            reader.in_python(x, limit, header, alone=not self.in_array)
        except Fails:
            return False
        except More:
            return limit == self.size
        name = header.name.encode().decode("latin-1")
        if not self.in_array or names_tool(name, [latin(tool) for tool in self.tools or ()]):
            return True
        first = self.text.skip(header.stop, limit)
        if first == limit:
            return limit == self.size
        try:
            return self.text.s[first] == written(self.row)[1] or key_at(self.text, first, limit) is not None
        except More:
            return limit == self.size

    def escape(self, i: int) -> tuple[int, str]:
        """The length of the escape at `i`, and its character; 0: the backslash is text."""
        s = self.text.s
        if s[i + 1 : i + 2] in SIMPLE:
            return 2, SIMPLE[s[i + 1]]
        if found := OCTAL.match(s, i):
            return len(found[0]), chr(int(found[1], 8))
        if found := PAIR.match(s, i):
            halves = [int(half, 16) for half in found.groups()]
            return len(found[0]), chr(0x10000 + ((halves[0] - 0xD800) << 10) + halves[1] - 0xDC00)
        if found := CODE.match(s, i):
            code = int(found[1] or found[2] or found[3], 16)
            if code <= 0x10FFFF:
                return len(found[0]), "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)
        return 0, ""
