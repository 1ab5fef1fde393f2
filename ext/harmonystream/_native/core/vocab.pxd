# id -> bytes, and which ids are control ids: one blob, immutable, shared by threads.

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr
cimport cython
from harmonystream._native.core.chars cimport is_literal
from harmonystream._native.core.types cimport ESCAPES, PLAIN, QUIET

cdef enum:
    MAX_IDS = 1 << 24

cdef enum VocabFlag:
    V_VALID = 1        # not empty, and whole UTF-8 characters
    V_MISSING = 2      # a hole
    V_CONTROL = 4


@cython.final
cdef class Vocab:
    cdef uint8_t* text             # padded by 16 bytes
    cdef uint32_t* offset          # n + 1
    cdef uint8_t* flags            # n, VocabFlag
    cdef uint32_t n
    cdef readonly str name
    cdef dict by_name              # control name -> id
    cdef dict programs             # id of a row -> the Program of it on this vocabulary, which keeps the row
    cdef uint64_t hashed           # the fingerprint
    cdef object encoder             # text -> ids (vocabs/encoders.py), or None
    cdef Py_buffer* view           # of a file, in which text, offset and flags lie; NULL: they are on the heap
    cdef readonly str path         # that file's; None: it was not loaded from one
    cdef object __weakref__

    cdef int allocate(self, Py_ssize_t n, Py_ssize_t bytes) except -1
    cdef int seal(self, object control) except -1
    cdef uint64_t hash_all(self) noexcept nogil
    cdef bint spells(self, bytes text) noexcept


cdef dict checked_controls(object control)
cdef object UNFILLED                # instead of tokens: the caller fills the Vocab itself


cdef inline uint8_t text_class(const uint8_t* p, Py_ssize_t n, bint valid) noexcept nogil:
    """What an id's text alone says about its class. valid: it is whole UTF-8 characters."""
    cdef uint8_t cls = PLAIN if valid else 0
    cdef Py_ssize_t i
    if memchr(p, c'"', n) == NULL and memchr(p, c'\\', n) == NULL:
        cls |= QUIET
    for i in range(n):
        if not is_literal(p[i]):
            return cls | ESCAPES
    return cls
