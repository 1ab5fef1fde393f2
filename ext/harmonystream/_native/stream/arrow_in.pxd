# Rows of ids or of text in another library's Arrow array.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
cimport cython
from harmonystream._native.core.token_ids cimport Ids
from harmonystream._native.core.types cimport Buffer
from harmonystream._native.stream.arrow cimport ArrowArray

cdef enum Kind:
    INT32, UINT32, INT64, STRING, VIEW

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
    cdef const uint8_t* ids_valid  # a bit for each id; NULL: none is null
    cdef const void** blocks       # VIEW: the buffers in which its long strings lie,
    cdef const int64_t* sizes      # and their sizes
    cdef int64_t n_blocks

    cdef int take(self, str format, str item, bint is_batch) except -1
    cdef int take_views(self, const ArrowArray* a) except -1
    cdef int check(self) except -1


cdef enum Taken:
    TAKEN, NO_IDS, NO_ROOM

cdef int ids_at(Rows rows, int64_t row, Buffer* narrow, const uint32_t** p, int64_t* n) noexcept nogil


cdef inline bint is_null(Rows rows, int64_t i) noexcept nogil:
    return rows.validity != NULL and not (rows.validity[(rows.first + i) >> 3] >> ((rows.first + i) & 7)) & 1


cdef inline int64_t offset_at(Rows rows, int64_t i) noexcept nogil:
    """Where row i begins; i == n: where the last one ends."""
    if rows.wide:
        return (<const int64_t*>rows.offsets)[rows.first + i]
    if rows.kind == UINT32 and rows.array.release == NULL:
        return (<const uint32_t*>rows.offsets)[i]
    return (<const int*>rows.offsets)[rows.first + i]


cdef inline bint is_text(Rows rows) noexcept nogil:
    return rows.kind == STRING or rows.kind == VIEW


cdef inline bint text_at(Rows rows, int64_t i, const uint8_t** p, int64_t* n) noexcept nogil:
    """The text of row i. False: it lies outside of its buffers."""
    cdef const uint8_t* view
    cdef int32_t[4] fields             # size; then 12 bytes of text, or its beginning, its block, and where it begins
    cdef int64_t begin
    if rows.kind == STRING:
        begin = offset_at(rows, i)
        p[0] = rows.values + begin
        n[0] = offset_at(rows, i + 1) - begin
        return begin >= 0 and n[0] >= 0
    view = rows.values + 16 * (rows.first + i)
    memcpy(fields, view, 16)
    n[0] = fields[0]
    p[0] = view + 4
    if 0 <= n[0] <= 12:
        return True
    if n[0] < 0 or not 0 <= fields[2] < rows.n_blocks or fields[3] < 0 or fields[3] + n[0] > rows.sizes[fields[2]]:
        return False
    p[0] = <const uint8_t*>rows.blocks[fields[2]] + fields[3]
    return rows.blocks[fields[2]] != NULL
