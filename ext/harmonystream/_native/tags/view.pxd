# The input that is not yet consumed: which marker is at a place, and what it means to take bytes away.
#
# In id mode a byte's position is that of its token, and a token counts, for the region where its last byte lands,
# when that byte is consumed. Tokens enter the view whole.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp
from harmonystream._native.core.chars cimport is_json_space, lowest_bit
from harmonystream._native.core.out cimport *
from harmonystream._native.core.types cimport *

cdef enum Verdict:
    NO, YES, MORE                                # MORE: not enough input to tell
    VOID                                         # a header that is markup, but no call
    # a long look that failed: what it has seen is text, and is not looked at again
    ALL_TEXT

cdef struct View:                                # the input that is not yet consumed
    const uint8_t* p
    const uint8_t* marks                         # a Mark for each byte; NULL: text mode
    Py_ssize_t i, n
    bint end                                     # nothing will follow
    bint cut                                     # and the engine says that something would have
    bint special                                 # some marks are of control ids


cdef inline bint is_special(const View* v, Py_ssize_t i) noexcept nogil:
    return v.special and v.marks[i] & (BEGINS_CONTROL | INERT_ID) != 0


cdef inline bint is_named(const View* v, Py_ssize_t i) noexcept nogil:
    """Does a control id begin here that counts as the text of its name?"""
    return v.special and v.marks[i] & NAMED_ID != 0


cdef inline Py_ssize_t skip_ws(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    while i < n and is_json_space(v.p[i]):
        i += 1
    return i


cdef inline bint capped(const View* v, Py_ssize_t origin) noexcept nogil:
    return v.n - origin >= LOOK_CAP


cdef inline Py_ssize_t limit(const View* v, Py_ssize_t origin) noexcept nogil:
    return origin + LOOK_CAP if capped(v, origin) else v.n


cdef inline int undecided(const View* v, Py_ssize_t origin) noexcept nogil:
    return NO if capped(v, origin) else MORE


cdef inline int at_the_end(const View* v, Py_ssize_t origin) noexcept nogil:
    """The input is over before the follower is: that is the end, if it is the end."""
    return NO if capped(v, origin) else YES if v.end else MORE


cdef inline int match(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t n, uint64_t mask,
                      int* hit) noexcept nogil:
    """Which of the markers in `mask` is at i? YES: *hit. MORE: the input up to n is the beginning of one (or empty)."""
    cdef uint64_t candidates
    cdef const Literal* literal
    cdef Py_ssize_t size, longest = 0
    cdef int k, verdict = NO
    if i >= n:
        return MORE
    candidates = row.first[v.p[i]] & mask
    if v.marks != NULL:
        candidates &= row.by_id if v.special and v.marks[i] & BEGINS_CONTROL else ~row.by_id
        if v.special and v.marks[i] & INERT_ID:
            return NO
    while candidates:
        k = row.heads[lowest_bit(candidates)]
        candidates &= candidates - 1
        while k != NO_LITERAL:
            literal = &row.literals[k]
            size = literal.n if literal.n < n - i else n - i
            if (size < 3 or literal.text[2] == v.p[i + 2]) and memcmp(v.p + i, literal.text, size) == 0 and not (
                    v.special and broken(v, i, size)):
                if size < literal.n:
                    verdict = MORE
                elif size > longest:
                    hit[0] = k
                    if not row.overlaps:
                        return YES
                    longest = size
            k = literal.next
    if longest and (verdict == NO or (v.end and n == v.n)):
        return YES                                         # not the beginning of a longer one
    return verdict


cdef inline bint broken(const View* v, Py_ssize_t i, Py_ssize_t size) noexcept nogil:
    """Does a control or inert id begin inside what looks like a marker?"""
    cdef Py_ssize_t k
    for k in range(i + 1, i + size):
        if v.marks[k] & (BEGINS_CONTROL | INERT_ID):
            return True
    return False


# --- taking bytes out of the view -------------------------------------------------------------------------------------

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


cdef inline void end_in_part(Stream* s, const Context* c, View* v, uint64_t closers) noexcept nogil:
    """The stream ends here, between the arguments of a call, in what may be half a closer, or a cut argument."""
    cdef int k = -1
    s.tags.unread |= match(v, c.row, v.i, v.n, closers, &k) != MORE
    consume(s, c, v, v.n, IN_HEADER)


cdef void drop_special(Stream* s, const Context* c, View* v) noexcept nogil
