# Rows of ids or of text that somebody else's Arrow array holds.

from libc.stdint cimport int64_t, uint8_t, uint32_t
cimport cython
from harmonystream._native.core.token_ids cimport Ids
from harmonystream._native.stream.arrow cimport ArrowArray

cdef enum Kind:
    INT32, UINT32, INT64, STRING

@cython.final
cdef class Rows:
    cdef ArrowArray array          # owned; not used if release is NULL
    cdef Ids values_given, offsets_given
    cdef Kind kind
    cdef const uint8_t* validity   # a bit for each row; NULL: none is null
    cdef const void* offsets       # n + 1, of 4 or 8 bytes each
    cdef const uint8_t* values
    cdef bint wide
    cdef readonly int64_t n        # rows
    cdef int64_t first             # of the rows, counted in offsets and validity
    cdef int64_t values_first, n_values

    cdef int take(self, str format, str item) except -1
    cdef int check(self) except -1


cdef inline bint is_null(Rows rows, int64_t i) noexcept nogil:
    return rows.validity != NULL and not (rows.validity[(rows.first + i) >> 3] >> ((rows.first + i) & 7)) & 1


cdef inline int64_t offset_at(Rows rows, int64_t i) noexcept nogil:
    """Where row i begins; i == n: where the last one ends."""
    if rows.wide:
        return (<const int64_t*>rows.offsets)[rows.first + i]
    if rows.kind == UINT32 and rows.array.release == NULL:
        return (<const uint32_t*>rows.offsets)[i]
    return (<const int*>rows.offsets)[rows.first + i]
