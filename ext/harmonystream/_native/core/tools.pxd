# The request's tools: their names, and the types of their parameters, sorted so that the machines find them by their
# bytes.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
cimport cython
from harmonystream._native.core.types cimport ToolTable


@cython.final
cdef class Tools:
    cdef ToolTable table
    cdef bytes names, parameter_names    # keep what the table points to alive
    cdef bytes parameter_types, other_types
    cdef uint64_t fingerprint

    cdef int fill(self, dict tools) except -1
    cdef uint64_t hashed(self) noexcept


cdef Tools tools_of(object tools)


cdef inline Py_ssize_t sorted_index(const uint8_t* names, const uint32_t* offset, Py_ssize_t lo, Py_ssize_t hi,
                                    const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Where among the sorted names lo .. hi these bytes are; -1: nowhere."""
    cdef Py_ssize_t mid, size
    cdef int order
    while lo < hi:
        mid = (lo + hi) // 2
        size = offset[mid + 1] - offset[mid]
        order = memcmp(names + offset[mid], p, min(size, n)) if n > 0 else 0
        if order == 0:
            if size == n:
                return mid
            order = -1 if size < n else 1
        if order < 0:
            lo = mid + 1
        else:
            hi = mid
    return -1


cdef inline int tool_index(const ToolTable* t, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The declared tool with this name; -1: there is none, or the tools are unknown."""
    return <int>sorted_index(t.names, t.offset, 0, t.n, p, n)


cdef bint find_name(const ToolTable* t, const uint8_t* p, Py_ssize_t n, bint numbered,
                    Py_ssize_t* at, Py_ssize_t* size) noexcept nogil


cdef inline bint names_tool(const ToolTable* t, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Is this the name of a declared tool, perhaps with more around it?"""
    cdef Py_ssize_t at = 0, size = 0
    return tool_index(t, p, n) >= 0 or (t.n > 0 and find_name(t, p, n, False, &at, &size))


cdef inline bint begins_tool(const ToolTable* t, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Does the name of a declared tool begin with these bytes?"""
    cdef Py_ssize_t lo = 0, hi = t.n, mid
    while lo < hi:
        mid = (lo + hi) // 2
        if order_of(t.names + t.offset[mid], t.offset[mid + 1] - t.offset[mid], p, n) < 0:
            lo = mid + 1
        else:
            hi = mid
    return lo < t.n and <Py_ssize_t>(t.offset[lo + 1] - t.offset[lo]) >= n and (
        memcmp(t.names + t.offset[lo], p, n) == 0)


cdef inline int order_of(const uint8_t* a, Py_ssize_t n_a, const uint8_t* b, Py_ssize_t n_b) noexcept nogil:
    cdef int order = memcmp(a, b, min(n_a, n_b))
    return order if order else -1 if n_a < n_b else n_a > n_b


cdef inline bint has_parameters(const ToolTable* t, int tool) noexcept nogil:
    """Is the tool declared with any? (tool may be -1)"""
    return tool >= 0 and t.parameters[tool + 1] > t.parameters[tool]


cdef inline bint is_parameter(const ToolTable* t, int tool, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Has the tool a parameter of this name?"""
    return sorted_index(t.parameter_names, t.parameter_offset, t.parameters[tool], t.parameters[tool + 1], p, n) >= 0


cdef inline int parameter_types(const ToolTable* t, int tool, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The mask of the tool's parameter with this name, declared or not; 0: untyped (tool may be -1)."""
    cdef Py_ssize_t i
    if tool < 0:
        return 0
    i = sorted_index(t.parameter_names, t.parameter_offset, t.parameters[tool], t.parameters[tool + 1], p, n)
    return t.parameter_types[i] if i >= 0 else t.other_types[tool]


cdef inline int level_inside(const ToolTable* t, int level, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The level inside of the parameter with this name, of a tool or of another level; -1: nothing is known of it."""
    cdef Py_ssize_t i
    cdef uint32_t inside
    if level < 0 or t.inside == NULL:
        return -1
    i = sorted_index(t.parameter_names, t.parameter_offset, t.parameters[level], t.parameters[level + 1], p, n)
    inside = t.inside[i] if i >= 0 else t.other_inside[level]
    return <int>inside if inside else -1
