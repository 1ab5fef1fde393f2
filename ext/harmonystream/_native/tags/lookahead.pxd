# Looking ahead (docs/tags.md, 2): what stands at a place, and does what must follow follow? Reads, and changes nothing but the memory of
# how far a wrapped call has been looked through.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp
from harmonystream._native.core.chars cimport hex_digit, is_json_space
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_encode

cdef enum Verdict:
    NO, YES, MORE                                # MORE: not enough input to tell
    VOID                                         # a header that is markup, but no call
    ALL_TEXT                                     # a long look that failed: what it has seen is text, and is not looked at again

cdef struct View:                                # the input that is not yet consumed
    const uint8_t* p
    const uint8_t* marks                         # a Mark for each byte; NULL: text mode
    Py_ssize_t i, n
    bint end                                     # nothing will follow
    bint special                                 # some marks are of control or inert ids

cdef struct Header:                              # of a call
    Py_ssize_t stop                              # where it ends
    Py_ssize_t name_at, name_n
    Py_ssize_t key_at, key_n                     # its first key, whose opener is missing
    int64_t object_name                          # wrapped: where the name stands in the input
    uint8_t body                                 # the state that the call begins in; SECTION: it is over
    uint8_t repeated, bare, in_section, array


cdef struct Key:                                 # of a value
    Py_ssize_t at, n, stop                       # stop: where the value begins; 0: the key's end is not there
    uint8_t typed, missing                       # what its end says of the type; an opener is missing


cdef inline bint is_special(const View* v, Py_ssize_t i) noexcept nogil:
    return v.special and v.marks[i] & (BEGINS_CONTROL | INERT_ID) != 0


cdef inline Py_ssize_t skip_ws(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    while i < n and is_json_space(v.p[i]):
        i += 1
    return i


cdef inline bint capped(const View* v, Py_ssize_t origin) noexcept nogil:
    return v.n - origin >= LOOK_CAP


cdef inline Py_ssize_t limit(const View* v, Py_ssize_t origin) noexcept nogil:
    return origin + LOOK_CAP if capped(v, origin) else v.n


cdef inline int match(const View* v, const TagTable* t, Py_ssize_t i, Py_ssize_t n, uint64_t mask, int* hit) noexcept nogil:
    """Which of the markers in `mask` stands at i? YES: *hit; MORE: the input up to n is the beginning of one (or empty)."""
    cdef uint64_t candidates
    cdef Py_ssize_t size
    cdef int k, verdict = NO
    if i >= n:
        return MORE
    candidates = t.first[v.p[i]] & mask
    if v.marks != NULL:
        candidates &= t.by_id if v.special and v.marks[i] & BEGINS_CONTROL else ~t.by_id
        if v.special and v.marks[i] & INERT_ID:
            return NO
    while candidates:
        k = lowest_bit(candidates)
        candidates &= candidates - 1
        size = t.literals[k].n if t.literals[k].n < n - i else n - i
        if memcmp(v.p + i, t.literals[k].text, size) != 0 or (v.special and broken(v, i, size)):
            continue
        if size == t.literals[k].n:
            hit[0] = k
            return YES
        verdict = MORE
    return verdict


cdef inline bint broken(const View* v, Py_ssize_t i, Py_ssize_t size) noexcept nogil:
    """Does a control or inert id begin inside what looks like a marker?"""
    cdef Py_ssize_t k
    for k in range(i + 1, i + size):
        if v.marks[k] & (BEGINS_CONTROL | INERT_ID):
            return True
    return False


cdef extern from *:
    """
    #if defined(_MSC_VER)
      #include <intrin.h>
      static __forceinline int hs_lowest_bit(unsigned long long v) { unsigned long i; _BitScanForward64(&i, v); return (int)i; }
    #else
      #define hs_lowest_bit(v) __builtin_ctzll(v)
    #endif
    """
    int lowest_bit "hs_lowest_bit"(uint64_t v) noexcept nogil


cdef int look_follow(const View* v, const TagTable* t, Py_ssize_t i, Py_ssize_t origin, uint64_t mask) noexcept nogil
cdef int look_stop(const View* v, const TagTable* t, Py_ssize_t i, int k) noexcept nogil
cdef int look_header(const View* v, const Context* c, Stream* s, Py_ssize_t i, bint at_line_start, Header* h) noexcept nogil
cdef int look_value_end(const View* v, const Context* c, const Stream* s, Py_ssize_t i, bint at_line_start, Py_ssize_t origin, Py_ssize_t* stop, int* hit) noexcept nogil
cdef int look_raw_end(const View* v, const TagTable* t, Py_ssize_t i, Py_ssize_t origin, bint closed, int* hit) noexcept nogil
cdef int look_key(const View* v, const TagTable* t, Py_ssize_t i, Py_ssize_t origin, Key* key) noexcept nogil
cdef int look_object(const View* v, const Context* c, Stream* s, Py_ssize_t i, Py_ssize_t origin, Header* h) noexcept nogil
cdef bint read_object_name(const View* v, int64_t at, uint8_t* name, int* size) noexcept nogil
cdef int unicode_escape(const uint8_t* p) noexcept nogil
cdef uint8_t simple_escape(uint8_t c) noexcept nogil
cdef int backquotes(const View* v, Py_ssize_t i, Py_ssize_t n) noexcept nogil
