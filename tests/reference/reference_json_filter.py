"""What harmonystream._native.wire.json_filter does, once more, slowly: with regular expressions, on characters."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from json.encoder import encode_basestring

TEXT_KEY = "input"
"""Where arguments stand that do not begin as an object: the code of a built-in tool, a bare value."""
BROKEN_KEY = "INVALID_JSON"
"""Where arguments stand that begin as an object, and are none."""

MAX_DEPTH = 200  # what jiter reads, and so the official client
MAX_SCALAR = 4300  # as many digits of an integer as jiter and Python read

_CLOSER = {"{": "}", "[": "]"}
_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'(?:[^"\\\x00-\x1f]+|\\["\\/bfnrt])*')  # to be used with match(): it never goes back
_WORD = re.compile(r"[-+.0-9A-Za-z]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_ESCAPE = re.compile(
    r'\\(?:["\\/bfnrt]|u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}'
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))"
)
_ESCAPES = ("\\n", "\\u0041", "\\ud800\\udc00")  # one of each length: what can become an escape can end as one of them
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:"]|[^\s{}\[\],:"]+', re.DOTALL)


class Arguments:
    """Makes one JSON object of a call's text, piece by piece.

    feed() and end() return what may be sent. After every piece, all that was sent is a beginning of an object that
    strict readers accept, jiter among them; of a complete call, it is an object. A text that is an object passes byte
    for byte, without the whitespace before it. Any other text is kept whole, as a string: under `text_key` if it does
    not begin with "{", else under BROKEN_KEY, after what was sent of it. Control characters in strings are escaped.

    Held back, so that nothing has to be taken back: a comma until something follows it, a number, literal or escape
    until it ends, the last brace until the end.
    """

    def __init__(self, text_key: str = TEXT_KEY) -> None:
        self._text_key = text_key
        self._raw: list[str] = []
        self._out: list[str] = []
        self._held: list[str] = []  # stands between what was let through and what is being read
        self._token = ""  # the number, literal or escape that is being read
        self._stack: list[str] = []  # the closers of what is open
        self._filled = False  # has the object any member?
        self._in_key = False  # is the string being read, or read last, a key?
        self._step: Callable[[Arguments, str, int], int] | None = Arguments._begin
        """Reads on from a place, and says how far, or -1: not JSON. None: everything belongs into a string."""

    def feed(self, text: str) -> str:
        """More of the call's text."""
        if self._step is None:
            return _in_string(text)
        self._raw.append(text)
        if self._step is Arguments._string and _end(_PLAIN, text, 0) == len(text):
            return text
        at = 0
        while 0 <= at < len(text) and self._step is not None:
            at = self._step(self, text, at)
        if at < 0:
            self._break()
        return self._taken()

    def end(self, complete: bool = True) -> str:
        """The rest. The JSON of a call that was cut stays open; strings that were made here do not."""
        if self._step is None:
            self._out.append('"}')
        elif self._step is not Arguments._begin:
            if self._step is Arguments._scalar and _SCALAR.fullmatch(self._token):
                self._end_scalar()
            if self._stack and complete:
                self._break()
                self._out.append('"}')
            else:
                self._release()
        return self._taken()

    # --- out ---

    def _taken(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def _release(self) -> None:
        """What is held may go, and the token with it."""
        self._out += (*self._held, self._token)
        self._held.clear()
        self._token = ""

    def _wrap(self, opener: str, key: str) -> None:
        """From here on a string: the text as it was written, from its beginning."""
        self._out.append(f'{opener}{encode_basestring(key)}: "{_in_string("".join(self._raw))}')
        self._raw.clear()
        self._held.clear()
        self._step = None

    def _break(self) -> None:
        """Close all but the object itself, and add the text. What is held is never sent."""
        in_object = self._stack[-1:] == ["}"]
        if self._step in (Arguments._string, Arguments._escape):
            self._out.append('": null' if self._in_key else '"')
        elif self._step is Arguments._colon:
            self._out.append(": null")
        elif self._step in (Arguments._value, Arguments._scalar) and in_object:
            self._out.append("null")
        self._out += reversed(self._stack[1:])
        self._wrap(", " if self._filled else "", BROKEN_KEY)

    # --- reading: each step reads on from a place, and says how far, or -1: no JSON ---

    def _begin(self, text: str, at: int) -> int:
        at = _end(_SPACE, text, at)
        if at == len(text):
            return at
        if text[at] == "{":
            return self._open("{", at)
        self._wrap("{", self._text_key)
        return len(text)

    def _open(self, opener: str, at: int) -> int:
        if len(self._stack) == MAX_DEPTH:
            return -1
        self._release()
        self._out.append(opener)
        self._stack.append(_CLOSER[opener])
        self._step = Arguments._key if opener == "{" else Arguments._value
        return at + 1

    def _close(self, at: int) -> int:
        closer = self._stack.pop()
        (self._out if self._stack else self._held).append(closer)
        self._step = Arguments._after_value if self._stack else Arguments._done
        return at + 1

    def _quote(self, at: int, in_key: bool) -> int:
        self._release()
        self._out.append('"')
        self._in_key = in_key
        self._step = Arguments._string
        return at + 1

    def _space(self, text: str, at: int) -> int:
        end = _end(_SPACE, text, at)
        if end > at:
            (self._held or self._out).append(text[at:end])
        return end

    def _key(self, text: str, at: int) -> int:
        at = self._space(text, at)
        if at == len(text):
            return at
        if text[at] == '"':
            self._filled = True
            return self._quote(at, in_key=True)
        return self._close(at) if text[at] == "}" and not self._held else -1

    def _colon(self, text: str, at: int) -> int:
        at = self._space(text, at)
        if at == len(text):
            return at
        if text[at] != ":":
            return -1
        self._out.append(":")
        self._step = Arguments._value
        return at + 1

    def _value(self, text: str, at: int) -> int:
        at = self._space(text, at)
        if at == len(text):
            return at
        if text[at] == '"':
            return self._quote(at, in_key=False)
        if text[at] in _CLOSER:
            return self._open(text[at], at)
        if text[at] == "]" == self._stack[-1] and not self._held:
            return self._close(at)
        self._step = Arguments._scalar
        return at

    def _after_value(self, text: str, at: int) -> int:
        at = self._space(text, at)
        if at == len(text):
            return at
        if text[at] == self._stack[-1]:
            return self._close(at)
        if text[at] != ",":
            return -1
        self._held.append(",")
        self._step = Arguments._key if self._stack[-1] == "}" else Arguments._value
        return at + 1

    def _scalar(self, text: str, at: int) -> int:
        end = _end(_WORD, text, at)
        if end > at:
            self._token += text[at:end]
            return end if len(self._token) <= MAX_SCALAR and _may_become_scalar(self._token) else -1
        if not _SCALAR.fullmatch(self._token):
            return -1
        self._end_scalar()
        return at

    def _end_scalar(self) -> None:
        if re.search(r"\d[.eE]", self._token):  # integers have no largest
            self._token = _finite(self._token)
        self._release()
        self._step = Arguments._after_value

    def _string(self, text: str, at: int) -> int:
        end = _end(_PLAIN, text, at)
        self._out.append(text[at:end])
        if end == len(text):
            return end
        if text[end] == "\\":
            self._token = "\\"
            self._step = Arguments._escape
        elif text[end] == '"':
            self._out.append('"')
            self._step = Arguments._colon if self._in_key else Arguments._after_value
        else:
            self._out.append(_in_string(text[end]))
        return end + 1

    def _escape(self, text: str, at: int) -> int:
        self._token += text[at]
        if _ESCAPE.fullmatch(self._token):
            self._release()
            self._step = Arguments._string
            return at + 1
        return at + 1 if _may_become_escape(self._token) else -1

    def _done(self, text: str, at: int) -> int:
        return at if (at := self._space(text, at)) == len(text) else -1


def _finite(token: str) -> str:
    """The largest number in place of what is read as infinity."""
    return {math.inf: repr(sys.float_info.max), -math.inf: repr(-sys.float_info.max)}.get(float(token), token)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _in_string(text: str) -> str:
    return encode_basestring(text)[1:-1]


def _may_become_scalar(token: str) -> bool:
    words = any(word.startswith(token) for word in ("true", "false", "null"))
    return words or any(_SCALAR.fullmatch(token + more) for more in ("", "0"))


def _may_become_escape(token: str) -> bool:
    return any(_ESCAPE.fullmatch(token + kind[len(token) :]) for kind in _ESCAPES)
