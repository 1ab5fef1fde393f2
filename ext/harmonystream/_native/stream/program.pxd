# A Format compiled against a Vocab: flat tables that the machine reads.

from libc.stdint cimport uint8_t, uint64_t
cimport cython
from harmonystream._native.tags.fast_token cimport TokenTexts
from harmonystream._native.tags.tag_table cimport Row
from harmonystream._native.core.types cimport Tables, TagTable
from harmonystream._native.core.vocab cimport Vocab


@cython.final
cdef class Program:
    cdef Tables tables
    cdef uint8_t* classes
    cdef Row row                   # None: Harmony
    cdef const TagTable* tags      # its table, or NULL
    cdef readonly object format
    cdef readonly Vocab vocab
    cdef uint64_t fingerprint      # of the vocabulary and the row
    cdef readonly tuple stop_ids   # the control ids at which generation should stop, ascending
    cdef dict spellings            # keeps the marker texts alive
    cdef TokenTexts texts          # ids as str

    cdef int fill_headers(self) except -1
    cdef set stops(self)


cdef Program compiled(object format, Vocab vocab)
cdef Program default_program(object format)

cdef Vocab NO_VOCAB                # the vocabulary of a parser that reads only text
