# JSON that is checked as it is sent: what a strict reader would not take is held back until it is whole, or carried as
# a string. Functions that return bint say False when there is no memory, and nothing else.

import json

cimport cython
from libc.string cimport memcpy, strlen
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.chars cimport are_literal, hex_digit, is_json_space, is_literal
from harmonystream._native.core.json_number cimport N_START, number_ends, number_next
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.utf8 cimport without_surrogates

DEBUG = bool(DEBUG_BUILD)

TEXT_KEY = "input"
BROKEN_KEY = "INVALID_JSON"

cdef bytes BROKEN_OPENING = b'"INVALID_JSON": "'

cdef enum:                             # what may come next
    A_BEGIN, A_KEY, A_COLON, A_VALUE, A_AFTER, A_NUMBER, A_WORD, A_STRING, A_ESCAPE, A_DONE
    A_TEXT                             # anything: it is in a string that was made here


cdef inline bint is_word(uint8_t c) noexcept:
    """Goes on a scalar, or spoils it."""
    return c'0' <= c <= c'9' or c'a' <= (c | 0x20) <= c'z' or c == c'-' or c == c'+' or c == c'.'


@cython.final
@cython.no_gc
cdef class Arguments:
    """Arguments(text_key="input")
--

    Makes one JSON object of a call's text, piece by piece.

    feed() and end() return the text that may be sent. What has been sent is always the beginning of an object that
    strict readers accept, jiter among them. After a complete call it is a whole object. A text that is an object passes
    byte for byte, without the whitespace before it.
    Any other text becomes one string. Its key is `text_key` if the text does not begin with "{". Otherwise its key is
    "INVALID_JSON", and it comes after the members that were sent before the error. Control characters in strings are
    escaped.

    Sent text cannot be taken back, so these bytes wait: a comma until something follows it, a number, literal or escape
    until it ends, and the last brace until the end.
    """

    def __cinit__(self, str text_key not None=TEXT_KEY):
        self.text_opening = f'{{{json.dumps(text_key, ensure_ascii=False)}: "'.encode()
        self.step = A_BEGIN

    def __dealloc__(self):
        buffer_free(&self.sent)
        buffer_free(&self.raw)
        buffer_free(&self.held)

    @cython.critical_section
    def feed(self, str text not None, /):
        """More of the call's text."""
        cdef bytes piece = without_surrogates(text).encode()
        return self.since(self.read(piece, len(piece)))

    @cython.critical_section
    def end(self, bint complete=True):
        """The rest. The JSON of a call that was cut stays open; strings that were made here do not."""
        cdef Py_ssize_t before = self.sent.n
        cdef bint done = True
        if (self.step == A_NUMBER and number_ends(self.number)) or (self.step == A_WORD
                                                                    and self.scalar_n == <Py_ssize_t>strlen(self.word)):
            done = self.release()
            self.step = A_AFTER
        if done and self.step != A_TEXT and self.depth > 0 and complete:
            done = self.give_up()
        if done:
            done = buffer_put(&self.sent, b'"}', 2) if self.step == A_TEXT else self.release()
        if not done:
            raise MemoryError()
        return self.since(before)

    @property
    def sent(self):
        """All that may be sent so far."""
        with cython.critical_section(self):
            return self.since(0)

    @property
    def state(self):
        """For of(): is everything in a string by now, and then all that may be sent, or else all that was read."""
        cdef Buffer* text
        with cython.critical_section(self):
            text = &self.sent if self.step == A_TEXT else &self.raw
            return self.step == A_TEXT, (<const char*>text.p)[:text.n].decode() if text.n else ""

    @staticmethod
    def of(str text_key not None, bint in_text, str text not None, /):
        """The filter with this state."""
        cdef Arguments made = Arguments.__new__(Arguments, text_key)
        cdef bytes data = without_surrogates(text).encode()
        if not in_text:
            made.read(data, len(data))
        elif buffer_put(&made.sent, data, len(data)):
            made.step = A_TEXT
        else:
            raise MemoryError()
        return made

    cdef str since(self, Py_ssize_t before):
        return (<const char*>self.sent.p)[before:self.sent.n].decode() if self.sent.n > before else ""

    # --- out ---

    cdef bint put(self, uint8_t c) noexcept:
        return buffer_put(&self.sent, &c, 1)

    cdef bint hold(self, uint8_t c) noexcept:
        return buffer_put(&self.held, &c, 1)

    cdef bint release(self) noexcept:
        """What is held may go, and what is being read with it."""
        cdef bint done = buffer_put(&self.sent, self.held.p, self.held.n)
        self.held.n = self.scalar_n = 0
        return done

    cdef bint wrap(self, const uint8_t* opening, Py_ssize_t n) noexcept:
        """From here on a string: the text as it was written, from its beginning."""
        cdef bint done = buffer_put(&self.sent, opening, n) and put_escaped(&self.sent, self.raw.p, self.raw.n)
        buffer_free(&self.raw)
        self.held.n = 0
        self.step = A_TEXT
        return done

    cdef bint give_up(self) noexcept:
        """Not JSON: close all but the object itself, and add the text. What is held is never sent."""
        cdef bint done = True
        cdef int i
        if self.step == A_STRING or self.step == A_ESCAPE:
            done = buffer_put(&self.sent, b'": null', 7 if self.in_key else 1)
        elif self.step == A_COLON:
            done = buffer_put(&self.sent, b": null", 6)
        elif self.step in (A_VALUE, A_NUMBER, A_WORD) and self.closers[self.depth - 1] == c'}':
            done = buffer_put(&self.sent, b"null", 4)
        for i in range(self.depth - 1, 0, -1):
            done = done and self.put(self.closers[i])
        if self.filled:
            done = done and buffer_put(&self.sent, b", ", 2)
        return done and self.wrap(BROKEN_OPENING, len(BROKEN_OPENING))

    # --- in ---

    cdef Py_ssize_t read(self, const uint8_t* p, Py_ssize_t n) except -1:
        """More of the text, in valid UTF-8. Where in `sent` begins what it lets through."""
        cdef Py_ssize_t before = self.sent.n
        cdef bint done
        if self.step == A_TEXT:
            done = put_escaped(&self.sent, p, n)
        else:
            done = buffer_put(&self.raw, p, n) and self.advance(p, n)
        if not done:
            raise MemoryError()
        return before

    cdef bint advance(self, const uint8_t* p, Py_ssize_t n) noexcept:
        cdef Py_ssize_t i = 0
        cdef bint done = True
        if self.step == A_BEGIN:
            i = self.begin(p, n)
            done = i >= 0
        while done and i < n and self.step != A_TEXT:
            if self.step == A_STRING:
                i = self.string(p, i, n)
                done = i >= 0
            elif self.step == A_NUMBER or self.step == A_WORD:
                done = self.scalar(p[i])
                i += self.step == A_NUMBER or self.step == A_WORD      # else the byte comes after the scalar
            else:
                done = self.escape(p[i]) if self.step == A_ESCAPE else self.structure(p[i])
                i += 1
        return done

    cdef Py_ssize_t begin(self, const uint8_t* p, Py_ssize_t n) noexcept:
        cdef Py_ssize_t i = 0
        while i < n and is_json_space(p[i]):
            i += 1
        if i == n:
            return i
        if p[i] == c'{':
            return i + 1 if self.open(c'{') else -1
        return n if self.wrap(self.text_opening, len(self.text_opening)) else -1

    cdef bint structure(self, uint8_t c) noexcept:
        """A byte outside of strings and scalars."""
        if is_json_space(c):
            return self.hold(c) if self.held.n else self.put(c)
        if self.step == A_KEY:
            if c == c'"':
                self.filled = True
                return self.quote(in_key=True)
            return self.close() if c == c'}' and self.held.n == 0 else self.give_up()
        if self.step == A_COLON and c == c':':
            self.step = A_VALUE
            return self.put(c)
        if self.step == A_VALUE:
            return self.value(c)
        if self.step == A_AFTER and c == self.closers[self.depth - 1]:
            return self.close()
        if self.step == A_AFTER and c == c',':
            self.step = A_KEY if self.closers[self.depth - 1] == c'}' else A_VALUE
            return self.hold(c)
        return self.give_up()

    cdef bint value(self, uint8_t c) noexcept:
        """The first byte of a value."""
        if c == c'"':
            return self.quote(in_key=False)
        if c == c'{' or c == c'[':
            return self.open(c)
        if c == c']' and self.closers[self.depth - 1] == c']' and self.held.n == 0:
            return self.close()
        self.number = number_next(N_START, c)
        if self.number >= 0:
            self.step = A_NUMBER
        elif c == c't' or c == c'f' or c == c'n':
            self.step = A_WORD
            self.word = b"true" if c == c't' else b"false" if c == c'f' else b"null"
        else:
            return self.give_up()
        self.scalar_n = 1
        return self.hold(c)

    cdef bint scalar(self, uint8_t c) noexcept:
        """Reads a byte after the first one of a number or literal."""
        cdef bint whole, goes_on
        if self.step == A_NUMBER:
            whole = number_ends(self.number)
            self.number = number_next(self.number, c)
            goes_on = self.number >= 0
        else:
            whole = self.word[self.scalar_n] == 0
            goes_on = not whole and c == <uint8_t>self.word[self.scalar_n]
        if goes_on and self.scalar_n < MAX_SCALAR:
            self.scalar_n += 1
            return self.hold(c)
        if goes_on or is_word(c) or not whole:
            return self.give_up()
        self.step = A_AFTER
        return self.release()

    cdef Py_ssize_t string(self, const uint8_t* p, Py_ssize_t i, Py_ssize_t n) noexcept:
        """Reads a string from i; returns where it stopped, or -1 without memory."""
        cdef Py_ssize_t start = i
        cdef bint done
        while i < n:
            if i + 8 <= n and are_literal(p + i):
                i += 8
            elif is_literal(p[i]):
                i += 1
            else:
                break
        done = buffer_put(&self.sent, p + start, i - start)
        if i < n and p[i] == c'\\':
            self.step = A_ESCAPE
            self.scalar_n = 1
            done = done and self.hold(c'\\')
        elif i < n and p[i] == c'"':
            self.step = A_COLON if self.in_key else A_AFTER
            done = done and self.put(c'"')
        elif i < n:
            done = done and put_escaped(&self.sent, p + i, 1)
        return min(i + 1, n) if done else -1

    cdef bint escape(self, uint8_t c) noexcept:
        """Reads a byte after a backslash. A surrogate needs its other half."""
        cdef Py_ssize_t at = self.scalar_n
        cdef const uint8_t* p = self.held.p
        cdef bint high, fits
        if at == 1:
            fits = c == c'u' or c in b'"\\/bfnrt'
        elif at == 6 or at == 7:
            fits = c == (c'\\' if at == 6 else c'u')
        elif at == 8:
            fits = c | 0x20 == c'd'
        elif at == 9:
            fits = c'c' <= (c | 0x20) <= c'f'
        else:
            fits = hex_digit(c) >= 0 and not (at == 3 and p[2] | 0x20 == c'd' and c'c' <= (c | 0x20) <= c'f')
        if not fits:
            return self.give_up()
        self.scalar_n += 1
        if not self.hold(c):
            return False
        high = at == 5 and self.held.p[2] | 0x20 == c'd' and self.held.p[3] > c'7'
        if at == 1 and c != c'u' or at == 5 and not high or at == 11:
            self.step = A_STRING
            return self.release()
        return True

    # --- what opens and closes ---

    cdef bint open(self, uint8_t c) noexcept:
        if self.depth == MAX_DEPTH:
            return self.give_up()
        self.closers[self.depth] = c'}' if c == c'{' else c']'
        self.depth += 1
        self.step = A_KEY if c == c'{' else A_VALUE
        return self.release() and self.put(c)

    cdef bint close(self) noexcept:
        cdef uint8_t closer
        self.depth -= 1
        closer = self.closers[self.depth]
        self.step = A_AFTER if self.depth else A_DONE
        return self.put(closer) if self.depth else self.hold(closer)

    cdef bint quote(self, bint in_key) noexcept:
        self.in_key = in_key
        self.step = A_STRING
        return self.release() and self.put(c'"')


name_errors(Arguments)
