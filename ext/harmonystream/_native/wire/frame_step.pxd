# The frames of a decode step of many streams.

from harmonystream._native.core.types cimport Context
from harmonystream._native.wire.slot cimport Step

cdef void begin_frames(Step* step, Context* c) noexcept nogil
cdef Py_ssize_t step_frames(Step* step, Context* c) noexcept nogil
