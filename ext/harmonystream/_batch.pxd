# Many streams per decode step.

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from harmonystream._ids cimport Ids
from harmonystream._parser cimport Parser
from harmonystream._sse cimport SseWriter, Writer
from harmonystream._program cimport Program
from harmonystream._types cimport Held, Out, Stream, ToolTable

cdef struct Slot:                  # where an open slot's parser keeps its things; s is NULL if the slot is free
    Stream* s
    Held* held
    const ToolTable* tools
    char* busy
    bint taken                     # by the step that runs
    const Writer* writer           # its emitter's, or NULL

cdef struct Task:                  # one slot's part of a step: private, for the caller's buffers may change while the GIL is released
    Slot* slot
    const uint32_t* ids
    Py_ssize_t n
    Py_ssize_t end                 # records, when its part is done
    uint32_t number                # the slot's
    uint8_t fast                   # Stream.fast, which is 0 meanwhile; or BY_MACHINE


@cython.final
cdef class Batch:
    cdef Program program
    cdef str trim, empty_args
    cdef Py_ssize_t max_hold, capacity_
    cdef list parsers              # by slot; None: free
    cdef list emitters             # by slot; None: added without one
    cdef list free
    cdef Slot* slots
    cdef Task* tasks               # no step has more than `capacity`
    cdef Out* out                  # kept, so that a step need not grow it again
    cdef bint may_skip             # some parser has empty_args=""
    cdef char busy

    cdef int claim(self) except -1
    cdef object place(self, Parser parser, SseWriter emitter)
    cdef object closed(self, Py_ssize_t slot)
    cdef Parser at(self, Py_ssize_t slot)
    cdef object run(self, object slots, object ids, object offsets, bint framed)
    cdef object step(self, Py_ssize_t n, bint framed)
    cdef int plan(self, const Ids* slots, const Ids* ids, const Ids* offsets, bint framed) except -1
    cdef void fetch(self, uint32_t number) noexcept
    cdef int take(self, Task* task, uint32_t number, bint framed) except -1
    cdef void release(self, Py_ssize_t n, bint lost) noexcept
    cdef void shrink(self) noexcept
    cdef object columns(self, Py_ssize_t n)
    cdef bint skipped(self, Py_ssize_t record, const Task* task)
    cdef list frames(self, Py_ssize_t n)
