# Plain tokens: those whose text goes to the open sink as it is. What they are, and what taking one or many of them
# changes.

from libc.stdint cimport uint8_t, uint32_t
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
    # What the loop reads is in variables: each byte that is written could be a field of a struct, for all a compiler
    # knows, so it would read all of them again for each token.
    cdef const uint32_t* offset = c.tables.offset
    cdef const uint8_t* classes = c.tables.classes
    cdef const uint8_t* text = c.tables.text
    cdef uint8_t look = s.shortcut_look, want = s.shortcut_want
    cdef uint32_t limit = c.tables.n, tid = read_once(ids), begin, size
    cdef Out* o = c.out
    cdef Record* r
    cdef uint8_t* to
    cdef uint8_t* end
    cdef Py_ssize_t i = 0, from_n
    if not is_plain_token(s, c.tables, tid):
        return 0
    r = delta_run(s, o, s.position)
    if r == NULL:
        return n
    from_n = o.n_text
    to, end = o.text + from_n, o.text + o.cap_text
    while True:
        begin = offset[tid]
        size = offset[tid + 1] - begin
        if end - to < <Py_ssize_t>size + 16:
            o.n_text = to - o.text
            if not out_room(o, size):
                return n
            to, end = o.text + o.n_text, o.text + o.cap_text
        if size <= 16:
            memcpy(to, text + begin, 16)                                     # one move; both sides are padded
        else:
            memcpy(to, text + begin, size)
        to += size
        i += 1
        if i == n:
            break
        tid = read_once(ids + i)
        if tid >= limit or classes[tid] & look != want:
            break
    o.n_text = to - o.text
    r = &o.records[o.n_records - 1]
    r.n += o.n_text - from_n
    r.stop = s.attributed = s.position + i
    if s.sink == R_ARGUMENTS:
        s.wrote = 1
        json_step(&s.json, o.text + from_n, o.n_text - from_n)
    return i
