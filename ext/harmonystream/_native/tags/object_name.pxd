# The name of a wrapped call: the decoded value of the member "name" (docs/tags.md, 5).

from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.core.chars cimport hex_digit, is_json_space
from harmonystream._native.core.types cimport NAME_CAP
from harmonystream._native.core.utf8 cimport utf8_encode
from harmonystream._native.tags.view cimport View, is_special


cdef inline int unicode_escape(const uint8_t* p) noexcept nogil:
    """Four hexadecimal digits; -1: the bytes are something else."""
    cdef int i, digit, code = 0
    for i in range(4):
        digit = hex_digit(p[i])
        if digit < 0:
            return -1
        code = code << 4 | digit
    return code


cdef inline uint8_t simple_escape(uint8_t c) noexcept nogil:
    """The character that a backslash and c spell; c itself if it is no letter of JSON's escapes."""
    if c == c'b':
        return 8
    if c == c'f':
        return 12
    return c'\n' if c == c'n' else c'\t' if c == c't' else c'\r' if c == c'r' else c


cdef inline int without_comma(const uint8_t* name, int n) noexcept nogil:
    """The length of the name, if a comma and ws come after it."""
    if n < 2 or name[n - 1] != c',':
        return 0
    n -= 1
    while n > 0 and is_json_space(name[n - 1]):
        n -= 1
    return n


cdef inline bint read_bare_name(const View* v, Py_ssize_t i, uint8_t* name, int* size) noexcept nogil:
    """As read_object_name(), where the first quote of the name is missing, or its quotes are other ones."""
    cdef int n = 0, begin = 0, k
    while i < v.n and (is_special(v, i) or not (v.p[i] == c',' or v.p[i] == c'}' or is_json_space(v.p[i]))):
        if n > NAME_CAP + 4:
            return False
        if not is_special(v, i):
            name[n] = v.p[i]
            n += 1
        i += 1
    if n > 0 and name[n - 1] in b"\"'`":
        n -= 1
    if n > 0 and name[0] in b"'`":
        begin = 1
    n -= begin
    for k in range(n):
        name[k] = name[begin + k]
    size[0] = n
    return 0 < n <= NAME_CAP


cdef inline bint read_object_name(const View* v, int64_t at, bint python, uint8_t* name, int* size) noexcept nogil:
    """The string whose quote is at `at`, decoded and without ws around it: a name of 1 to 256 bytes, or False.

    The string's end is in the input. python: the quote may be a single one.
    """
    cdef uint8_t quote = v.p[at]
    cdef Py_ssize_t i = <Py_ssize_t>at + 1
    cdef int n = 0, code, low
    if quote != c'"' and not (python and quote == c"'"):
        return read_bare_name(v, <Py_ssize_t>at, name, size)
    while i < v.n and v.p[i] != quote:                      # a restored state may be wrong about where the string ends
        if n > NAME_CAP + 4:
            return False
        if is_special(v, i):                               # an inert id, which is dropped
            i += 1
            continue
        if v.p[i] != c'\\':
            name[n] = v.p[i]
            n += 1
            i += 1
            continue
        i += 2
        if i >= v.n:
            return False
        if v.p[i - 1] != c'u':
            name[n] = simple_escape(v.p[i - 1])
            n += 1
            continue
        code = unicode_escape(v.p + i) if i + 4 < v.n else -1
        if code < 0:
            return False
        i += 4
        if 0xD800 <= code < 0xDC00 and i + 6 < v.n and v.p[i] == c'\\' and v.p[i + 1] == c'u':
            low = unicode_escape(v.p + i + 2)
            if 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                i += 6
        n += utf8_encode(<uint32_t>code, name + n)
    while n > 0 and is_json_space(name[n - 1]):
        n -= 1
    i = 0
    while i < n and is_json_space(name[i]):
        i += 1
    n -= <int>i
    for code in range(n):
        name[code] = name[i + code]
    size[0] = n
    return 0 < n <= NAME_CAP
