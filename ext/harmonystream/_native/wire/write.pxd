# How a record is written as frames: without the GIL.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport Buffer, Record
from harmonystream._native.wire.template cimport Template
from harmonystream._native.wire.writer cimport Writer

cdef enum Outcome:
    WRITTEN
    ASKS                               # `question` must be answered first; nothing has changed
    NO_MEMORY

cdef Outcome write_record(Writer* w, const Record* r, const uint8_t* text, Buffer* to) noexcept nogil
cdef bint put_delta(Writer* w, uint8_t kind, const uint8_t* text, Py_ssize_t n, Buffer* to) noexcept nogil
cdef bint put_text(Writer* w, uint8_t kind, Py_ssize_t begin, Buffer* to) noexcept nogil
cdef bint fill_template(Writer* w, const Template* template, Buffer* to) noexcept nogil
cdef bint must_ask_end(Writer* w) noexcept nogil
cdef bint end_item(Writer* w, bint complete, Buffer* to) noexcept nogil
cdef bint put_open_item(Writer* w, Buffer* to) noexcept nogil
cdef bint bind_open(Writer* w) noexcept nogil
cdef bint new_filter(Writer* w) noexcept nogil
cdef void writer_free(Writer* w) noexcept nogil
