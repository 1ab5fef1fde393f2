# Bytes on the heap that grow as needed, for code without the GIL. A Buffer begins as zeros and ends with buffer_free().

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy
from harmonystream._native.core.types cimport Buffer


cdef inline bint buffer_room(Buffer* b, Py_ssize_t n) noexcept nogil:
    """Room for n more bytes; False without memory, and then nothing has changed."""
    cdef Py_ssize_t cap
    cdef uint8_t* p
    if n <= b.cap - b.n:
        return True
    cap = max(b.n + n, 2 * b.cap, 64)
    p = <uint8_t*>realloc(b.p, cap)
    if p == NULL:
        return False
    b.p = p
    b.cap = cap
    return True


cdef inline bint buffer_put(Buffer* b, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Append n bytes; False without memory, and then nothing has changed."""
    if not buffer_room(b, n):
        return False
    if n > 0:
        memcpy(b.p + b.n, p, n)
        b.n += n
    return True


cdef inline void buffer_clear(Buffer* b, Py_ssize_t most) noexcept nogil:
    """Nothing is in it. Its memory stays, unless it is more than `most` bytes."""
    b.n = 0
    if b.cap > most:
        buffer_free(b)


cdef inline void buffer_free(Buffer* b) noexcept nogil:
    free(b.p)
    b.p = NULL
    b.n = b.cap = 0
