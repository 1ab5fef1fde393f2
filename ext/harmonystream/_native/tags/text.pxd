# The states TEXT and SECTION (docs/tags.md, 3 to 5).

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Context, Stream, Tags
from harmonystream._native.tags.view cimport View

cdef bint step_text(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_section(Stream* s, const Context* c, View* v) noexcept nogil
cdef void flush_newlines(Stream* s, const Context* c) noexcept nogil
cdef void follow_backquotes(Tags* g, const uint8_t* p, Py_ssize_t n) noexcept nogil
