# The grammar of a JSON number, byte by byte.

from libc.stdint cimport uint8_t

cdef enum NumberStage:
    N_START, N_MINUS, N_ZERO, N_DIGITS, N_POINT, N_FRACTION, N_E, N_SIGN, N_EXPONENT


cdef inline int number_next(int s, uint8_t c) noexcept nogil:
    """The stage of a JSON number after its next byte; -1: the byte is not part of it."""
    if c'0' <= c <= c'9':
        if s == N_ZERO:
            return -1
        if s <= N_MINUS:
            return N_ZERO if c == c'0' else N_DIGITS
        return N_EXPONENT if s >= N_E else N_FRACTION if s >= N_POINT else N_DIGITS
    if c == c'-' and s == N_START:
        return N_MINUS
    if c == c'.' and (s == N_ZERO or s == N_DIGITS):
        return N_POINT
    if (c == c'e' or c == c'E') and (s == N_ZERO or s == N_DIGITS or s == N_FRACTION):
        return N_E
    return N_SIGN if (c == c'-' or c == c'+') and s == N_E else -1


cdef inline Py_ssize_t scan_number(const uint8_t* p, Py_ssize_t i, Py_ssize_t n, int* stage) noexcept nogil:
    """Reads a JSON number, or the beginning of one, from i on: returns where it ends, and sets its stage there."""
    cdef int s = N_START, next_stage
    while i < n:
        next_stage = number_next(s, p[i])
        if next_stage < 0:
            break
        s = next_stage
        i += 1
    stage[0] = s
    return i


cdef inline bint number_ends(int stage) noexcept nogil:
    return stage == N_ZERO or stage == N_DIGITS or stage == N_FRACTION or stage == N_EXPONENT


cdef inline bint is_integral(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """A number (or its beginning) without exponent, and with nothing but zeros in its fraction."""
    cdef Py_ssize_t i
    cdef bint fraction = False
    for i in range(n):
        if p[i] == c'.':
            fraction = True
        elif p[i] == c'e' or p[i] == c'E' or (fraction and p[i] != c'0'):
            return False
    return True
