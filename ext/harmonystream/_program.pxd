# A Format compiled against a Vocab: flat tables that the machine reads.

from libc.stdint cimport uint8_t
cimport cython
from harmonystream._types cimport Tables
from harmonystream._vocab cimport Vocab


@cython.final
cdef class Program:
    cdef Tables tables
    cdef uint8_t* classes
    cdef readonly object format
    cdef readonly Vocab vocab
    cdef dict spellings            # keeps the marker texts alive
    cdef list strings              # id -> its text as str, made when first needed; only plain tokens have one


cdef Program compiled(object format, Vocab vocab)
