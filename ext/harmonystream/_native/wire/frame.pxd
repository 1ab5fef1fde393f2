# A frame as C sees it: pieces of bytes, and holes between them for text and numbers. Filling one needs no GIL.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    DIGITS = 20                        # of a number, or a sign and 19

cdef struct FramePiece:
    const uint8_t* p
    Py_ssize_t n
    uint8_t hole                       # what follows the bytes: c't' text, c'n' a number, 0 nothing (the last piece)

cdef struct Pieces:
    FramePiece* items
    Py_ssize_t n
    Py_ssize_t size                    # of all pieces together
    Py_ssize_t texts, numbers          # holes of each kind
    bint silent

cdef struct Filling:                   # the text and the number for the holes
    const uint8_t* text
    Py_ssize_t n
    uint8_t[DIGITS] number
    int digits


@cython.final
cdef class Frame:
    cdef Pieces pieces
    cdef tuple parts                   # owns what the pieces point to
    cdef bytes holes


cdef inline int number_text(int64_t number, uint8_t* to) noexcept nogil:
    """Decimal digits, with a sign if it is negative; how many."""
    cdef uint8_t[DIGITS] digits
    cdef uint64_t rest = <uint64_t>number
    cdef int n = 0, at = 0, i
    if number < 0:
        to[0] = c'-'
        at = 1
        rest = 0 - rest
    while True:
        digits[n] = <uint8_t>(c'0' + rest % 10)
        n += 1
        rest //= 10
        if rest == 0:
            break
    for i in range(n):
        to[at + i] = digits[n - 1 - i]
    return at + n


cdef inline Py_ssize_t fill_with(Filling* filling, const Pieces* frame, const uint8_t* text, Py_ssize_t n,
                                 int64_t number) noexcept nogil:
    """The size of the frame with this in its holes."""
    filling.text = text
    filling.n = n
    filling.digits = number_text(number, filling.number) if frame.numbers else 0
    return frame.size + frame.texts * n + frame.numbers * filling.digits


cdef inline void fill(const Pieces* frame, uint8_t* to, const Filling* filling) noexcept nogil:
    """The frame with its holes filled; there is room for it."""
    cdef const FramePiece* piece = frame.items
    while True:
        memcpy(to, piece.p, piece.n)
        to += piece.n
        if piece.hole == c't':
            memcpy(to, filling.text, filling.n)
            to += filling.n
        elif piece.hole == c'n':
            memcpy(to, filling.number, filling.digits)
            to += filling.digits
        else:
            return
        piece += 1
