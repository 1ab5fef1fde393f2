# Calls that are one JSON object each (docs/tags.md, 5): the states WRAPPED, inside the object, and AFTER it.

from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_wrapped(Stream* s, const Context* c, View* v) noexcept nogil
cdef void finish_wrapped(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil
cdef bint step_after(Stream* s, const Context* c, View* v) noexcept nogil
