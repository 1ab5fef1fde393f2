# The grammar of a Harmony header: reads the bytes collected in Stream.header, and sets the parts of the message.

from harmonystream._native.core.types cimport Stream, ToolTable

cdef bint header_alive(Stream* s, const ToolTable* t) noexcept nogil
cdef void header_resolve(Stream* s, const ToolTable* t) noexcept nogil
cdef int header_split(Stream* s, const ToolTable* t, bint whole, bint at_end) noexcept nogil
