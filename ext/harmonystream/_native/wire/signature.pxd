# The signature of a block of reasoning, used if the caller gives none.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer

cdef bint put_signature(Buffer* to, const uint8_t* id, Py_ssize_t n_id, const uint8_t* text,
                        Py_ssize_t n) noexcept nogil
