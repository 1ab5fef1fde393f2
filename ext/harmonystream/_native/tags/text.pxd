# The states TEXT and SECTION (docs/tags.md, 3 to 5).

from libc.stdint cimport uint8_t
from libc.string cimport memchr
from harmonystream._native.core.chars cimport may_lead
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.view cimport View

cdef bint step_text(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_section(Stream* s, const Context* c, View* v) noexcept nogil
cdef void end_newlines(Stream* s, const Context* c) noexcept nogil
cdef void read_backquotes(Tags* g, const uint8_t* p, Py_ssize_t n) noexcept nogil


cdef inline bint is_text_open(const Stream* s, const Held* held) noexcept nogil:
    """May new text be read without the bytes before it? All shortcuts for text ask this. It may not if these bytes, or
    its place, decide what it is."""
    return s.state == TEXT and held.input.n == 0 and not s.tags.at_start and not s.parted >> s.sink & 1


cdef inline bint decides_at_start(const TagTable* row, bint reasoning) noexcept nogil:
    """May a label begin the thoughts or the answer, or an object the answer?"""
    return row.label.n != 0 or (row.unmarked and not reasoning)


cdef inline bint is_blank(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if p[i] != c' ' and p[i] != c'\n' and p[i] != c'\t':
            return False
    return True


cdef inline void note_spoken(Stream* s, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Notes that the sink has text, if these n bytes are not blank."""
    if not s.spoken >> s.sink & 1 and not is_blank(p, n):
        s.spoken |= 1 << s.sink


cdef inline uint8_t line_after(uint8_t before, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The LineStart after n bytes of text. before: the one before them."""
    cdef Py_ssize_t i = n
    while i > 0 and (p[i - 1] == c' ' or p[i - 1] == c'\t'):
        i -= 1
    if i == 0:
        return LINE_BLANK if before else IN_LINE
    return IN_LINE if p[i - 1] != c'\n' else LINE_BEGINS if i == n else LINE_BLANK


cdef inline void read_line(Tags* g, const uint8_t* p, Py_ssize_t i, Py_ssize_t n) noexcept nogil:
    """After the bytes i to n, does the line have only what may come before a fence?"""
    while n > i and may_lead(p[n - 1]):
        n -= 1
    if n > i:
        g.lead = p[n - 1] == c'\n'


cdef inline void follow_line(Tags* g, const uint8_t* p, Py_ssize_t n, bint backquote) noexcept nogil:
    """Follows the Markdown fences of n bytes of text. backquote: there is one in them."""
    if backquote or g.ticks or g.code == FENCE_INFO or g.code == FENCE_BLANK:
        read_backquotes(g, p, n)
    else:
        read_line(g, p, 0, n)


cdef inline void follow_backquotes(Tags* g, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    follow_line(g, p, n, memchr(p, c'`', n) != NULL)
