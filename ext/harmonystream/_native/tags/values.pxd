# The text of a value -> JSON, by the types that the tool's schema allows.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef enum:
    LITERAL_CAP = 64    # bytes; where strings are allowed, a longer text is no literal: nobody waits for its end

cdef int value_json(const uint8_t* p, Py_ssize_t n, int types, bint untyped_json, Buffer* out) noexcept nogil
cdef bint literal_prefix(const uint8_t* p, Py_ssize_t n, int types) noexcept nogil
