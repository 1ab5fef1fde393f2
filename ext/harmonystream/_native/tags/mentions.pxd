# Does text only mention a marker (docs/tags.md, 3)? A person who writes about tags puts them between quotes.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr, memcmp
from harmonystream._native.core.types cimport Literal, STOP, THINK_CLOSE, TagTable
from harmonystream._native.tags.lookahead cimport look_stop
from harmonystream._native.tags.view cimport *


cdef enum:
    THOUGHT_TAG = 32                             # bytes of a tag that is named after thoughts, at most


cdef inline bint is_rare(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Has a marker a bar, `|` or U+FF5C, as control tokens have? Such a marker is not written by chance."""
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


cdef inline int look_sentence(const View* v, Py_ssize_t i, Py_ssize_t origin) noexcept nogil:
    """Does a sentence go on at i: a closing quote, a mark of punctuation, or a space and a small letter?"""
    cdef int verdict = look_quote(v, i, origin)
    cdef Py_ssize_t n = limit(v, origin)
    if verdict != NO or i >= n or is_special(v, i):
        return verdict
    if memchr(b".,;:!?)", v.p[i], 7) != NULL:
        return YES
    if v.p[i] != c' ':
        return NO
    if i + 1 == n:
        return NO if v.end else undecided(v, origin)
    return YES if c'a' <= v.p[i + 1] <= c'z' and not is_special(v, i + 1) else NO


cdef inline int look_code_end(const View* v, Py_ssize_t i, Py_ssize_t origin) noexcept nogil:
    """Do one or two backquotes at i close inline code? They do if its line has an even number of such runs after them.
    Otherwise they open some."""
    cdef Py_ssize_t n = limit(v, origin), x = i, run, size = 0
    cdef bint closes = False
    while x < n and not is_special(v, x) and v.p[x] != c'\n':
        run = x
        while x < n and v.p[x] == c'`' and not is_special(v, x):
            x += 1
        run = x - run
        if run == 0 and size == 0:
            return NO
        if run == 0:
            x += 1
            continue
        if size == 0 and run > 2:
            return NO
        size = size if size else run
        closes ^= run == size
    if x == n and capped(v, origin):
        return NO
    if x == n and not v.end:
        return MORE
    return YES if closes else NO


cdef inline int look_thought_word(const View* v, Py_ssize_t i, Py_ssize_t n, bint whole) noexcept nogil:
    """Are the n letters at i a word for thoughts or, unless they are the whole word, its beginning?"""
    cdef const char* word
    cdef int k
    cdef Py_ssize_t x
    for k in range(4):
        word = b"thinking" if k == 0 else b"think" if k == 1 else b"thoughts" if k == 2 else b"reasoning"
        x = 0
        while x < n and word[x] and word[x] == v.p[i + x] | 0x20:
            x += 1
        if x == n and (not whole or word[x] == 0 or (word[x] == c's' and word[x + 1] == 0)):
            return YES
    return NO


cdef inline int look_thought_tag(const View* v, Py_ssize_t i, Py_ssize_t* stop, bint* closes) noexcept nogil:
    """Is a tag at i that is named after thoughts, in whatever way: <thinking>, </Thought>, <//think>?"""
    cdef Py_ssize_t n = i + THOUGHT_TAG if v.n - i > THOUGHT_TAG else v.n, x = i + 1, at
    if v.p[i] != c'<' or is_special(v, i):
        return NO
    while x < n and (v.p[x] == c' ' or v.p[x] == c'/' or v.p[x] == c'\\') and not is_special(v, x):
        closes[0] |= v.p[x] != c' '
        x += 1
    at = x
    while x < n and c'a' <= v.p[x] | 0x20 <= c'z' and not is_special(v, x):
        x += 1
    if look_thought_word(v, at, x - at, x < n) != YES:
        return NO
    while x < n and v.p[x] == c' ' and not is_special(v, x):
        x += 1
    if x == n:
        return NO if v.end or n < v.n or n - i == THOUGHT_TAG else MORE
    stop[0] = x + 1
    return YES if v.p[x] == c'>' and not is_special(v, x) else NO


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
