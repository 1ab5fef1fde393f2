# The states PAIRS and VALUE in a row whose arguments are elements.

from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_elements(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_element(Stream* s, const Context* c, View* v) noexcept nogil
