"""Written calls, such as f(k=1) and f{k:1}: section 5 of docs/tags.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reference_tags_bodies import NORMAL_STOPS, Bodies
from reference_tags_header import LONGEST, Header, key_at, written
from reference_tags_text import CALL, WS, Marker, More
from reference_tags_values import quote

BARE = re.compile(r"[0-9A-Za-z_.+\-\x80-\xff]+")
STRING = re.compile(r"([rbufRBUF]{0,2})(\"\"\"|'''|\"|')")
PREFIX = re.compile(r"[rbufRBUF]{0,2}")
WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
DIGITS = r"[0-9](?:_?[0-9])*"
NUMBER = re.compile(rf"([+-]?)(0|[1-9](?:_?[0-9])*)?(?:(\.)({DIGITS})?)?(?:[eE]([+-]?{DIGITS}))?")
BASED = re.compile(r"([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+)")
PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
OCTAL = re.compile(r"\\([0-7]{1,3})")
SIMPLE = dict(zip("\\'\"abfnrtv\n", "\\'\"\a\b\f\n\r\t\v")) | {"\n": ""}
CLOSES = {"[": "]", "{": "}", "(": ")"}
OWN = ""  # the quotes of the row's own
DEEPEST = 31
LONGEST_BARE = 256


class Ended(Exception):  # noqa: N818 - no error
    """The call ends at `i`, at a marker or with the stream; up to `lands` its bytes are arguments."""

    def __init__(self, i: int, mark: Marker | None, lands: int | None = None):
        self.i, self.mark, self.lands = i, mark, i if lands is None else lands


def number(text: str) -> str:
    """The JSON number that Python reads in a text; empty: it reads none."""
    if found := BASED.fullmatch(text):
        value = int(found[2].replace("_", ""), 0)
        return f"{found[1].strip('+')}{value}" if value < 1 << 64 else ""
    found = NUMBER.fullmatch(text)
    if not found or (found[2] is None and found[4] is None):
        return ""
    whole = found[1].strip("+") + (found[2] or "0").replace("_", "")
    fraction = "." + (found[4] or "0").replace("_", "") if found[3] else ""
    return whole + fraction + ("e" + found[5].replace("_", "") if found[5] else "")


class PythonCalls(Bodies):
    """Reads the arguments of one call. `open` has the brackets that are open, each with the number of its items."""

    open: list[tuple[str, int]]
    expects = ""  # "argument", "value", "item", "key", "colon", "after", "string", "expression" or "noise"
    arguments_so_far = 0
    key_string = False

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

    def python(self, b: int, header: Header) -> int:
        """From behind the call's bracket to where the call ends."""
        self.open, self.expects, self.arguments_so_far = [], "argument", 0
        i = b
        try:
            while True:
                i = self.peek(i)
                c = self.text.s[i]
                if c in WS:
                    i += 1
                elif self.ends_call(c) and not self.open and self.expects in ("argument", "after"):
                    break
                else:
                    i = getattr(self, f"at_{self.expects}")(i, c, header)
        except Ended as end:
            self.lands(b, end.lands)
            return self.cut(end)
        self.lands(b, i + 1)
        self.finish_arguments(i)
        self.end_call(i, True)
        return i + 1

    def lands(self, start: int, stop: int) -> None:
        """The row's own quotes are part of the arguments, as Python's are."""
        self.log.spoken |= {i for i in range(start, stop) if self.text.is_a(i, "quote")}
        self.log.lands(start, stop, "arguments")

    def between(self) -> bool:
        return self.expects == "argument" or (self.expects in ("after", "noise") and not self.open)

    def finish_arguments(self, i: int) -> None:
        if self.arguments_so_far:
            self.write("}", i)

    def cut(self, end: Ended) -> int:
        i, complete = end.i, self.between()
        if end.mark:
            self.log.note("missing-closer", i)
            complete = complete or end.mark.kind != "stop"
            if complete:
                self.close_all(i)
        else:
            i, complete = self.size, complete and self.finish in NORMAL_STOPS
        if complete:
            self.finish_arguments(i)
        self.end_call(i, complete)
        return i

    def close_all(self, i: int) -> None:
        if self.expects in ("string", "expression"):
            self.close_string(i)
        if self.expects in ("value", "colon"):
            self.log.note("missing-value", i)
            self.null(i)
        while self.open:
            self.pop(i)

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

    # -- arguments -----------------------------------------------------------------------------------------------------

    def at_argument(self, i: int, c: str, header: Header) -> int:
        text, limit = self.text, self.text.limit(i)
        if c == ",":
            self.log.note("ignored-text", i)
            return i + 1
        if c in self.closers:
            return self.closing(i, c)
        try:
            found = key_at(text, i, limit)
        except More:
            if limit == self.size:
                raise Ended(self.size, None) from None
            found = None
        if found:
            self.begin_argument(found[0], found[1] - 1)
            return found[1]
        self.log.note("call-syntax", i)
        names = sorted(self.types.get(header.name, ()))
        lone = len(names) == 1 and self.arguments_so_far == 0 and c != "{" and len(names[0].encode()) <= LONGEST
        self.begin_argument(names[0].encode().decode("latin-1") if lone else str(min(self.arguments_so_far, 255)), i)
        return i

    def begin_argument(self, key: str, i: int) -> None:
        name = key.encode("latin-1").decode("utf-8", "replace")
        self.write(f"{', ' if self.arguments_so_far else '{'}{quote(name)}: ", i)
        self.arguments_so_far += 1
        self.expects = "value"

    # -- values --------------------------------------------------------------------------------------------------------

    def at_value(self, i: int, c: str, header: Header) -> int:
        if c == "," or c in self.closers:
            self.log.note("missing-value", i)
            self.null(i)
            return i
        return self.item(i, c)

    def at_item(self, i: int, c: str, header: Header) -> int:
        if c == ",":
            self.log.note("ignored-text", i)
            return i + 1
        return self.closing(i, c) if c in self.closers else self.item(i, c)

    at_key = at_item

    def at_colon(self, i: int, c: str, header: Header) -> int:
        if c == ":":
            self.write(": ", i)
            self.expects = "value"
            return i + 1
        self.log.note("call-syntax", i)
        self.null(i)
        return i

    def at_after(self, i: int, c: str, header: Header) -> int:
        if c in self.closers:
            return self.closing(i, c)
        if c == ",":
            self.expects = {"": "argument", "{": "key"}.get(self.open[-1][0] if self.open else "", "item")
            return i + 1
        self.log.note("ignored-text", i)
        self.expects = "noise"
        i = self.expression(i)
        self.expects = "after"
        return i

    def null(self, i: int) -> None:
        self.write(": null" if self.expects == "colon" else "null", i)
        self.expects = "after"

    def closing(self, i: int, c: str) -> int:
        brackets = [bracket for bracket, _ in self.open]
        if brackets and CLOSES[brackets[-1]] == c:
            self.pop(i)
            return i + 1
        if self.ends_call(c) or c in [CLOSES[bracket] for bracket in brackets]:
            self.log.note("call-syntax", i)
            self.pop(i)
            return i
        self.log.note("ignored-text", i)
        return i + 1

    def pop(self, i: int) -> None:
        bracket, _ = self.open.pop()
        self.write("}" if bracket == "{" else "]", i)
        self.expects = "after"

    def begin_item(self, i: int) -> None:
        if self.expects in ("item", "key"):
            bracket, items = self.open.pop()
            if items:
                self.write(", ", i)
            self.open.append((bracket, items + 1))

    def item(self, i: int, c: str) -> int:
        is_key = self.expects == "key"
        if c in self.openers and not is_key and len(self.open) < DEEPEST:
            self.begin_item(i)
            self.write("{" if c == "{" else "[", i)
            self.open.append((c, 0))
            self.expects = "key" if c == "{" else "item"
            return i + 1
        if quote := self.own_quote(i):
            return self.string(i, quote.stop, "", OWN, is_key)
        prefix = PREFIX.match(self.text.s, i)
        if prefix and prefix.end() == self.size:
            raise Ended(self.size, None)
        if found := STRING.match(self.text.s, i):
            return self.string(i, found.end(), found[1].lower(), found[2], is_key)
        verbatim = is_key and self.bare_keys
        stop = i if verbatim else self.bare(i, is_key)
        plain = self.text.s[i:stop]
        if json := WORDS.get(plain) or number(plain):
            self.begin_item(i)
            self.write(f'"{json}"' if is_key else json, i, stop - 1)
            self.expects = "colon" if is_key else "after"
            return stop
        if not verbatim:
            self.log.note("call-syntax", i)
        self.begin_item(i)
        self.write('"', i)
        self.expects, self.key_string = "expression", is_key
        i = self.expression(i)
        self.close_string(i)
        return i

    def bare(self, i: int, is_key: bool) -> int:
        """Where the word or number at `i` ends, if it is all of a value; else `i`."""
        limit = self.text.limit(i)
        found = BARE.match(self.text.s, i, limit)
        if not found or found.end() - i > LONGEST_BARE:
            return i
        after = self.text.skip(found.end(), limit)
        if after == limit:
            if limit == self.size:
                raise Ended(self.size, None)
            return i
        if self.text.s[after] in "," + self.closers + ":" * is_key:
            return found.end()
        try:
            return found.end() if self.end_at(after) else i
        except More:
            raise Ended(self.size, None) from None

    def close_string(self, i: int) -> None:
        self.write('"', i)
        self.expects = "colon" if self.key_string else "after"

    def put(self, run: Sequence[int]) -> None:
        if run:
            self.write(quote(self.log.decode(run))[1:-1], run[0], run[-1])

    # -- what is no literal --------------------------------------------------------------------------------------------

    def expression(self, i: int) -> int:
        """Up to what ends it. Its text is written, unless it is noise."""
        is_noise, is_key = self.expects == "noise", self.expects == "expression" and self.key_string
        run: list[int] = []
        depth = 0
        try:
            while True:
                i = self.peek(i)
                c = self.text.s[i]
                if c in WS:
                    limit = self.text.limit(i)
                    stop = self.text.skip(i, limit)
                    enders = "," + self.closers + ":" * is_key
                    ends = stop < limit and not depth and self.text.s[stop] in enders
                    run += [] if ends or self.ends_at_limit(stop, limit) else range(i, stop)
                    i = stop
                    continue
                if quote := self.own_quote(i):
                    self.log.note("ignored-text", i)
                    self.put([] if is_noise else run)
                    run, i = [], quote.stop
                    continue
                if not depth and (c == "," or c in self.closers or (c == ":" and is_key)):
                    return i
                depth += (c in self.openers) - (c in self.closers and depth > 0)
                run.append(i)
                i += 1
        finally:
            self.put([] if is_noise else run)

    # -- strings -------------------------------------------------------------------------------------------------------

    def string(self, i: int, start: int, prefix: str, quotes: str, is_key: bool) -> int:
        if prefix not in ("", "r"):
            self.log.note("call-syntax", i)
        self.begin_item(i)
        self.write('"', i)
        self.expects, self.key_string = "string", is_key
        is_raw = "r" in prefix
        i = start
        run: list[int] = []
        try:
            while True:
                i = self.peek(i, in_string=True)
                own = self.own_quote(i)
                if own and quotes != OWN:
                    if self.text.is_control(own):
                        self.log.note("ignored-text", i)
                        self.put(run)
                        run = []
                    else:
                        run += range(i, own.stop)
                    i = own.stop
                elif own:
                    how, stop, _ = self.closes_string(i, own.stop, quotes, is_key)
                    if how == "closed":
                        break
                    if self.text.is_control(own):
                        self.log.note("ignored-text", i)
                        self.put(run)
                        run, i = [], own.stop
                    else:
                        self.log.note("call-syntax", i)
                        run.append(i)
                        i += 1
                elif quotes == OWN:
                    run.append(i)
                    i += 1
                elif self.text.s[i] == "\\":
                    size, char = (0, "") if is_raw else self.escape(i)
                    if not size:
                        size = 1 + (is_raw and self.text.s.startswith((quotes[0], "\\"), i + 1))
                        run += range(i, i + size)
                    else:
                        self.put(run)
                        run = []
                        self.write(quote(char)[1:-1], i, i + size - 1)
                    i += size
                elif self.text.s[i] == quotes[0]:
                    how, stop, more = self.closes_string(i, i + len(quotes), quotes, is_key)
                    if how == "closed":
                        break
                    if how == "text":
                        if len(quotes) == 1:
                            self.log.note("call-syntax", i)
                        run.append(i)
                    else:
                        self.put(run)
                        run, quotes, is_raw = [], more, False
                    i = stop
                else:
                    run.append(i)
                    i += 1
        finally:
            self.put(run)
        self.close_string(i)
        return stop

    def closes_string(self, i: int, stop: int, quotes: str, is_key: bool) -> tuple[str, int, str]:
        """What the quote at `i` is: "closed", "text", or "adjacent" to another string with these quotes."""
        s, limit = self.text.s, self.text.limit(i)
        if not s.startswith(quotes, i):
            return "text", i + 1, ""
        x = self.text.skip(stop, limit)
        if x < limit:
            brackets = [bracket for bracket, _ in self.open]
            closers = [CLOSES[bracket] for bracket in brackets if bracket != "("]
            if s[x] in (",", written(self.row)[1], *closers, *[":"] * is_key):
                return "closed", stop, ""
            if quotes != OWN and s[x] in "\"'" and x > stop:
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
