# The part of a stream's state that only tag formats have, as bytes.

from harmonystream._native.core.fields cimport Fields
from harmonystream._native.core.types cimport Buffer, Held, Stream, TagTable, ToolTable

cdef bint tags_pack(Stream* s, const Held* held, Buffer* to) noexcept
cdef int tags_unpack(Stream* s, Held* held, const TagTable* row, const ToolTable* tools, Fields* f) except -1
