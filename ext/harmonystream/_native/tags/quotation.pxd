# Does a value quote a call (docs/tags.md, 6)? The markers of a quoted call are part of the value and do not end it.

from libc.stdint cimport uint64_t
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.view cimport *


cdef inline int look_quoted(const View* v, const TagTable* row, Py_ssize_t i) noexcept nogil:
    """Does the value go on from i? It does if the value's own closer follows: then the value quotes a call, and the
    marker at i, or the closer of a value before it, is part of the quotation."""
    cdef Py_ssize_t x = i, n = limit(v, i)
    cdef uint64_t mask = row.roles[KEY_OPEN] | row.roles[VALUE_CLOSE] | row.roles[STOP]
    cdef int k = -1, depth = 0, verdict = MORE
    while x < n:
        if not row.first[v.p[x]] & mask:
            x += 1
            continue
        verdict = match(v, row, x, n, mask, &k)
        if verdict == MORE:
            break
        if verdict == NO:
            x += 1
            continue
        if row.literals[k].role == STOP:
            return NO
        if row.literals[k].role == VALUE_CLOSE and depth == 0:
            return YES
        depth += 1 if row.literals[k].role == KEY_OPEN else -1
        x += row.literals[k].n
    return NO if v.end or capped(v, i) else MORE


cdef inline int unless_quoted(const View* v, const TagTable* row, Py_ssize_t i, int verdict) noexcept nogil:
    """The verdict of a marker that would end a value. It becomes NO if from i on the value's own closer follows: then
    the marker is quoted."""
    cdef int quoted = look_quoted(v, row, i) if verdict == YES else NO
    return MORE if quoted == MORE else NO if quoted == YES else verdict
