# id -> bytes, and which ids are control ids: one blob, immutable, shared by threads.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
cimport cython

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
    cdef dict programs             # format name -> Program compiled against this vocabulary
    cdef object known_fingerprint
    cdef object encoder             # text -> ids (_encoders.py), or None
    cdef object __weakref__

    cdef int allocate(self, Py_ssize_t n, Py_ssize_t bytes) except -1
    cdef int seal(self, object control) except -1
