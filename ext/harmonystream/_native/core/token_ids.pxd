# Whatever a caller hands over as token ids -> a span of uint32, checked as a whole before a single id is used.

from cpython.buffer cimport Py_buffer
from libc.stdint cimport uint32_t

cdef enum:
    INLINE_IDS = 256

cdef struct Ids:
    const uint32_t* ids
    Py_ssize_t n
    uint32_t* block                # on the heap, or NULL
    bint viewed                    # `view` must be released
    Py_buffer view
    uint32_t inline_ids[INLINE_IDS]

cdef int ids_take(Ids* out, object given) except -1
cdef void ids_free(Ids* out) noexcept
