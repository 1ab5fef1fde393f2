# What leaves the view without a meaning of its own.

from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)


cdef void drop_special(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control or inert id that means nothing here. What marks reasoning elsewhere is text inside a call."""
    cdef Py_ssize_t n = 1
    cdef int k
    if v.marks[v.i] & BEGINS_CONTROL and match(v, c.row, v.i, v.n, c.row.by_id, &k) == YES:
        n = c.row.literals[k].n
        if c.row.literals[k].role in (THINK_OPEN, THINK_CLOSE, DROP, ANSWER_OPEN) and s.state in (VALUE, RAW):
            if s.state == RAW:
                s.tags.call.raw.begun = 1
            put_run(s, c, v, v.i + n)
            return
    flush_pending(s, c.out)
    note(s, D_STRAY_CONTROL, s.position)
    if not s.error:
        consume(s, c, v, v.i + n, IN_HEADER)
