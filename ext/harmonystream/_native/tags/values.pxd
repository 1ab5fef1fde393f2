# The text of a value -> JSON, by the types that the tool's schema allows.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef enum:
    # bytes of a literal, where strings are allowed, and of ws before JSON, where nothing is declared: longer text is
    # written before its end comes
    LITERAL_CAP = 64

cdef int value_json(const uint8_t* p, Py_ssize_t n, int types, bint untyped_json, Buffer* out) noexcept nogil
cdef bint literal_prefix(const uint8_t* p, Py_ssize_t n, int types) noexcept nogil
cdef int first_byte(const uint8_t* p, Py_ssize_t n) noexcept nogil
cdef bint json_prefix(const uint8_t* p, Py_ssize_t n) noexcept nogil
