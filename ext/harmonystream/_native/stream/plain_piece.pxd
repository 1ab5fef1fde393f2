# A piece of text that is one delta, unchanged: when it is one, and what reading it changes. core/bulk_tokens.pxd is the
# same for tokens.

from libc.stdint cimport uint8_t
from libc.string cimport memchr
from harmonystream._native.core.json_scan cimport json_step
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.fast_token cimport Body, is_plain_body, take_body
from harmonystream._native.tags.text cimport follow_line, is_text_open, line_after


cdef struct Piece:                 # UTF-8 that the caller owns
    const uint8_t* p
    Py_ssize_t n
    bint backquote                 # with tags: it has one, so Markdown fences must be followed byte by byte
    Body body                      # with tags, in a call: what follows its JSON after this piece


cdef enum:
    FEW = 16                       # bytes that a loop reads faster than two calls of memchr


cdef inline bint is_plain_piece(const Stream* s, const TagTable* row, const Held* held, Piece* piece) noexcept nogil:
    """Is it one delta, unchanged? Sets `piece.backquote` or `piece.body`. row: NULL for Harmony."""
    cdef const uint8_t* p = piece.p
    cdef Py_ssize_t i, n = piece.n
    if s.sink == R_NONE or n == 0 or s.n_pending or s.announce:
        return False
    if row == NULL:
        return s.state == BODY and s.n_held == 0 and memchr(p, c'<', n) == NULL
    if s.sink == R_ARGUMENTS:
        return is_plain_body(s, row, held, p, n, &piece.body)
    if (not is_text_open(s, held) or s.tags.newlines or s.tags.seam or s.tags.line_start or row.only_first < 0
            or p[0] == c'\n' or p[n - 1] == c'\n'):
        return False
    if n > FEW:
        piece.backquote = memchr(p, c'`', n) != NULL
        return memchr(p, row.only_first, n) == NULL
    for i in range(n):
        if p[i] == row.only_first:
            return False
        if p[i] == c'`':
            piece.backquote = True
    return True


cdef inline void account_piece(Stream* s, const TagTable* row, const Piece* piece) noexcept nogil:
    """The stream has taken this piece, which is one delta."""
    s.position += piece.n
    s.attributed = s.position
    s.usage[s.region] += piece.n
    if row == NULL:
        if s.sink == R_ARGUMENTS:
            s.wrote = 1
            json_step(&s.json, piece.p, piece.n)
    elif s.sink == R_ARGUMENTS:
        take_body(s, &piece.body, piece.p, piece.n)
    else:
        follow_line(&s.tags, piece.p, piece.n, piece.backquote)
        s.tags.line_start = line_after(IN_LINE, piece.p, piece.n)
