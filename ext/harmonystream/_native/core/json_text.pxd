# Text as JSON strings hold it: quotes, backslashes and control characters escaped, everything else as it is.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef enum:
    UNREADABLE_SIZE = 14

cdef inline const uint8_t* unreadable_text() noexcept nogil:
    """What hosts send at the end of an unreadable call's arguments, so that no client takes them for JSON. It begins
    as an object, because clients of Messages get text of any other form as a string."""
    return <const uint8_t*>b"{INVALID_JSON}"


cdef Py_ssize_t json_escape(const uint8_t* p, Py_ssize_t n, uint8_t* out) noexcept nogil
cdef bint put_escaped(Buffer* out, const uint8_t* p, Py_ssize_t n) noexcept nogil
