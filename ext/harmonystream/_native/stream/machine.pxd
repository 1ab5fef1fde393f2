# Which machine runs a stream: Harmony's, or that of the tag formats.

from libc.stdint cimport uint8_t, uint32_t
from harmonystream._native.harmony.harmony cimport harmony_finish, harmony_ids, harmony_init, harmony_text, set_fast
from harmonystream._native.harmony.message_transitions cimport harmony_failed
from harmonystream._native.tags.driver cimport set_tags_fast, tags_finish, tags_ids, tags_init, tags_text
from harmonystream._native.tags.transitions cimport tags_failed
from harmonystream._native.core.types cimport *


cdef inline void machine_init(Stream* s, const TagTable* row, bint trim) noexcept nogil:
    """A fresh stream (all zero) at the usual place."""
    if row == NULL:
        harmony_init(s, True)
    else:
        tags_init(s, trim)


cdef inline void close_failed(Stream* s, const Context* c) noexcept nogil:
    """A strict stream has met its error. A host that has seen something begin sees it end, too, and nothing follows."""
    if c.row == NULL:
        harmony_failed(s, c)
    else:
        tags_failed(s, c)


cdef inline void machine_ids(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    if c.row == NULL:
        harmony_ids(s, c, ids, n)
    else:
        tags_ids(s, c, ids, n)
    if s.error:
        close_failed(s, c)


cdef inline void machine_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil:
    if c.row == NULL:
        harmony_text(s, c, p, n, valid)
    else:
        tags_text(s, c, p, n)
    if s.error:
        close_failed(s, c)


cdef inline void machine_finish(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil:
    if c.row == NULL:
        harmony_finish(s, c, stopped, known)
    else:
        tags_finish(s, c, stopped, known)
    if s.error:
        close_failed(s, c)


cdef inline void set_shortcut(Stream* s, const TagTable* row, const Held* held) noexcept nogil:
    if row == NULL:
        set_fast(s)
    else:
        set_tags_fast(s, held)
