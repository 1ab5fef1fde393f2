# A decode step of many streams without Python: plan, run, and what comes of it as columns or frames.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from harmonystream._native.wire.frame cimport Filling, Pieces
from harmonystream._native.wire.tell cimport Writer
from harmonystream._native.core.types cimport *

cdef struct Slot:                  # where an open slot's parser keeps its things; s is NULL if the slot is free
    PyObject* parser               # which is the slot's
    Stream* s
    Held* held
    const ToolTable* tools
    char* busy
    Writer* writer                 # its emitter's, or NULL
    bint taken                     # by the step that runs
    bint no_empty                  # its calls without arguments have no "{}"

# one slot's part of a step: private, for the caller's buffers may change while the GIL is released
cdef struct Task:
    Slot* slot
    const uint32_t* ids
    Py_ssize_t n
    Py_ssize_t end                 # records, when its part is done
    Py_ssize_t first               # the first of them that no script has told
    Py_ssize_t size                # of its frame, or LONG_WAY
    const uint8_t* made            # the frame, if Python has made it
    Py_ssize_t told, told_at       # bytes that its script has said, and where they stand in Step.told
    const Pieces* frame            # or what is to be filled; NULL: nothing is
    Filling filling                # with what
    Buffer* kept                   # where its text stands, at the end
    uint32_t number                # the slot's

cdef enum:
    LONG_WAY = -1                  # these records need Python

cdef enum Fault:
    NO_FAULT, OFFSETS_BEGIN, OFFSETS_DESCEND, OFFSETS_END, NOT_OPEN, TWICE, NO_EMITTER, HAS_EMITTER
    WRONG_STAGE, EMITTER_IN_USE, PARSER_IN_USE, TAKES_NO_IDS

cdef struct Step:
    Slot* slots
    Task* tasks                    # no step has more than `capacity`
    Py_ssize_t capacity
    Py_ssize_t n                   # tasks that are taken
    bint framed
    bint textual                   # there is no vocabulary
    unsigned long thread           # that does it: who has the emitters' locks, without the GIL
    Fault fault                    # why tasks[n] was refused; tasks[:n] are planned
    int64_t begin, stop            # its ids, of
    Py_ssize_t n_ids
    Py_ssize_t rows                # records, but for those that are to be silent
    bint others                    # some row is no delta
    Py_ssize_t size                # of all frames, or of all columns and the text
    Buffer told                    # what scripts have said
    uint8_t* block                 # what the step returns, until an object has it; NULL: there is no memory, or not yet

cdef bint step_plan(Step* step, const uint32_t* slots, Py_ssize_t n, const uint32_t* offsets, Py_ssize_t n_ids,
                    const uint32_t* ids) noexcept nogil
cdef void step_run(Step* step, Context* c) noexcept nogil
cdef void step_over(Step* step) noexcept nogil
cdef void step_lost(Step* step) noexcept nogil
cdef void step_columns(Step* step, Out* out) noexcept nogil
cdef bint step_frames(Step* step, Out* out) noexcept nogil


cdef inline bint is_row(const Task* task, const Record* r) noexcept nogil:
    return r.kind != R_EMPTY_ARGUMENTS or not task.slot.no_empty
