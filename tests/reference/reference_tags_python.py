"""Written calls, such as f(k=1) and f{k:1}: section 5 of docs/tags.md."""

from __future__ import annotations

import re

from reference_tags_bodies import NORMAL_STOPS
from reference_tags_header import Fails, Header, HeaderReader
from reference_tags_keys import key_at
from reference_tags_strings import CLOSES, OWN, Ended, Strings
from reference_tags_text import LONGEST, WS, More, lacks_closer, latin
from reference_tags_values import python_number, quote

BARE = re.compile(r"[0-9A-Za-z_.+\-\x80-\xff]+")
STRING = re.compile(r"([rbufRBUF]{0,2})(\"\"\"|'''|\"|')")
TICKS = re.compile(r"([rbufRBUF]{0,2})(```|`)")
PREFIX = re.compile(r"[rbufRBUF]{0,2}")
WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
CLOSING = ("argument", "after")
AFTER_COMMA = {"": "argument", "{": "key", "spread": "key"}
DEEPEST = 31
LONGEST_BARE = 256


class PythonCalls(Strings):
    """Reads the arguments of one call. `open` has the brackets that are open, each with the number of its items."""

    def python(self, b: int, header: Header) -> int:
        """From after the call's bracket to where the call ends."""
        self.open, self.expects, self.arguments_so_far, self.has_opener = [], "argument", 0, False
        self.called, self.vague, self.after_bracket, self.keys_follow = header.name, False, False, False
        i = b
        try:
            while True:
                i = self.peek(i)
                c = self.text.s[i]
                if c in WS:
                    i += 1
                elif self.ends_call(c) and not self.open and self.expects in CLOSING and self.is_over_at(i):
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
        self.unread |= self.vague
        if end.lost:
            self.log.note("missing-closer", i)
            complete = self.in_array = False
        elif end.mark:
            self.log.note("missing-closer", i)
            complete = self.expects != "string" and (complete or end.mark.kind != "stop")
            if complete:
                self.close_all(i)
        else:
            i, complete = self.size, complete and self.finish in NORMAL_STOPS and not self.unread
        if complete:
            self.finish_arguments(i)
        self.end_call(i, complete)
        return i

    def close_all(self, i: int) -> None:
        if self.expects == "expression":
            self.close_string(i)
        if self.expects in ("value", "colon"):
            self.log.note("missing-value", i)
            self.unread = True
            self.null(i)
        while self.open:
            self.pop(i)

    # -- arguments -----------------------------------------------------------------------------------------------------

    def at_argument(self, i: int, c: str, header: Header) -> int:
        text, limit = self.text, self.text.limit(i)
        if c == ",":
            self.log.note("ignored-text", i)
            return i + 1
        if c in self.closers:
            return self.closing(i, c)
        if c == self.openers[-1] and not self.arguments_so_far and self.is_argument(text.skip(i + 1, limit), limit):
            self.log.note("ignored-text", i)
            return i + 1
        if start := self.spread(i, c, header):
            self.open.append(("spread", 0))
            self.expects, self.keys_follow = "key", True
            return start
        try:
            found = key_at(text, i, limit)
        except More:
            if limit == self.size:
                self.unread = True
                raise Ended(self.size, None) from None
            found = None
        if found:
            self.begin_argument(found[0], found[1] - 1)
            self.keys_follow = True
            return found[1]
        self.log.note("call-syntax", i)
        names = sorted(self.types.get(header.name, ()))
        lone = len(names) == 1 and self.arguments_so_far == 0 and c != "{" and len(names[0].encode()) <= LONGEST
        self.unread |= (self.bare_keys or self.keys_follow) and not lone
        self.begin_argument(names[0].encode().decode("latin-1") if lone else str(min(self.arguments_so_far, 65535)), i)
        self.keys_follow = lone
        return i

    def begin_argument(self, key: str, i: int) -> None:
        name = key.encode("latin-1").decode("utf-8", "replace")
        self.write(f"{', ' if self.arguments_so_far else '{'}{quote(name)}: ", i)
        self.arguments_so_far += 1
        self.expects = "value"

    def spread(self, i: int, c: str, header: Header) -> int:
        """After the brace of an object whose members are arguments; 0: there is none."""
        s, limit = self.text.s, self.text.limit(i)
        if self.bare_keys:
            return 0
        if s.startswith("**", i, limit):
            brace = self.text.skip(i + 2, limit)
            return brace + 1 if brace < limit and s[brace] == "{" else 0
        first = self.first_item(i, limit) if c == "{" and not self.arguments_so_far else None
        if not first or s[first[1]] != ":" or first[0] not in [latin(name) for name in self.types.get(header.name, ())]:
            return 0
        self.log.note("wrapped-arguments", i)
        return i + 1

    def is_set(self, i: int) -> bool:
        """Is the brace at `i` that of a set?"""
        first = None if self.bare_keys or self.text.s[i] != "{" else self.first_item(i, self.text.limit(i))
        return first is not None and self.text.s[first[1]] in ",}"

    def first_item(self, i: int, limit: int) -> tuple[str, int] | None:
        """After the brace at `i`: a string, a number or a word, and where what follows it is."""
        s, x = self.text.s, self.text.skip(i + 1, limit)
        if x >= limit:
            return None
        if s[x] in "\"'":
            start = y = x + 1
            while y < limit and s[y] != s[x] and self.text.is_byte(y):
                y += 2 if s[y] == "\\" else 1
            if y >= limit or s[y] != s[x]:
                return None
            after = self.text.skip(y + 1, limit)
        else:
            found = BARE.match(s, x, limit)
            if not found:
                return None
            start, y = x, found.end()
            after = self.text.skip(y, limit)
        return (s[start:y], after) if after < limit else None

    # -- values --------------------------------------------------------------------------------------------------------

    def at_value(self, i: int, c: str, header: Header) -> int:
        if c == "," or c in self.closers:
            self.log.note("missing-value", i)
            self.unread = True
            self.null(i)
            return i
        return self.item(i, c)

    def at_item(self, i: int, c: str, header: Header) -> int:
        if c == ",":
            self.log.note("ignored-text", i)
            return i + 1
        if c in self.closers:
            return self.closing(i, c)
        return self.next_argument(i) if self.is_next_argument(i) else self.item(i, c)

    at_key = at_item

    def at_colon(self, i: int, c: str, header: Header) -> int:
        if c == ":":
            self.write(": ", i)
            self.expects = "value"
            return i + 1
        self.log.note("call-syntax", i)
        self.unread = True
        self.null(i)
        return i

    def at_after(self, i: int, c: str, header: Header) -> int:
        if c in self.closers:
            return self.closing(i, c)
        if c == ",":
            self.expects = AFTER_COMMA.get(self.open[-1][0] if self.open else "", "item")
            return i + 1
        if self.is_next_argument(i):
            return self.next_argument(i)
        self.log.note("ignored-text", i)
        self.unread = True
        self.expects = "noise"
        i = self.expression(i)
        self.expects = "after"
        return i

    def null(self, i: int) -> None:
        self.write(": null" if self.expects == "colon" else "null", i)
        self.expects, self.after_bracket = "after", False

    def closing(self, i: int, c: str) -> int:
        brackets = [bracket for bracket, _ in self.open]
        if brackets and CLOSES[brackets[-1]] == c:
            self.pop(i)
            return i + 1
        if c in [CLOSES[bracket] for bracket in brackets]:
            self.log.note("call-syntax", i)
            self.pop(i)
            return i
        on = self.call_on(i)
        self.log.note("call-syntax" if brackets else "ignored-text", i)
        lone = not (brackets or self.ends_call(c) or self.after_bracket)
        self.unread |= on in ("value", "text") or (on == "key" and lone)
        if brackets:
            self.pop(i)
        return i if self.ends_call(c) and on in ("", "text") else i + 1

    def is_over_at(self, i: int) -> bool:
        """At what closes the call, and no bracket is open."""
        on = self.call_on(i)
        if on == "text":
            self.log.note("call-syntax", i)
            self.unread = True
        return on in ("", "text")

    def is_next_argument(self, i: int) -> bool:
        if self.bare_keys and (self.expects != "item" or "{" in [bracket for bracket, _ in self.open]):
            return False
        return self.is_argument(i, self.text.limit(i), declared=self.bare_keys)

    def next_argument(self, i: int) -> int:
        """An argument where an item or a comma should be: what is open was not closed."""
        self.log.note("call-syntax", i)
        while self.open:
            self.pop(i)
        self.expects = "argument"
        return i

    def call_on(self, i: int) -> str:
        """After a closing bracket at `i` of no open bracket's kind: does the call go on with a "key" or a "value"? Or
        does "text" follow that may be a part of it?"""
        text, s, limit = self.text, self.text.s, self.text.limit(i)
        ws = WS if self.open or self.in_array else " \t"
        x = i + 1
        while x < limit and s[x] in ws + self.closers:
            if s[x] == "]" and self.in_array and not self.open:
                return ""
            x += 1
        comma = s.startswith(",", x, limit)
        while comma and x < limit and s[x] in WS + "," + self.closers:
            if s[x] == "]" and self.in_array and not self.open:
                return ""
            x += 1
        if x == limit or s[x] in WS:
            return ""
        if (comma or not self.bare_keys) and self.is_argument(x, limit):
            return "key"
        listed = self.open or self.in_array
        if not listed and (not self.in_section or lacks_closer(self.row)):
            return ""
        try:
            if comma and (self.begins_value(x, limit) or (self.bare_keys and key_at(text, x, limit))):
                return "value" if listed else "text"
            in_line = not comma and "\n" not in s[i:x]
            return "text" if in_line and not self.is_next_call(x, limit) and self.is_closed_again(x, limit) else ""
        except More:
            return ""

    def begins_value(self, x: int, limit: int) -> bool:
        """A number, a string or a bracket, but not that of an array of calls?"""
        if self.text.at(x, limit, "quote"):
            return True
        if self.text.s[x] == "[":
            return not self.is_array(x, limit)
        return self.text.s[x] in "0123456789\"'-" + self.openers

    def is_closed_again(self, x: int, limit: int) -> bool:
        """Is another closing bracket in the rest of the line, before a marker that ends the call?"""
        while x < limit and self.text.s[x] != "\n":
            if quote := self.text.at(x, limit, "quote"):
                x = quote.stop
                continue
            if self.text.is_byte(x) and self.text.s[x] in self.closers:
                return True
            if not self.text.is_byte(x) or self.end_at(x):
                return False
            x += 1
        return False

    def is_next_call(self, x: int, limit: int) -> bool:
        """After what closes a call: another call or array of calls, or what ends them?"""
        c = self.text.s[x]
        if self.text.at(x, limit, "quote"):
            return False
        if not self.text.is_byte(x) or c in self.closers + self.row.between or self.end_at(x):
            return True
        if self.is_array(x, limit):
            return True
        reader = HeaderReader(self.text, self.tools, self.max_hold, -1)
        try:
            reader.in_python(x, limit, Header(), alone=not self.in_array)
        except Fails:
            return False
        return True

    def pop(self, i: int) -> None:
        bracket, _ = self.open.pop()
        if bracket != "spread":
            self.write("}" if bracket == "{" else "]", i)
        self.expects, self.after_bracket = "after", True

    def item(self, i: int, c: str) -> int:
        is_key = self.expects == "key"
        if c in self.openers and not is_key and len(self.open) < DEEPEST:
            self.begin_item(i)
            bracket = "set" if self.is_set(i) else c
            self.write("{" if bracket == "{" else "[", i)
            self.open.append((bracket, 0))
            self.expects = "key" if bracket == "{" else "item"
            self.vague |= self.bare_keys and bracket == "{"
            return i + 1
        if quote := self.own_quote(i):
            return self.string(i, quote.stop, "", OWN, is_key)
        prefix = PREFIX.match(self.text.s, i)
        if prefix and prefix.end() == self.size:
            raise Ended(self.size, None)
        found = STRING.match(self.text.s, i)
        if found := found or (TICKS.match(self.text.s, i) if self.bare_keys else None):
            return self.string(i, found.end(), found[1].lower(), found[2], is_key)
        verbatim = is_key and self.bare_keys
        stop = i if verbatim else self.bare(i, is_key)
        plain = self.text.s[i:stop]
        if json := WORDS.get(plain) or python_number(plain):
            self.begin_item(i)
            self.write(f'"{json}"' if is_key else json, i, stop - 1)
            self.expects, self.after_bracket = "colon" if is_key else "after", False
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
        if not self.bare_keys and after > found.end() and self.is_argument(after, limit):
            return found.end()
        try:
            return found.end() if self.end_at(after) else i
        except More:
            raise Ended(self.size, None) from None

    # -- all but literals ----------------------------------------------------------------------------------------------

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
                    over = not depth and not self.bare_keys and stop < limit and self.is_argument(stop, limit)
                    if over:
                        return stop
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
                self.vague |= depth > 0
                run.append(i)
                i += 1
        finally:
            self.put([] if is_noise else run)
