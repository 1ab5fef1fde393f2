# A Format compiled against a Vocab: flat tables that the machine reads; and the request's tools, sorted for the machine.

from libc.stdint cimport uint8_t, uint64_t
cimport cython
from harmonystream._types cimport Tables, ToolTable
from harmonystream._vocab cimport Vocab


@cython.final
cdef class Program:
    cdef Tables tables
    cdef uint8_t* classes
    cdef readonly object format
    cdef readonly Vocab vocab
    cdef dict spellings            # keeps the marker texts alive
    cdef list strings              # id -> its text as str, made when first needed; only plain tokens have one


@cython.final
cdef class Tools:
    cdef ToolTable table
    cdef bytes names
    cdef uint64_t fingerprint

    cdef uint64_t hashed(self) noexcept


cdef Program compiled(object format, Vocab vocab)
cdef Tools tools_of(object tools)
