# Where text is, and where calls begin (docs/tags.md, 3 to 5): the states TEXT, SECTION and AFTER.

from harmonystream._native.tags.lookahead cimport View
from harmonystream._native.core.types cimport Context, Stream

cdef bint step_text(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_section(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_after(Stream* s, const Context* c, View* v) noexcept nogil
cdef void flush_newlines(Stream* s, const Context* c) noexcept nogil
