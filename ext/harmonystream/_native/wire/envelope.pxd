# An emitter's state as bytes: the envelope and its signature.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.core.types cimport Buffer

cdef enum:                             # the parts, in order; options and `said` as in `Saved`
    PARSER, OPTIONS, SAID, ID, CREATED
    N_PARTS

cdef struct EnvelopeHead:
    uint8_t version, api, flags
    int64_t number
    uint32_t[N_PARTS] n                # bytes of each part

cdef struct Sealing:                   # an envelope that is written
    EnvelopeHead head
    Buffer made
    Py_ssize_t begin                   # of the part that is written


@cython.final
cdef class Saved:
    cdef EnvelopeHead head
    cdef bytes data                    # which has all parts, one after the other,
    cdef Py_ssize_t at                 # from here on

    cdef const uint8_t* start(self, int part) noexcept
    cdef bytes part(self, int part)


cdef int begin_envelope(Sealing* e, uint8_t api, bint dicts, bint told, int64_t number, object key) except -1
cdef int end_part(Sealing* e, int part) except -1
cdef int put_part(Sealing* e, int part, const uint8_t* p, Py_ssize_t n) except -1
cdef bytes sealed(Sealing* e, object key)
