"""The strings of written calls, and what may come anywhere in these: section 5 of docs/tags.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reference_tags_bodies import Bodies
from reference_tags_keys import written
from reference_tags_text import CALL, Marker, More
from reference_tags_values import quote

PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
OCTAL = re.compile(r"\\([0-7]{1,3})")
SIMPLE = dict(zip("\\'\"abfnrtv\n", "\\'\"\a\b\f\n\r\t\v")) | {"\n": ""}
CLOSES = {"[": "]", "{": "}", "(": ")"}
OWN = ""  # the quotes of the row's own


class Ended(Exception):  # noqa: N818 - no error
    """The call ends at `i`, at a marker or with the stream; up to `lands` its bytes are arguments."""

    def __init__(self, i: int, mark: Marker | None, lands: int | None = None):
        self.i, self.mark, self.lands = i, mark, i if lands is None else lands


class Strings(Bodies):
    """`open` has the brackets that are open, each with the number of its items."""

    open: list[tuple[str, int]]
    expects = ""  # "argument", "value", "item", "key", "colon", "after", "string", "expression" or "noise"
    key_string = False
    in_array = False  # the call is one of an array
    quotes = ""
    is_raw = False
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
            return mark if self.text.counts(mark, "section_open", *CALL[:1], "stop") else None
        return mark

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
            if items:
                self.write(", ", i)
            self.open.append((bracket, items + 1))

    def close_string(self, i: int) -> None:
        self.write('"', i)
        self.expects = "colon" if self.key_string else "after"

    def put(self, run: Sequence[int]) -> None:
        if run:
            self.write(quote(self.log.decode(run))[1:-1], run[0], run[-1])

    def string(self, i: int, start: int, prefix: str, quotes: str, is_key: bool) -> int:
        """From the quotes that end at `start` on: where the string ends."""
        if prefix not in ("", "r"):
            self.log.note("call-syntax", i)
        self.begin_item(i)
        self.write('"', i)
        self.expects, self.key_string, self.run = "string", is_key, []
        self.quotes, self.is_raw = quotes, "r" in prefix
        i, closed = start, False
        try:
            while not closed:
                i = self.peek(i, in_string=True)
                own = self.own_quote(i)
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
            if s[x] in (",", written(self.row)[1], *closers, *[":"] * self.key_string):
                return "closed", stop, ""
            if s[x] == "]" and self.in_array:
                x = self.text.skip(x + 1, limit)
            elif quotes != OWN and s[x] in "\"'" and x > stop:
                more = s[x] * (3 if s.startswith(s[x] * 3, x) else 1)
                return "adjacent", x + len(more), more
        return ("closed", stop, "") if self.ends_at_limit(x, limit) else ("text", i + 1, "")

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
