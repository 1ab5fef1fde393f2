# The state RAW: the body of a call is its arguments, as JSON (docs/tags.md, 5).

from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_raw(Stream* s, const Context* c, View* v) noexcept nogil
