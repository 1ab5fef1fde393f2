# Calls that are one JSON object each (docs/tags.md, 5): the states WRAPPED, inside the object, and AFTER it.

from harmonystream._native.tags.lookahead cimport View
from harmonystream._native.core.types cimport Context, Stream

cdef bint step_wrapped(Stream* s, const Context* c, View* v) noexcept nogil
