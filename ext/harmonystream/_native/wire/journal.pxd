# The records that a script has written and that Python does not know yet.

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Buffer, Record
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.wire.writer cimport Written, Writer

cdef bint note(Written* t, const Record* r, const uint8_t* text) noexcept nogil
cdef bint note_run(Writer* w, uint8_t kind, Py_ssize_t at, bint goes_on) noexcept nogil
cdef void forget_text(Written* t, uint8_t kind) noexcept nogil
cdef int read_journal(Writer* w, Parser parser, list events) except -1
cdef int keep_sent(Writer* w) except -1
cdef str text_of(const Buffer* escaped, Py_ssize_t begin, Py_ssize_t end)
