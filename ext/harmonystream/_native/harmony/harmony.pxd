# The Harmony machine (docs/harmony.md, 2): the only place that advances a Harmony stream.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.core.types cimport Context, Out, Stream

cdef void harmony_init(Stream* s, bint in_header) noexcept nogil
cdef void harmony_open(Stream* s, const Context* c, uint8_t channel) noexcept nogil
cdef void harmony_ids(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil
cdef void harmony_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil
cdef void harmony_finish(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil
cdef void announce_message(Stream* s, Out* o, int64_t start, int64_t stop) noexcept nogil
