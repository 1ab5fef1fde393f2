# Many streams per decode step.

cimport cython
from harmonystream._native.core.token_ids cimport Ids
from harmonystream._native.core.types cimport Context, Out
from harmonystream._native.wire.frames cimport Frames
from harmonystream._native.wire.slot cimport Task
from harmonystream._native.wire.slots cimport Slots


@cython.final
cdef class Batch(Slots):
    cdef Out* out                  # kept, so that a step need not grow it again

    cdef object run(self, object slots, object ids, object offsets, bint framed)
    cdef object step_of(self, const Ids* slots, const Ids* ids, const Ids* offsets, bint framed)
    cdef int refuse(self, Py_ssize_t n) except -1
    cdef void shrink(self) noexcept
    cdef object columns(self)
    cdef dict others(self)
    cdef Frames frames(self, Context* c, Py_ssize_t i)
    cdef int make_frame(self, Task* task, dict errors) except -1
