# Many streams per decode step.

cimport cython
from libc.stdint cimport int64_t
from harmonystream._native.core.token_ids cimport Ids
from harmonystream._native.stream.open_stream cimport Guard
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.program cimport Program
from harmonystream._native.wire.sse cimport SseWriter
from harmonystream._native.wire.batch_step cimport Step, Task
from harmonystream._native.wire.frames cimport Frames
from harmonystream._native.core.types cimport Context, Out


@cython.final
cdef class Batch:
    cdef Program program
    cdef str trim, empty_args
    cdef Py_ssize_t max_hold, capacity_
    cdef list emitters             # by slot; None: there is none
    cdef list free
    cdef Step step
    cdef Out* out                  # kept, so that a step need not grow it again
    cdef Guard guard               # of its streams
    cdef char busy

    cdef Parser stream(self, object tools, object start, object prompt)
    cdef int claim(self) except -1
    cdef object place(self, Parser parser, SseWriter emitter)
    cdef object closed(self, Py_ssize_t slot)
    cdef object ended(self, Py_ssize_t slot, object reason, object usage)
    cdef Parser at(self, Py_ssize_t slot)
    cdef object run(self, object slots, object ids, object offsets, bint framed)
    cdef object step_of(self, const Ids* slots, const Ids* ids, const Ids* offsets, bint framed)
    cdef int refuse(self, Py_ssize_t n) except -1
    cdef void shrink(self) noexcept
    cdef object columns(self)
    cdef dict others(self)
    cdef Frames frames(self, Context* c, Py_ssize_t i)
    cdef int make_frame(self, const Task* task, int64_t offset, dict errors) except -1
