# Runs of plain tokens: copied as they are.

from libc.stdint cimport uint32_t
from libc.string cimport memcpy
from harmonystream._native.core.cpython cimport read_once
from harmonystream._native.core.json_scan cimport json_step
from harmonystream._native.core.out cimport delta_run, out_room
from harmonystream._native.core.types cimport *


cdef inline Py_ssize_t plain_run(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    """Copies tokens that may take the shortcut into the sink; stops at the first that may not. Nothing is pending."""
    cdef const Tables* t = c.tables
    cdef Out* o = c.out
    cdef Record* r
    cdef Py_ssize_t i = 0, from_n, size
    cdef uint32_t tid, begin
    tid = read_once(ids)
    if tid >= t.n or t.classes[tid] & s.shortcut_look != s.shortcut_want:
        return 0
    r = delta_run(s, o, s.position)
    if r == NULL:
        return n
    from_n = o.n_text
    while True:
        begin = t.offset[tid]
        size = t.offset[tid + 1] - begin
        if not out_room(o, size):
            return n
        if size <= 16:
            memcpy(o.text + o.n_text, t.text + begin, 16)                    # one move; both sides are padded
        else:
            memcpy(o.text + o.n_text, t.text + begin, size)
        o.n_text += size
        i += 1
        if i == n:
            break
        tid = read_once(ids + i)
        if tid >= t.n or t.classes[tid] & s.shortcut_look != s.shortcut_want:
            break
    r = &o.records[o.n_records - 1]
    r.n += o.n_text - from_n
    r.stop = s.attributed = s.position + i
    if s.sink == R_ARGUMENTS:
        s.wrote = 1
        json_step(&s.json, o.text + from_n, o.n_text - from_n)
    return i
