# A decode step of many streams without Python: plan it, run it, and write the result as columns or frames.

from libc.stdint cimport uint32_t
from harmonystream._native.core.types cimport Context, Out
from harmonystream._native.wire.slot cimport *

cdef bint step_plan(Step* step, const uint32_t* slots, Py_ssize_t n, const uint32_t* offsets, Py_ssize_t n_ids,
                    const uint32_t* ids) noexcept nogil
cdef void step_run(Step* step, Context* c) noexcept nogil
cdef void step_over(Step* step) noexcept nogil
cdef void step_lost(Step* step) noexcept nogil
cdef void step_columns(Step* step, Out* out) noexcept nogil
