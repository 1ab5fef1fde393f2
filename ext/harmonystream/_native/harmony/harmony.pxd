# The Harmony machine (docs/harmony.md, 2): the only place that advances a Harmony stream.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.core.types cimport *

cdef void harmony_init(Stream* s, bint in_header) noexcept nogil
cdef void harmony_open(Stream* s, const Context* c, uint8_t channel) noexcept nogil
cdef void harmony_ids(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil
cdef void harmony_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil
cdef void harmony_finish(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil


cdef inline void set_fast(Stream* s) noexcept nogil:
    """May a plain token take the shortcut? Only inside a body, in id mode, with nothing pending or to be announced."""
    cdef bint busy = s.n_pending or s.announce or s.error or s.finished
    s.fast = s.sink if s.state == BODY and s.input_mode == ID_MODE and not busy else 0
    s.shortcut_look = s.shortcut_want = PLAIN
