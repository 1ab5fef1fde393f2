# A piece of text that is one delta as it is: what it is, and what taking it changes. The twin of core/bulk_tokens.pxd.

from libc.stdint cimport uint8_t
from libc.string cimport memchr
from harmonystream._native.core.json_scan cimport json_step
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.text cimport follow_backquotes


cdef struct Piece:                 # UTF-8 that somebody else owns
    const uint8_t* p
    Py_ssize_t n


cdef inline bint is_plain_piece(const Stream* s, const TagTable* row, const Held* held, const uint8_t* p,
                                Py_ssize_t n) noexcept nogil:
    """Is it one delta as it is? row: NULL for Harmony."""
    if s.sink == R_NONE or n == 0 or s.n_pending or s.announce:
        return False
    if row == NULL:
        return s.state == BODY and s.n_held == 0 and memchr(p, c'<', n) == NULL
    return (s.state == TEXT and not (held.input.n or s.tags.newlines or s.tags.seam or s.tags.line_start)
            and row.only_first >= 0
            and p[0] != c'\n' and p[n - 1] != c'\n' and memchr(p, row.only_first, n) == NULL)


cdef inline void account_piece(Stream* s, const TagTable* row, const Piece* piece) noexcept nogil:
    """The stream has taken this piece, which is one delta."""
    s.position += piece.n
    s.attributed = s.position
    s.usage[s.region] += piece.n
    if s.sink == R_ARGUMENTS:
        s.wrote = 1
        json_step(&s.json, piece.p, piece.n)
    elif row != NULL:
        follow_backquotes(&s.tags, piece.p, piece.n)
