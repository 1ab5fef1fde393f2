# The words and numbers of Python, in JSON: 1_000, .5, 1., 0x10, +1, 07, True, None. Also JSON's own words, because
# models mix them up.

from libc.stdint cimport uint8_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy, memmove, strlen
from harmonystream._native.core.chars cimport hex_digit

cdef enum:
    SCALAR_CAP = 256                             # bytes of a number or word


cdef inline Py_ssize_t copy_digits(const uint8_t* p, Py_ssize_t i, Py_ssize_t n, uint8_t* out, int* m) noexcept nogil:
    """Digits from i on, with single underscores between them, which are left out. Returns where they end."""
    while i < n and c'0' <= p[i] <= c'9':
        out[m[0]] = p[i]
        m[0] += 1
        i += 1
        if i + 1 < n and p[i] == c'_' and c'0' <= p[i + 1] <= c'9':
            i += 1
    return i


cdef inline int based_json(const uint8_t* p, Py_ssize_t i, Py_ssize_t n, uint8_t* out, int m) noexcept nogil:
    """0x10, 0o17 and 0b1 in decimal digits, if they fit 64 bits; else 0."""
    cdef int digit, bits = 4 if p[i + 1] | 0x20 == c'x' else 3 if p[i + 1] | 0x20 == c'o' else 1
    cdef uint64_t value = 0
    i += 2
    if i == n or p[n - 1] == c'_':
        return 0
    while i < n:
        if p[i] == c'_' and p[i + 1] != c'_':
            i += 1
        digit = hex_digit(p[i])
        if digit < 0 or digit >> bits or value >> (64 - bits):
            return 0
        value = value << bits | <uint64_t>digit
        i += 1
    return m + snprintf(<char*>out + m, 24, b"%llu", <unsigned long long>value)


cdef inline int plain_number(const uint8_t* p, Py_ssize_t n, uint8_t* out) noexcept nogil:
    """The JSON number that these bytes say to Python; 0: they say something else."""
    cdef Py_ssize_t i = 0, at, begin
    cdef int m = 0, first
    cdef Py_ssize_t whole
    if p[0] == c'-' or p[0] == c'+':
        out[0] = c'-'
        m = p[0] == c'-'
        i = 1
    if i + 1 < n and p[i] == c'0' and (
            p[i + 1] | 0x20 == c'x' or p[i + 1] | 0x20 == c'o' or p[i + 1] | 0x20 == c'b'):
        return based_json(p, i, n, out, m)
    begin = i
    first = m
    i = copy_digits(p, i, n, out, &m)
    whole = i - begin
    while m - first > 1 and out[first] == c'0':
        m -= 1
        memmove(out + first, out + first + 1, m - first)
    if whole == 0:
        out[m] = c'0'
        m += 1
    if i < n and p[i] == c'.':
        out[m] = c'.'
        m += 1
        at = copy_digits(p, i + 1, n, out, &m)
        if at == i + 1:
            if whole == 0:
                return 0
            out[m] = c'0'
            m += 1
        i = at
    elif whole == 0:
        return 0
    if i < n and p[i] | 0x20 == c'e':
        out[m] = c'e'
        m += 1
        i += 1
        if i < n and (p[i] == c'-' or p[i] == c'+'):
            out[m] = p[i]
            m += 1
            i += 1
        at = copy_digits(p, i, n, out, &m)
        if at == i:
            return 0
        i = at
    return m if i == n else 0


cdef inline int number_json(const uint8_t* p, Py_ssize_t n, uint8_t* out, bint is_key) noexcept nogil:
    """Writes the number or word, between quotes if it is a key, into `out`, which has room for n + 32 bytes.

    Returns how many bytes; 0: it is neither.
    """
    cdef const char** words = [b"True", b"true", b"False", b"false", b"None", b"null"]
    cdef int i, m = 0
    for i in range(6):
        if n == <Py_ssize_t>strlen(words[i]) and memcmp(p, words[i], n) == 0:
            m = <int>strlen(words[i | 1])
            memcpy(out + is_key, words[i | 1], m)
    if m == 0:
        m = plain_number(p, n, out + is_key)
    if m and is_key:
        out[0] = out[m + 1] = c'"'
        m += 2
    return m
