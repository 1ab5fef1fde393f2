# FNV-1a, 64 bits: detects that two things differ by mistake. It does not protect against collisions made on purpose.

from libc.stdint cimport uint8_t, uint64_t


cdef inline uint64_t fnv_empty() noexcept nogil:
    """The hash of nothing."""
    return <uint64_t>0xCBF29CE484222325


cdef inline uint64_t fnv_number(uint64_t h, uint64_t number) noexcept nogil:
    """Adds this number to the hash `h` in one step."""
    return (h ^ number) * <uint64_t>0x100000001B3


cdef inline uint64_t fnv_bytes(uint64_t h, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The hash of what `h` is the hash of and these bytes."""
    cdef Py_ssize_t i
    for i in range(n):
        h = fnv_number(h, p[i])
    return h
