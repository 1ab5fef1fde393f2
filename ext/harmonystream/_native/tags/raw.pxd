# The state RAW: the body of a call is its arguments, as JSON (docs/tags.md, 5).

from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport Context, Json, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_raw(Stream* s, const Context* c, View* v) noexcept nogil
cdef Py_ssize_t open_run(const Json* json, const uint8_t* p, Py_ssize_t n) noexcept nogil
