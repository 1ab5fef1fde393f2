# A decode step of many streams without Python: plan it, run it, and write the result as columns or frames.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from harmonystream._native.wire.frame cimport Filling, Pieces
from harmonystream._native.wire.tell cimport Writer
from harmonystream._native.core.types cimport *

cdef struct Slot:                  # pointers into an open slot's parser; s is NULL if the slot is free
    PyObject* parser               # that parser
    Stream* s
    Held* held
    const ToolTable* tools
    char* busy
    Writer* writer                 # its emitter's, or NULL
    bint taken                     # part of the running step
    bint no_empty                  # calls without arguments get no "{}"

# One slot's part of a step. A copy, because the caller's buffers may change while the GIL is released.
cdef struct Task:
    Slot* slot
    const uint32_t* ids
    Py_ssize_t n
    Py_ssize_t end                 # number of records in the Out after this task
    Py_ssize_t first               # the first record that no script has told
    Py_ssize_t size                # bytes of its frame, or LONG_WAY
    const uint8_t* made            # the frame, if Python has made it
    Py_ssize_t told, told_at       # bytes that its script has said, -1: none was asked; and their place in Step.told
    const Pieces* frame            # otherwise the frame that is filled; NULL: the task has no frame
    Filling filling                # the text and number for that frame
    Buffer* kept                   # the buffer whose last bytes are the task's text
    uint32_t number                # the slot's number

cdef enum:
    LONG_WAY = -1                  # these records need Python

cdef enum Fault:
    NO_FAULT, OFFSETS_BEGIN, OFFSETS_DESCEND, OFFSETS_END, NOT_OPEN, TWICE, NO_EMITTER, HAS_EMITTER
    WRONG_STAGE, EMITTER_IN_USE, PARSER_IN_USE, TAKES_NO_IDS

cdef struct Step:
    Slot* slots
    Task* tasks                    # no step has more than `capacity`
    Py_ssize_t capacity
    Py_ssize_t n                   # number of planned tasks
    bint framed
    bint textual                   # there is no vocabulary
    unsigned long thread           # the step's thread; without a GIL it owns the emitters' locks
    Fault fault                    # why tasks[n] was refused; tasks[:n] are planned
    int64_t begin, stop            # the refused task's range of ids
    Py_ssize_t n_ids               # ids that the caller gave
    Py_ssize_t rows                # records that become rows (is_row)
    bint others                    # some row is not a delta
    Py_ssize_t size                # bytes of all frames, or of all columns and the text
    Buffer told                    # what scripts have said
    uint8_t* block                 # the result, until an object owns it; NULL: not made yet, or no memory

cdef bint step_plan(Step* step, const uint32_t* slots, Py_ssize_t n, const uint32_t* offsets, Py_ssize_t n_ids,
                    const uint32_t* ids) noexcept nogil
cdef void step_run(Step* step, Context* c) noexcept nogil
cdef void step_over(Step* step) noexcept nogil
cdef void step_lost(Step* step) noexcept nogil
cdef void step_columns(Step* step, Out* out) noexcept nogil
cdef bint step_frames(Step* step, Out* out) noexcept nogil


cdef inline bint is_row(const Task* task, const Record* r) noexcept nogil:
    return r.kind != R_EMPTY_ARGUMENTS or not task.slot.no_empty
