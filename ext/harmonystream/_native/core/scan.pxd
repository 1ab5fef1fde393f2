# What JSON's scalars are made of, byte by byte.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.json_scan cimport zero_bytes

cdef enum NumberStage:
    N_START, N_MINUS, N_ZERO, N_DIGITS, N_POINT, N_FRACTION, N_E, N_SIGN, N_EXPONENT


cdef inline bint is_space(uint8_t c) noexcept nogil:
    return c == c' ' or 9 <= c <= 13


cdef inline bint is_plain(uint8_t c) noexcept nogil:
    """Stands for itself in a JSON string."""
    return c >= 0x20 and c != c'"' and c != c'\\'


cdef inline bint are_plain(const uint8_t* p) noexcept nogil:
    """The next eight bytes stand for themselves in a JSON string."""
    cdef uint64_t v
    memcpy(&v, p, 8)
    return (((v - <uint64_t>0x2020202020202020) & ~v & <uint64_t>0x8080808080808080)
            | zero_bytes(v ^ <uint64_t>0x2222222222222222) | zero_bytes(v ^ <uint64_t>0x5C5C5C5C5C5C5C5C)) == 0


cdef inline int number_next(int s, uint8_t c) noexcept nogil:
    """The stage of a JSON number behind its next byte; -1: this is none of it."""
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
    """Where the beginning of a JSON number that stands at i ends, and how far it got."""
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
