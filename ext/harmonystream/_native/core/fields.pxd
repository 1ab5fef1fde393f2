# The numbers of a state's bytes, little-endian on every machine. One walk over the fields writes them, or reads them.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    /* One move where the machine's own order is this one. */
    static CYTHON_INLINE void hs_store(uint8_t *p, uint64_t value, int size) {
    #if PY_LITTLE_ENDIAN
        memcpy(p, &value, size);
    #else
        for (int i = 0; i < size; i++) p[i] = (uint8_t)(value >> (8 * i));
    #endif
    }
    static CYTHON_INLINE uint64_t hs_load(const uint8_t *p, int size) {
        uint64_t value = 0;
    #if PY_LITTLE_ENDIAN
        memcpy(&value, p, size);
    #else
        for (int i = 0; i < size; i++) value |= (uint64_t)p[i] << (8 * i);
    #endif
        return value;
    }
    """
    void store "hs_store"(uint8_t* p, uint64_t value, int size) noexcept nogil
    uint64_t load "hs_load"(const uint8_t* p, int size) noexcept nogil

cdef struct Fields:
    uint8_t* p                         # what is read, or room for what is written
    Py_ssize_t n, at
    bint writing
    bint truncated                     # there were more fields than bytes; those too many are 0


cdef inline uint64_t field(Fields* f, uint64_t value, int size) noexcept nogil:
    """Writes this value in `size` bytes, or reads one."""
    if size > f.n - f.at:
        f.truncated = True
        return 0
    if f.writing:
        store(f.p + f.at, value, size)
    else:
        value = load(f.p + f.at, size)
    f.at += size
    return value


cdef inline void byte_field(Fields* f, uint8_t* value) noexcept nogil:
    value[0] = <uint8_t>field(f, value[0], 1)


cdef inline void short_field(Fields* f, uint16_t* value) noexcept nogil:
    value[0] = <uint16_t>field(f, value[0], 2)


cdef inline void word_field(Fields* f, uint32_t* value) noexcept nogil:
    value[0] = <uint32_t>field(f, value[0], 4)


cdef inline void long_field(Fields* f, int64_t* value) noexcept nogil:
    value[0] = <int64_t>field(f, <uint64_t>value[0], 8)


cdef inline void bytes_field(Fields* f, uint8_t* value, Py_ssize_t n) noexcept nogil:
    """n of them."""
    if n > f.n - f.at:
        f.truncated = True
        return
    if f.writing:
        memcpy(f.p + f.at, value, n)
    else:
        memcpy(value, f.p + f.at, n)
    f.at += n
