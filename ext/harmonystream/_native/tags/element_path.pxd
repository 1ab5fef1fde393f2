# Where the machine is among elements that are open in each other (docs/tags.md, 6). `Stream.header` has their names,
# each with a 0 after it, that of the open value last. A name is that of the tag; `=` and a key follow, if the tag says
# another key. `TaggedCall.path` is the stack of those that are objects or arrays, two bits for each.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcmp, memcpy
from harmonystream._native.core.tools cimport has_parameters, is_parameter, level_inside, parameter_types
from harmonystream._native.core.types cimport *

cdef enum ElementKind:                 # in the stack
    E_ARRAY = 1, E_OBJECT

cdef enum:
    MOST_ELEMENTS = 31                 # objects and arrays that are open inside of each other


cdef inline Py_ssize_t last_name(const Stream* s) noexcept nogil:
    """Where the last name begins."""
    cdef Py_ssize_t i = s.header_n - 1
    while i > 0 and s.header[i - 1] != 0:
        i -= 1
    return i if i > 0 else 0


cdef inline Py_ssize_t key_from(const Stream* s, Py_ssize_t at, Py_ssize_t stop) noexcept nogil:
    """Where the key begins in the name from `at` to `stop`: after the first `=`, or at its beginning."""
    cdef Py_ssize_t i
    for i in range(at, stop):
        if s.header[i] == c'=':
            return i + 1
    return at


cdef inline bint is_tag(const Stream* s, Py_ssize_t at, Py_ssize_t stop, const uint8_t* name,
                        Py_ssize_t n) noexcept nogil:
    """Is this the name of the tag at the beginning of the name from `at` to `stop`?"""
    return n <= stop - at and memcmp(s.header + at, name, n) == 0 and (n == stop - at or s.header[at + n] == c'=')


cdef inline bint is_last(const Stream* s, const uint8_t* name, Py_ssize_t n) noexcept nogil:
    return s.header_n > 0 and is_tag(s, last_name(s), s.header_n - 1, name, n)


cdef inline bint is_open(const Stream* s, const uint8_t* name, Py_ssize_t n) noexcept nogil:
    """Is an element of this name open?"""
    cdef Py_ssize_t i = 0, k
    while i < s.header_n:
        k = i
        while k < s.header_n and s.header[k] != 0:
            k += 1
        if is_tag(s, i, k, name, n):
            return True
        i = k + 1
    return False


cdef inline bint has_room(const Stream* s, Py_ssize_t n) noexcept nogil:
    """May an element with a name of n bytes open here?"""
    return s.header_n + n + 1 <= HEADER_CAP


cdef inline bint has_depth(const Stream* s) noexcept nogil:
    """May the open element be an object or array?"""
    return s.tags.call.tagged.path >> (2 * MOST_ELEMENTS - 2) == 0


cdef inline void push_name(Stream* s, const uint8_t* name, Py_ssize_t n, const uint8_t* key,
                           Py_ssize_t key_n) noexcept nogil:
    """key_n 0: the name is the key."""
    memcpy(s.header + s.header_n, name, n)
    if key_n:
        s.header[s.header_n + n] = c'='
        memcpy(s.header + s.header_n + n + 1, key, key_n)
        n += key_n + 1
    s.header[s.header_n + n] = 0
    s.header_n += <uint16_t>(n + 1)


cdef inline void pop_name(Stream* s) noexcept nogil:
    s.header_n = <uint16_t>last_name(s)


cdef inline int types_of_last(const Stream* s, const ToolTable* tools) noexcept nogil:
    """The types that the schema gives the last element: a mask, 0 for anything."""
    cdef int level = s.tags.tool
    cdef Py_ssize_t i = 0, k = 0
    while True:
        while k < s.header_n and s.header[k] != 0:
            k += 1
        i = key_from(s, i, k)
        if k + 1 >= s.header_n:
            return parameter_types(tools, level, s.header + i, k - i)
        level = level_inside(tools, level, s.header + i, k - i)
        k += 1
        i = k


cdef inline bint may_be_inside(const Stream* s, const ToolTable* tools, const uint8_t* name,
                               Py_ssize_t n) noexcept nogil:
    """May an element of this name be in those that are open? Where the schema names some, it must be one of these."""
    cdef int level = s.tags.tool
    cdef Py_ssize_t i = 0, k = 0
    while i < s.header_n:
        while s.header[k] != 0:
            k += 1
        i = key_from(s, i, k)
        level = level_inside(tools, level, s.header + i, k - i)
        k += 1
        i = k
    return not has_parameters(tools, level) or is_parameter(tools, level, name, n)


cdef inline bint is_path(const Stream* s) noexcept nogil:
    """Are there as many names as elements that are open? (a state from outside)"""
    cdef uint64_t stack = s.tags.call.tagged.path if s.state == PAIRS or s.state == VALUE else 0
    cdef Py_ssize_t i, names = 0, elements = s.state == VALUE
    while stack & 3 and stack & 3 != 3:
        stack >>= 2
        elements += 1
    for i in range(s.header_n):
        names += s.header[i] == 0
        if s.header[i] == 0 and (i == 0 or s.header[i - 1] == 0):
            return False
    return stack == 0 and names == elements and (s.header_n == 0 or s.header[s.header_n - 1] == 0)
