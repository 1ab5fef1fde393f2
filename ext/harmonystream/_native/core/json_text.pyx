# Text as JSON strings hold it.

from libc.stdint cimport uint8_t
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport are_literal, is_literal
from harmonystream._native.core.types cimport Buffer

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    CHUNK = 4096               # bytes that are escaped at once: six times as many are reserved for them


cdef Py_ssize_t json_escape(const uint8_t* p, Py_ssize_t n, uint8_t* out) noexcept nogil:
    """The inside of the JSON string that says these bytes. `out` has room for 6 * n; returns the bytes written."""
    cdef const char* hexits = b"0123456789abcdef"
    cdef const char* short_forms = b"btn-fr"            # 0x08 to 0x0d; 0x0b has none
    cdef Py_ssize_t i = 0, at = 0
    cdef uint8_t c
    while i < n:
        if i + 8 <= n and are_literal(p + i):
            memcpy(out + at, p + i, 8)
            i += 8
            at += 8
            continue
        c = p[i]
        i += 1
        if is_literal(c):
            out[at] = c
            at += 1
            continue
        out[at] = c'\\'
        if c >= 0x20:
            out[at + 1] = c
        elif 8 <= c <= 13 and c != 11:
            out[at + 1] = short_forms[c - 8]
        else:
            memcpy(out + at + 1, b"u00", 3)
            out[at + 4] = hexits[c >> 4]
            out[at + 5] = hexits[c & 15]
            at += 4
        at += 2
    return at


cdef bint put_escaped(Buffer* out, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The same, appended to a buffer; False without memory, and then nothing has changed."""
    cdef Py_ssize_t i = 0, size, before = out.n
    while i < n:
        size = min(n - i, <Py_ssize_t>CHUNK)
        if not buffer_room(out, 6 * size):
            out.n = before
            return False
        out.n += json_escape(p + i, size, out.p + out.n)
        i += size
    return True
