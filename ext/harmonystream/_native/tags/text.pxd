# The states TEXT and SECTION (docs/tags.md, 3 to 5).

from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_text(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_section(Stream* s, const Context* c, View* v) noexcept nogil
cdef void flush_newlines(Stream* s, const Context* c) noexcept nogil
