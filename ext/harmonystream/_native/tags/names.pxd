# What may be the name of a call (docs/tags.md, 4), and the key of an argument of a Python call (5).

from libc.stdint cimport uint8_t
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.tools cimport tool_index
from harmonystream._native.core.types cimport NAME_CAP, ToolTable
from harmonystream._native.tags.view cimport *


cdef inline bint is_bad(uint8_t c) noexcept nogil:
    """Bytes that no name has: control characters, quotes, brackets and what separates."""
    return (c < 32 or c == 127 or c == c'<' or c == c'>' or c == c'{' or c == c'}' or c == c'[' or c == c']'
            or c == c'(' or c == c')' or c == c'"' or c == c"'" or c == c'`' or c == c'=' or c == c',' or c == c';')


cdef inline bint is_good(const View* v, const ToolTable* tools, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if n == 0:
        return False
    for i in range(at, at + n):
        if is_json_space(v.p[i]):
            return tool_index(tools, v.p + at, n) >= 0
    return True


cdef inline bint is_name(const ToolTable* tools, const uint8_t* name, int n) noexcept nogil:
    """Good, or that of a declared tool: a model that quotes the instructions writes {"name": "<function-name>"}."""
    cdef int i
    if tool_index(tools, name, n) >= 0:
        return True
    for i in range(n):
        if is_bad(name[i]) or is_json_space(name[i]):
            return False
    return True


cdef inline bint is_word_byte(uint8_t c) noexcept nogil:
    """A byte of a key, and of a word or number but for its signs."""
    return c'0' <= c <= c'9' or c'a' <= (c | 0x20) <= c'z' or c == c'_' or c == c'-' or c == c'.' or c >= 0x80


cdef inline int look_key_equals(const View* v, Py_ssize_t i, Py_ssize_t origin, Py_ssize_t* size,
                                Py_ssize_t* stop) noexcept nogil:
    """A key and `=`? YES: it has `size` bytes, and *stop is after the `=`."""
    cdef Py_ssize_t n = limit(v, origin), x = i
    while x < n and is_word_byte(v.p[x]) and not is_special(v, x) and x - i <= NAME_CAP:
        x += 1
    size[0] = x - i
    if size[0] > NAME_CAP or (size[0] == 0 and x < n):
        return NO
    x = skip_ws(v, x, n)
    if x == n:
        return undecided(v, origin)
    if v.p[x] != c'=' or is_special(v, x):
        return NO
    stop[0] = x + 1
    if x + 1 == n:
        return at_the_end(v, origin)
    return NO if v.p[x + 1] == c'=' and not is_special(v, x + 1) else YES


cdef inline int look_python(const View* v, const ToolTable* tools, Py_ssize_t i, Py_ssize_t origin, bint alone,
                            Py_ssize_t* stop) noexcept nogil:
    """Is a Python call's name from i up to *stop? alone: no opener and no array says so, so its name or its arguments
    must."""
    cdef Py_ssize_t n = limit(v, origin), x = i, size = 0, end = 0
    while x < n and v.p[x] != c'(':
        if is_special(v, x) or x - i >= NAME_CAP or (is_json_space(v.p[x]) and not tools.max_spaces) or (
                is_bad(v.p[x]) and not is_json_space(v.p[x])):
            return NO
        x += 1
    if x == n:
        return undecided(v, origin)
    stop[0] = x
    if x == i or is_special(v, x) or is_json_space(v.p[i]) or is_json_space(v.p[x - 1]) or (
            not is_good(v, tools, i, x - i)):
        return NO
    if not alone or tools.n >= 0:
        return YES if not alone or tool_index(tools, v.p + i, x - i) >= 0 else NO
    x = skip_ws(v, x + 1, n)
    if x < n and v.p[x] == c')' and not is_special(v, x):
        return YES
    return look_key_equals(v, x, origin, &size, &end)
