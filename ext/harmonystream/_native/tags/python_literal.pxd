# A whole JSON value, or a whole Python literal as JSON.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef int read_literal(const uint8_t* p, Py_ssize_t n, Buffer* out) noexcept nogil
