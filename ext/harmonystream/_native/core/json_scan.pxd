# The incremental JSON scanner: is the value complete, and where did it end? Three small variables and a stage; it never
# looks back. It follows strings and nesting only: a value may be balanced and still not be valid JSON.

from libc.stdint cimport uint8_t, uint64_t
from harmonystream._native.core.chars cimport is_json_space, lowest_bit, quotes_and_backslashes
from harmonystream._native.core.types cimport Json

cdef enum JsonStage:
    # before, inside a bare scalar, inside a string or container, after the value
    J_NOTHING, J_SCALAR, J_OPEN, J_CLOSED


cdef inline void json_reset(Json* j) noexcept nogil:
    j.depth = 0
    j.count = 0
    j.end = -1
    j.in_string = j.escape = j.broken = j.scalar = j.matched = 0
    j.stage = J_NOTHING


cdef inline bint scalar_whole(const Json* j) noexcept nogil:
    """A number that ends in a digit, or all of true, false, null."""
    return j.matched == (1 if j.scalar == c'0' else 5 if j.scalar == c'f' else 4)


cdef inline bint json_balanced(const Json* j) noexcept nogil:
    """One whole value so far, and nothing but whitespace around it. A bare scalar counts: it may be over."""
    return not j.broken and (j.stage == J_CLOSED or (j.stage == J_SCALAR and scalar_whole(j)))


cdef inline void json_close(Json* j, Py_ssize_t i) noexcept nogil:
    j.stage = J_CLOSED
    j.end = j.count + i


cdef inline void scalar_step(Json* j, uint8_t c) noexcept nogil:
    cdef const char* word
    if j.stage == J_NOTHING:
        j.stage = J_SCALAR
        j.scalar = c'0' if c == c'-' or c'0' <= c <= c'9' else c
        j.matched = c != c'-'
        j.broken |= j.scalar != c'0' and c != c't' and c != c'f' and c != c'n'
    elif j.scalar == c'0':
        j.matched = c'0' <= c <= c'9'
        j.broken |= not j.matched and c != c'.' and c != c'e' and c != c'E' and c != c'+' and c != c'-'
    else:
        word = b"true" if j.scalar == c't' else b"false" if j.scalar == c'f' else b"null"
        if j.matched < 5 and c == <uint8_t>word[j.matched]:
            j.matched += 1
        else:
            j.broken = 1


cdef inline void json_step(Json* j, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Reads these bytes."""
    cdef Py_ssize_t i = 0
    cdef uint64_t found
    cdef uint8_t c
    while i < n:
        c = p[i]
        i += 1
        if j.in_string:
            if j.escape:
                j.escape = 0
                continue
            while i + 8 <= n:
                found = quotes_and_backslashes(p + i - 1)
                if found:
                    i += lowest_bit(found) >> 3
                    break
                i += 8
            c = p[i - 1]
            if c == c'\\':
                if i < n:
                    i += 1                                                   # whatever it escapes
                else:
                    j.escape = 1
            elif c == c'"':
                j.in_string = 0
                if j.depth == 0:
                    json_close(j, i)
        elif is_json_space(c):
            if j.stage == J_SCALAR:
                j.broken |= not scalar_whole(j)
                json_close(j, i - 1)
        elif c == c'}' or c == c']':
            if j.depth > 0:
                j.depth -= 1
                if j.depth == 0:
                    json_close(j, i)
            else:
                j.broken = 1
        elif j.stage == J_CLOSED:
            j.broken = 1
        elif c == c'{' or c == c'[' or c == c'"':
            j.broken |= j.stage == J_SCALAR
            j.stage = J_OPEN
            if c == c'"':
                j.in_string = 1
            else:
                j.depth += 1
        elif j.stage != J_OPEN:
            scalar_step(j, c)
    j.count += n


cdef inline Py_ssize_t open_run(const Json* j, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """How many of these bytes belong to the string or container that is open. Changes nothing."""
    cdef Json copy = j[0]
    json_step(&copy, p, n)
    return copy.end - j.count if copy.stage == J_CLOSED else n
