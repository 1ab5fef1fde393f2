# JSON that is checked as it is sent: what a strict reader would not take is held back until it is whole, or carried as
# a string. Functions that return bint return False only when there is no memory.

import json

cimport cython
from libc.math cimport isinf
from libc.string cimport memcpy, strlen
from harmonystream._native.core.buffer cimport buffer_clear, buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.chars cimport are_literal, hex_digit, is_json_space, is_literal
from harmonystream._native.core.json_number cimport N_FRACTION, N_START, number_ends, number_next
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.utf8 cimport without_surrogates

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, void* overflow) except? -1.0

DEBUG = bool(DEBUG_BUILD)

TEXT_KEY = "input"
BROKEN_KEY = "INVALID_JSON"


cdef bytes opening_of(str text_key):
    """What is sent before the text of arguments that do not begin as an object."""
    if text_key == TEXT_KEY:
        return USUAL_OPENING
    return f'{{{json.dumps(text_key, ensure_ascii=False)}: "'.encode()


cdef bytes USUAL_OPENING = b'{"input": "'

cdef const char* BROKEN_OPENING = b'"INVALID_JSON": "'
cdef const char* LARGEST = b"1.7976931348623157e+308"


cdef inline bint is_word(uint8_t c) noexcept nogil:
    """Does this byte continue a scalar, or make it invalid?"""
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
    escaped. A number that readers would take for infinity, such as 1e999, is the largest that they can read.

    Sent text cannot be taken back, so these bytes wait: a comma until something follows it, a number, literal or escape
    until it ends, and the last brace until the end.
    """

    def __cinit__(self, str text_key not None=TEXT_KEY):
        self.text_opening = opening_of(text_key)
        self.f.text_opening, self.f.n_text_opening = self.text_opening, len(self.text_opening)
        self.f.step = A_BEGIN

    def __dealloc__(self):
        buffer_free(&self.f.sent)
        buffer_free(&self.f.raw)
        buffer_free(&self.f.held)

    @cython.critical_section
    def feed(self, str text not None, /):
        """More of the call's text."""
        cdef bytes piece = without_surrogates(text).encode()
        cdef Py_ssize_t before = self.f.sent.n
        if not filter_read(&self.f, piece, len(piece)):
            raise MemoryError()
        return self.since(before)

    @cython.critical_section
    def end(self, bint complete=True):
        """The rest. The JSON of a call that was cut stays open; strings that were made here do not."""
        cdef Py_ssize_t before = self.f.sent.n
        if not filter_end(&self.f, complete):
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
            text = &self.f.sent if self.f.step == A_TEXT else &self.f.raw
            return self.f.step == A_TEXT, (<const char*>text.p)[:text.n].decode() if text.n else ""

    @staticmethod
    def of(str text_key not None, bint in_text, str text not None, /):
        """The filter with this state."""
        cdef Arguments made = Arguments.__new__(Arguments, text_key)
        cdef bytes data = without_surrogates(text).encode()
        if not in_text:
            done = filter_read(&made.f, data, len(data))
        else:
            done = buffer_put(&made.f.sent, data, len(data))
            made.f.step = A_TEXT
        if not done:
            raise MemoryError()
        return made

    cdef str since(self, Py_ssize_t before):
        return (<const char*>self.f.sent.p)[before:self.f.sent.n].decode() if self.f.sent.n > before else ""
# --- out ---

cdef bint put_byte(Filter* f, uint8_t c) noexcept nogil:
    return buffer_put(&f.sent, &c, 1)


cdef bint hold_byte(Filter* f, uint8_t c) noexcept nogil:
    return buffer_put(&f.held, &c, 1)


cdef bint release(Filter* f) noexcept nogil:
    """What is held may go, and what is being read with it."""
    cdef bint done = buffer_put(&f.sent, f.held.p, f.held.n)
    f.held.n = f.scalar_n = 0
    return done


cdef bint wrap(Filter* f, const uint8_t* opening, Py_ssize_t n) noexcept nogil:
    """From here on a string: the text as it was written, from its beginning."""
    cdef bint done = buffer_put(&f.sent, opening, n) and put_escaped(&f.sent, f.raw.p, f.raw.n)
    buffer_free(&f.raw)
    f.held.n = 0
    f.step = A_TEXT
    return done


cdef bint give_up(Filter* f) noexcept nogil:
    """Not JSON: close all but the object itself, and add the text. What is held is never sent."""
    cdef bint done = True
    cdef int i
    if f.step == A_STRING or f.step == A_ESCAPE:
        done = buffer_put(&f.sent, b'": null', 7 if f.in_key else 1)
    elif f.step == A_COLON:
        done = buffer_put(&f.sent, b": null", 6)
    elif f.step in (A_VALUE, A_NUMBER, A_WORD) and f.closers[f.depth - 1] == c'}':
        done = buffer_put(&f.sent, b"null", 4)
    for i in range(f.depth - 1, 0, -1):
        done = done and put_byte(f, f.closers[i])
    if f.filled:
        done = done and buffer_put(&f.sent, b", ", 2)
    return done and wrap(f, <const uint8_t*>BROKEN_OPENING, strlen(BROKEN_OPENING))


# --- in ---

cdef bint filter_read(Filter* f, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """More of the text, in valid UTF-8. `sent` grows by what it lets through."""
    if f.step == A_TEXT:
        return put_escaped(&f.sent, p, n)
    return buffer_put(&f.raw, p, n) and advance(f, p, n)


cdef bint filter_end(Filter* f, bint complete) noexcept nogil:
    """The rest, for Arguments.end()."""
    cdef bint done = True
    if (f.step == A_NUMBER and number_ends(f.number)) or (f.step == A_WORD and f.word[f.scalar_n] == 0):
        done = end_scalar(f)
    if done and f.step != A_TEXT and f.depth > 0 and complete:
        done = give_up(f)
    return done and (buffer_put(&f.sent, b'"}', 2) if f.step == A_TEXT else release(f))


cdef void filter_clear(Filter* f, Py_ssize_t most) noexcept nogil:
    """It has read nothing. Buffers of at most `most` bytes stay."""
    buffer_clear(&f.sent, most)
    buffer_clear(&f.raw, most)
    buffer_clear(&f.held, most)
    f.scalar_n = 0
    f.depth = 0
    f.step = A_BEGIN
    f.filled = f.in_key = False


cdef bint advance(Filter* f, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef bint done = True
    if f.step == A_BEGIN:
        i = read_begin(f, p, n)
        done = i >= 0
    while done and i < n and f.step != A_TEXT:
        if f.step == A_STRING:
            i = read_string(f, p, i, n)
            done = i >= 0
        elif f.step == A_NUMBER or f.step == A_WORD:
            done = read_scalar(f, p[i])
            i += f.step == A_NUMBER or f.step == A_WORD      # else the byte comes after the scalar
        else:
            done = read_escape(f, p[i]) if f.step == A_ESCAPE else read_structure(f, p[i])
            i += 1
    return done


cdef Py_ssize_t read_begin(Filter* f, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i < n and is_json_space(p[i]):
        i += 1
    if i == n:
        return i
    if p[i] == c'{':
        return i + 1 if open_level(f, c'{') else -1
    return n if wrap(f, f.text_opening, f.n_text_opening) else -1


cdef bint read_structure(Filter* f, uint8_t c) noexcept nogil:
    """A byte outside of strings and scalars."""
    if is_json_space(c):
        return hold_byte(f, c) if f.held.n else put_byte(f, c)
    if f.step == A_KEY:
        if c == c'"':
            f.filled = True
            return open_quote(f, in_key=True)
        return close_level(f) if c == c'}' and f.held.n == 0 else give_up(f)
    if f.step == A_COLON and c == c':':
        f.step = A_VALUE
        return put_byte(f, c)
    if f.step == A_VALUE:
        return begin_value(f, c)
    if f.step == A_AFTER and c == f.closers[f.depth - 1]:
        return close_level(f)
    if f.step == A_AFTER and c == c',':
        f.step = A_KEY if f.closers[f.depth - 1] == c'}' else A_VALUE
        return hold_byte(f, c)
    return give_up(f)


cdef bint begin_value(Filter* f, uint8_t c) noexcept nogil:
    """The first byte of a value."""
    if c == c'"':
        return open_quote(f, in_key=False)
    if c == c'{' or c == c'[':
        return open_level(f, c)
    if c == c']' and f.closers[f.depth - 1] == c']' and f.held.n == 0:
        return close_level(f)
    f.number = number_next(N_START, c)
    if f.number >= 0:
        f.step = A_NUMBER
    elif c == c't' or c == c'f' or c == c'n':
        f.step = A_WORD
        f.word = b"true" if c == c't' else b"false" if c == c'f' else b"null"
    else:
        return give_up(f)
    f.scalar_n = 1
    return hold_byte(f, c)


cdef bint read_scalar(Filter* f, uint8_t c) noexcept nogil:
    """Reads a byte after the first one of a number or literal."""
    cdef bint whole, goes_on
    cdef int stage
    if f.step == A_NUMBER:
        whole = number_ends(f.number)
        stage = number_next(f.number, c)
        goes_on = stage >= 0
        f.number = stage if goes_on else f.number
    else:
        whole = f.word[f.scalar_n] == 0
        goes_on = not whole and c == <uint8_t>f.word[f.scalar_n]
    if goes_on and f.scalar_n < MAX_SCALAR:
        f.scalar_n += 1
        return hold_byte(f, c)
    if goes_on or is_word(c) or not whole:
        return give_up(f)
    return end_scalar(f)


cdef bint end_scalar(Filter* f) noexcept nogil:
    """The number or literal is whole. JSON has no infinity, but 1e999, which clients read as one and cannot send.
    """
    cdef const char* number
    cdef bint negative
    if f.step == A_NUMBER and f.number >= N_FRACTION:              # integers have no largest
        if not hold_byte(f, 0):
            return False
        f.held.n -= 1
        number = <const char*>f.held.p + f.held.n - f.scalar_n
        if is_infinite(number):
            negative = number[0] == c'-'
            f.held.n -= f.scalar_n - negative
            if not buffer_put(&f.held, <const uint8_t*>LARGEST, strlen(LARGEST)):
                return False
    f.step = A_AFTER
    return release(f)


cdef bint is_infinite(const char* number) noexcept with gil:
    """As Python reads it, which needs the GIL."""
    return isinf(PyOS_string_to_double(number, NULL, NULL))


cdef Py_ssize_t read_string(Filter* f, const uint8_t* p, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
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
    done = buffer_put(&f.sent, p + start, i - start)
    if i < n and p[i] == c'\\':
        f.step = A_ESCAPE
        f.scalar_n = 1
        done = done and hold_byte(f, c'\\')
    elif i < n and p[i] == c'"':
        f.step = A_COLON if f.in_key else A_AFTER
        done = done and put_byte(f, c'"')
    elif i < n:
        done = done and put_escaped(&f.sent, p + i, 1)
    return min(i + 1, n) if done else -1


cdef bint read_escape(Filter* f, uint8_t c) noexcept nogil:
    """Reads a byte after a backslash. A surrogate needs its other half."""
    cdef Py_ssize_t at = f.scalar_n
    cdef const uint8_t* p = f.held.p
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
        return give_up(f)
    f.scalar_n += 1
    if not hold_byte(f, c):
        return False
    high = at == 5 and f.held.p[2] | 0x20 == c'd' and f.held.p[3] > c'7'
    if at == 1 and c != c'u' or at == 5 and not high or at == 11:
        f.step = A_STRING
        return release(f)
    return True


# --- what opens and closes ---

cdef bint open_level(Filter* f, uint8_t c) noexcept nogil:
    if f.depth == MAX_DEPTH:
        return give_up(f)
    f.closers[f.depth] = c'}' if c == c'{' else c']'
    f.depth += 1
    f.step = A_KEY if c == c'{' else A_VALUE
    return release(f) and put_byte(f, c)


cdef bint close_level(Filter* f) noexcept nogil:
    cdef uint8_t closer
    f.depth -= 1
    closer = f.closers[f.depth]
    f.step = A_AFTER if f.depth else A_DONE
    return put_byte(f, closer) if f.depth else hold_byte(f, closer)


cdef bint open_quote(Filter* f, bint in_key) noexcept nogil:
    f.in_key = in_key
    f.step = A_STRING
    return release(f) and put_byte(f, c'"')



name_errors(Arguments)
