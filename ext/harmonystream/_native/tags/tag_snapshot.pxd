# The part of a stream's state that only tag formats have, as bytes.

from harmonystream._native.core.types cimport Held, Stream, TagTable, ToolTable

cdef bytes tags_pack(const Stream* s, const Held* held)
cdef int tags_unpack(Stream* s, Held* held, const TagTable* row, const ToolTable* tools, bytes data) except -1
