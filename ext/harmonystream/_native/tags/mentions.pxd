# Does text only mention a marker (docs/tags.md, 3)? A person who writes about tags puts them between quotes.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcmp
from harmonystream._native.core.types cimport Literal, STOP, THINK_CLOSE, TagTable
from harmonystream._native.tags.lookahead cimport look_stop
from harmonystream._native.tags.view cimport *


cdef inline bint is_rare(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Has a marker a bar, `|` or U+FF5C, as control tokens have? Nobody mentions it by chance."""
    cdef Py_ssize_t i
    for i in range(n):
        if p[i] == c'|' or (i + 2 < n and memcmp(p + i, b"\xef\xbd\x9c", 3) == 0):
            return True
    return False


cdef inline bint is_prose(const Literal* literal) noexcept nogil:
    """Does it begin with a letter, as `Here is my response:` does?"""
    return c'a' <= (literal.text[0] | 0x20) <= c'z'


cdef inline int look_quote(const View* v, Py_ssize_t i, Py_ssize_t origin) noexcept nogil:
    """Is a closing quote at i? Of an ASCII quote or backquote, what follows it decides: no letter, no digit and nothing
    beyond ASCII."""
    cdef Py_ssize_t n = limit(v, origin)
    cdef uint8_t ch
    if i >= n:
        return NO if v.end or capped(v, origin) else MORE
    ch = v.p[i]
    if is_special(v, i) or not (ch == c'"' or ch == c"'" or ch == c'`' or ch == 0xC2 or ch == 0xE2 or ch == 0xE3):
        return NO
    if i + 1 >= n:
        return undecided(v, origin) if not v.end else YES if ch < 0x80 else NO
    if ch < 0x80:
        ch = v.p[i + 1]
        if ch >= 0x80 and not is_special(v, i + 1):
            return NO
        return NO if c'0' <= ch <= c'9' or c'a' <= (ch | 0x20) <= c'z' else YES
    if ch == 0xC2:
        return YES if v.p[i + 1] == 0xBB else NO                             # U+00BB
    if v.p[i + 1] != 0x80:
        return NO
    if i + 2 >= n:
        return NO if v.end else undecided(v, origin)
    if ch == 0xE2:
        return YES if v.p[i + 2] == 0x99 or v.p[i + 2] == 0x9D else NO       # U+2019, U+201D
    return YES if v.p[i + 2] == 0x8D or v.p[i + 2] == 0x8F else NO           # U+300D, U+300F


cdef inline int look_thought(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t after) noexcept nogil:
    """A think opener at i, which ends at `after`, is inside a line. Does its closer follow, and are both not quoted?"""
    cdef Py_ssize_t x = after, n = limit(v, i)
    cdef uint64_t mask = row.roles[THINK_CLOSE] | row.roles[STOP]
    cdef int k = -1, verdict = look_quote(v, after, i)
    if verdict != NO:
        return MORE if verdict == MORE else NO
    while x < n:
        verdict = match(v, row, x, n, mask, &k) if row.first[v.p[x]] & mask else NO
        if verdict == MORE:
            break
        if verdict == YES and row.literals[k].role == STOP:
            verdict = look_stop(v, row, x, k)
            if verdict != NO:
                return MORE if verdict == MORE else NO
        elif verdict == YES:
            verdict = look_quote(v, x + row.literals[k].n, i)
            return MORE if verdict == MORE else NO if verdict == YES else YES
        x += 1
    return NO if v.end or capped(v, i) else MORE
