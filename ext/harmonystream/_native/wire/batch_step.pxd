# A decode step of many streams without Python: plan it, run it, and write the result as columns or frames.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from harmonystream._native.stream.open_stream cimport Place
from harmonystream._native.wire.tell cimport Writer
from harmonystream._native.core.types cimport *

# Pointers into an open slot's parser; s is NULL if the slot is free.
cdef struct Slot:
    Stream* s
    Writer* writer                 # its emitter's, or NULL
    uint64_t serial                # of the last step that it was part of
    Place place
    # from here on, what no plain token of reasoning or content reads
    PyObject* parser               # the parser that has `s`
    Held* held
    const ToolTable* tools
    char* busy
    char no_empty                  # calls without arguments get no "{}"

# One slot's part of a step. A copy, because the caller's buffers may change while the GIL is released.
cdef struct Task:
    const uint32_t* ids
    Py_ssize_t n
    Py_ssize_t end                 # number of records in the Out after this task
    uint32_t number                # the slot's number

cdef enum Fault:
    NO_FAULT, OFFSETS_BEGIN, OFFSETS_DESCEND, OFFSETS_END, NOT_OPEN, TWICE, NO_EMITTER, HAS_EMITTER
    WRONG_STAGE, EMITTER_IN_USE, PARSER_IN_USE, TAKES_NO_IDS

cdef struct Step:
    Slot* slots
    Task* tasks                    # no step has more than `capacity`
    Py_ssize_t capacity
    uint64_t serial                # of the step; a slot with this number has been given in it
    Py_ssize_t n                   # number of planned tasks
    bint framed
    bint textual                   # there is no vocabulary
    bint tagged                    # the format has tags
    unsigned long thread           # the step's thread; without a GIL it owns the emitters' locks
    Fault fault                    # why tasks[n] was refused; tasks[:n] are planned
    int64_t begin, stop            # the refused task's range of ids
    Py_ssize_t n_ids               # ids that the caller gave
    Py_ssize_t rows                # records that become rows (is_row)
    bint others                    # some row is not a delta
    Py_ssize_t size                # bytes of the block
    Buffer said                    # the offsets of all frames, and after them the frames so far
    Py_ssize_t first               # of a task's records the first that needs Python
    Py_ssize_t usual               # bytes of frames for each slot, as much room as a step takes at first
    uint8_t* block                 # the result, until an object owns it; NULL: not made yet, or no memory

cdef bint step_plan(Step* step, const uint32_t* slots, Py_ssize_t n, const uint32_t* offsets, Py_ssize_t n_ids,
                    const uint32_t* ids) noexcept nogil
cdef void step_run(Step* step, Context* c) noexcept nogil
cdef void step_over(Step* step) noexcept nogil
cdef void step_lost(Step* step) noexcept nogil
cdef void step_columns(Step* step, Out* out) noexcept nogil
cdef Py_ssize_t step_frames(Step* step, Context* c, Py_ssize_t i) noexcept nogil


cdef inline Slot* slot_of(const Step* step, const Task* task) noexcept nogil:
    return &step.slots[task.number]


cdef inline bint is_row(const Step* step, const Task* task, const Record* r) noexcept nogil:
    return r.kind != R_EMPTY_ARGUMENTS or not slot_of(step, task).no_empty
