# UTF-8, in one place: the length of a character, what may continue one, and encoding. utf8.pyx has what makes a str.

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy


cdef str decoded(const uint8_t* p, Py_ssize_t n)
cdef str without_surrogates(object text)


cdef inline int utf8_length(uint8_t lead) noexcept nogil:
    """Bytes of the character that `lead` begins; 0 if no character begins with it."""
    if lead < 0x80:
        return 1
    if lead < 0xC2:
        return 0
    if lead < 0xE0:
        return 2
    if lead < 0xF0:
        return 3
    return 4 if lead < 0xF5 else 0


cdef inline bint utf8_continues(const uint8_t* head, int n, uint8_t c) noexcept nogil:
    """May c follow the n bytes of an incomplete character? The second byte excludes overlong forms, surrogates and >
    U+10FFFF.
    """
    cdef uint8_t lead = head[0]
    if n == 1:
        if lead == 0xE0:
            return 0xA0 <= c <= 0xBF
        if lead == 0xED:
            return 0x80 <= c <= 0x9F
        if lead == 0xF0:
            return 0x90 <= c <= 0xBF
        if lead == 0xF4:
            return 0x80 <= c <= 0x8F
    return 0x80 <= c <= 0xBF


cdef inline int utf8_subpart(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Bytes of the character at p[0], or of its longest well-formed beginning, which U+FFFD replaces; at least 1. n >
    0.
    """
    cdef int need = utf8_length(p[0]), k = 1
    while k < need and k < n and utf8_continues(p, k, p[k]):
        k += 1
    return k


cdef inline bint utf8_is_whole(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Are these bytes whole characters?"""
    cdef Py_ssize_t i = 0
    cdef int k
    while i < n:
        k = utf8_subpart(p + i, n - i)
        if k != utf8_length(p[i]):
            return False
        i += k
    return True


cdef inline bint utf8_is_incomplete(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Are these bytes the beginning of one character, and not all of it? n > 0."""
    return utf8_length(p[0]) > n and utf8_subpart(p, n) == n


cdef inline Py_ssize_t utf8_repair(const uint8_t* p, Py_ssize_t n, uint8_t* to) noexcept nogil:
    """Copies the bytes with U+FFFD for each ill-formed part; returns how many were written, at most 3 * n."""
    cdef Py_ssize_t i = 0, size = 0
    cdef int k
    while i < n:
        k = utf8_subpart(p + i, n - i)
        if k == utf8_length(p[i]):
            memcpy(to + size, p + i, k)
            size += k
        else:
            memcpy(to + size, b"\xef\xbf\xbd", 3)
            size += 3
        i += k
    return size


cdef inline int utf8_encode(uint32_t code, uint8_t* to) noexcept nogil:
    """Writes a character of up to U+10FFFF, U+FFFD for a surrogate; returns its bytes, 1 to 4."""
    if 0xD800 <= code < 0xE000:
        code = 0xFFFD
    if code < 0x80:
        to[0] = <uint8_t>code
        return 1
    if code < 0x800:
        to[0] = <uint8_t>(0xC0 | code >> 6)
        to[1] = <uint8_t>(0x80 | (code & 63))
        return 2
    if code < 0x10000:
        to[0] = <uint8_t>(0xE0 | code >> 12)
        to[1] = <uint8_t>(0x80 | (code >> 6 & 63))
        to[2] = <uint8_t>(0x80 | (code & 63))
        return 3
    to[0] = <uint8_t>(0xF0 | code >> 18)
    to[1] = <uint8_t>(0x80 | (code >> 12 & 63))
    to[2] = <uint8_t>(0x80 | (code >> 6 & 63))
    to[3] = <uint8_t>(0x80 | (code & 63))
    return 4
