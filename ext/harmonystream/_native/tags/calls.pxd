# A call begins: its name, its id, its tool (docs/tags.md, 4).

from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.lookahead cimport CallHeader
from harmonystream._native.tags.view cimport View

cdef void begin_call(Stream* s, const Context* c, View* v, const CallHeader* h) noexcept nogil
