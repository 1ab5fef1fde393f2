# A tag format compiled for a vocabulary: literals, sets of them, and which ids stand for them.

from libc.stdint cimport uint8_t, uint32_t
cimport cython
from harmonystream._native.core.types cimport MemberKey, TagShape, TagTable
from harmonystream._native.core.vocab cimport Vocab


@cython.final
cdef class Row:
    cdef TagTable table
    cdef list spellings, keys      # keep the text of literals and members alive

    cdef int fill(self, object format) except -1
    cdef int fill_label(self, object format) except -1
    cdef list fill_pair(self, object format, tuple pair)
    cdef int fill_body(self, object format) except -1
    cdef int fill_members(self, object format) except -1
    cdef bytes keep(self, object text, MemberKey* key)
    cdef int add_stems(self, object opener, object end, int role, TagShape* shape) except -1
    cdef bint clashes(self, bytes data, int role)
    cdef list fill_element(self, object format, tuple element)
    cdef int add(self, object format, object spelling, int role, int typed=*) except -1
    cdef int check_clashes(self, object format) except -1
    cdef void group(self) noexcept
    cdef void derive(self) noexcept
    cdef void stands_for(self, uint32_t tid, int literal) noexcept
    cdef int resolve(self, Vocab vocab, uint8_t* classes, object format) except -1
