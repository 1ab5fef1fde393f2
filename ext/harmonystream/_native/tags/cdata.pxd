# Text in a value that is taken as it is, as in <![CDATA[…]]> (docs/tags.md, 6): where it begins and ends.

from libc.stdint cimport uint64_t
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.view cimport *

cdef enum Cdata:
    NO_CDATA
    CDATA_MAY                                    # it may begin here
    IN_CDATA


cdef inline int look_cdata(const View* v, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """Does it begin here, after ws? *stop: after its opener."""
    cdef Py_ssize_t n = limit(v, v.i), x = skip_ws(v, v.i, n)
    cdef int k = -1, verdict = match(v, row, x, n, row.roles[CDATA_OPEN], &k)
    if verdict == MORE:
        return NO if v.end else undecided(v, v.i)
    if verdict == YES:
        stop[0] = x + row.literals[k].n
    return verdict


cdef inline int look_over(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin) noexcept nogil:
    """After the closer of the value, up to i: is the call over, and then the turn? So the text has no closer."""
    cdef uint64_t closers = row.roles[CALL_CLOSE] | row.roles[SECTION_CLOSE]
    cdef Py_ssize_t n = limit(v, origin)
    cdef int k = -1, verdict
    while True:
        i = skip_ws(v, i, n)
        verdict = match(v, row, i, n, closers | row.follow_stop, &k)
        if verdict != YES:
            return at_the_end(v, origin) if verdict == MORE else verdict
        if row.literals[k].role == STOP or row.literals[k].role == TURN:
            return YES
        i += row.literals[k].n


cdef inline int look_cdata_end(const View* v, const TagTable* row, Py_ssize_t* stop, int* hit) noexcept nogil:
    """Does a marker here end it? YES: *hit is the marker (-1: its own closer), and *stop is after it
    and the ws before what may follow."""
    cdef uint64_t ends = row.roles[CDATA_CLOSE] | row.roles[VALUE_CLOSE] | row.roles[STOP]
    cdef Py_ssize_t n = limit(v, v.i), x
    cdef int role, verdict = match(v, row, v.i, n, ends, hit)
    if verdict != YES:
        return undecided(v, v.i) if verdict == MORE else NO
    role = row.literals[hit[0]].role
    stop[0] = x = v.i + row.literals[hit[0]].n
    if role == VALUE_CLOSE:
        return look_over(v, row, x, v.i)
    if role == STOP and is_special(v, v.i):
        return YES
    x = skip_ws(v, x, n)
    if role == STOP:
        verdict = match(v, row, x, n, row.follow_stop, &role)
    else:
        hit[0] = -1
        verdict = match(v, row, x, n, row.follow_value | row.roles[VALUE_CLOSE] | row.roles[CDATA_OPEN], &role)
    if verdict == MORE:
        verdict = at_the_end(v, v.i)
    if hit[0] < 0 and verdict == YES:
        stop[0] = x
    return YES if hit[0] < 0 and verdict == NO and is_special(v, v.i) else verdict
