# The state PYTHON: the arguments of a call such as f(a=1, b="x") (docs/tags.md, 5).

from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_python(Stream* s, const Context* c, View* v) noexcept nogil
cdef void finish_python(Stream* s, const Context* c, bint stopped) noexcept nogil
