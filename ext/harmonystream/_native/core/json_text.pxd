# Text as JSON strings hold it: quotes, backslashes and control characters escaped, everything else as it is.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef Py_ssize_t json_escape(const uint8_t* p, Py_ssize_t n, uint8_t* out) noexcept nogil
cdef bint put_escaped(Buffer* out, const uint8_t* p, Py_ssize_t n) noexcept nogil
