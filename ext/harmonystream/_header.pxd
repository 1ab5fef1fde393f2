# The grammar of a Harmony header: pure functions of the bytes collected in Stream.header.

from libc.stdint cimport uint8_t, uint16_t
from harmonystream._types cimport Span, Stream, ToolTable

cdef bint header_alive(Stream* s, const ToolTable* t) noexcept nogil
cdef void header_resolve(Stream* s, const ToolTable* t) noexcept nogil
cdef int header_split(Stream* s, const ToolTable* t, bint whole, bint at_end) noexcept nogil
cdef Span call_name(const Stream* s) noexcept nogil
cdef bint has_role(const Stream* s, Span w) noexcept nogil
cdef bint is_tool(const Stream* s, const ToolTable* t, Span w) noexcept nogil
cdef bint is_builtin(const Stream* s, Span w) noexcept nogil
cdef bint span_is(const Stream* s, Span w, const char* literal) noexcept nogil
cdef bint span_begins(const Stream* s, Span w, const char* literal) noexcept nogil
