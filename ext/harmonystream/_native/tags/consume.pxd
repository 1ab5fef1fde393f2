# Consuming input: bytes leave the view, are counted, and go into the sink or nowhere.
#
# In id mode a byte's position is that of its token, and a token counts, for the region where its last byte lands, when that byte is
# consumed. Tokens enter the view whole.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.tags.lookahead cimport View
from harmonystream._native.core.out cimport *
from harmonystream._native.core.types cimport *


cdef inline int64_t position_at(const Stream* s, const View* v, Py_ssize_t i) noexcept nogil:
    """Of the byte i, which is not consumed yet."""
    cdef int64_t position = s.position
    cdef Py_ssize_t k
    if v.marks == NULL:
        return position + (i - v.i)
    for k in range(v.i + 1, i + 1):
        position += v.marks[k] & BEGINS_TOKEN
    return position


cdef inline void consume(Stream* s, const Context* c, View* v, Py_ssize_t to, uint8_t region) noexcept nogil:
    """Take the bytes up to `to` out of the view."""
    cdef Py_ssize_t k
    if v.marks == NULL:
        s.usage[region] += to - v.i
        s.position += to - v.i
    else:
        for k in range(v.i + 1, to + 1):
            if k == v.n or v.marks[k] & BEGINS_TOKEN:
                s.usage[region] += 1
                if c.out.labels != NULL:
                    c.out.labels[s.position] = region
                s.position += 1
    v.i = to


cdef inline void put_run(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The bytes up to `to` are text of the sink."""
    cdef Py_ssize_t k
    if v.marks == NULL:
        put_bytes(s, c.out, v.p + v.i, to - v.i, s.position, 1)
        consume(s, c, v, to, s.region)
        return
    while v.i < to:
        k = v.i + 1
        while k < to and not v.marks[k] & BEGINS_TOKEN:
            k += 1
        put_bytes(s, c.out, v.p + v.i, k - v.i, s.position, 0)
        consume(s, c, v, k, s.region)


cdef inline int64_t after(const Stream* s, int64_t at) noexcept nogil:
    """A place for what is written and not read: never inside a token that an event has already."""
    return at if at > s.attributed else s.attributed
