# The second shortcut of the decode loop: one token of a tag format that holds newlines, quotes or structure, but no
# marker. And the same for a short piece of text in a call's arguments.

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport Held, Json, ObjectScan, Stream, Tables, TagTable

cdef struct QuickDelta:
    uint8_t kind                   # R_NONE: the token makes no event
    int64_t start, stop


@cython.final
cdef class TokenTexts:             # texts of plain tokens by id, as str; NULL until a caller needs it
    cdef PyObject** plain          # as it is
    cdef PyObject** ended          # as it is, without the newlines at its end
    cdef PyObject** begun          # as it is, after a newline
    cdef PyObject** escaped        # as it stands in a JSON string
    cdef PyObject** trimmed        # that, without the newline at its end
    cdef PyObject** continued      # that, after a newline that was held
    cdef Py_ssize_t n              # how many there may be, of all kinds

    cdef str keep(self, PyObject** place, str text)


cdef str quick_token(Stream* s, Held* held, const Tables* t, const TagTable* row, TokenTexts texts, Py_ssize_t tid,
                     QuickDelta* delta)


cdef struct Body:                  # what follows the JSON of an open call
    Json json
    ObjectScan object              # in the state WRAPPED


cdef bint is_plain_body(const Stream* s, const TagTable* row, const Held* held, const uint8_t* p, Py_ssize_t n,
                        Body* body) noexcept nogil
cdef void take_body(Stream* s, const Body* body, const uint8_t* p, Py_ssize_t n) noexcept nogil
