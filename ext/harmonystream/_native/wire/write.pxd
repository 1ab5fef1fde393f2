# How a record is written by the script of its API: without the GIL.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer, Record
from harmonystream._native.wire.frame cimport Pieces
from harmonystream._native.wire.writer cimport Written, Writer

cdef enum Answer:
    WRITTEN, NEEDS_HOOK, NEEDS_PYTHON, NO_MEMORY

cdef Answer write_record(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil
cdef bint put_delta(Writer* w, uint8_t kind, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil
cdef bint put_kept(Writer* w, uint8_t kind, Py_ssize_t begin, Buffer* to) noexcept nogil
cdef bint write_frame(Writer* w, const Pieces* frame, Buffer* to) noexcept nogil
cdef bint end_item(Writer* w, bint complete, Buffer* to) noexcept nogil
cdef void written_free(Written* t) noexcept nogil
