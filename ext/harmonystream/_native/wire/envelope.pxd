# An emitter's state as bytes: the envelope and its signature.

cimport cython


@cython.final
cdef class Saved:
    cdef readonly bytes api, parser, options, id, created, said
    cdef readonly bint dicts, told
    cdef readonly object number
