# Plain tokens: those whose text goes to the open sink as it is. What they are, and what taking one or many of them
# changes.

from libc.stdint cimport uint32_t
from libc.string cimport memcpy
from harmonystream._native.core.locks cimport read_once
from harmonystream._native.core.json_scan cimport json_step
from harmonystream._native.core.out cimport delta_run, out_room
from harmonystream._native.core.types cimport *


cdef inline bint is_plain_token(const Stream* s, const Tables* t, uint32_t tid) noexcept nogil:
    """May this token take the shortcut? Only if s.fast, or where nothing is pending in a run."""
    return tid < t.n and t.classes[tid] & s.shortcut_look == s.shortcut_want


cdef inline void account_plain(Stream* s, const Tables* t, uint32_t tid, bint tagged) noexcept nogil:
    """The stream has taken this plain token by the shortcut. tagged: it may be of a tag format; Harmony has no Tags to
    touch.
    """
    s.usage[s.region] += 1
    s.position += 1
    s.attributed = s.position
    if tagged:
        s.tags.line_start = 0
    if s.fast == R_ARGUMENTS:
        s.wrote = 1
        if t.classes[tid] & QUIET and s.json.in_string and not s.json.escape:
            s.json.count += t.offset[tid + 1] - t.offset[tid]
        else:
            json_step(&s.json, t.text + t.offset[tid], t.offset[tid + 1] - t.offset[tid])


cdef inline Py_ssize_t plain_run(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    """Copies tokens that may take the shortcut into the sink; stops at the first that may not. Nothing is pending."""
    cdef const Tables* t = c.tables
    cdef Out* o = c.out
    cdef Record* r
    cdef Py_ssize_t i = 0, from_n, size
    cdef uint32_t tid, begin
    tid = read_once(ids)
    if not is_plain_token(s, t, tid):
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
        if not is_plain_token(s, t, tid):
            break
    r = &o.records[o.n_records - 1]
    r.n += o.n_text - from_n
    r.stop = s.attributed = s.position + i
    if s.sink == R_ARGUMENTS:
        s.wrote = 1
        json_step(&s.json, o.text + from_n, o.n_text - from_n)
    return i
