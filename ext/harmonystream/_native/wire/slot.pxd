# A batch's slots, what a step does with one of them, and the step itself.

from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from harmonystream._native.core.bulk_tokens cimport is_plain_token
from harmonystream._native.core.locks cimport read_once
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.machine cimport machine_ids, set_shortcut
from harmonystream._native.stream.open_stream cimport Place
from harmonystream._native.wire.writer cimport Writer

cdef extern from *:
    """
    /* Streams and token texts are scattered in memory. Without prefetching, half of a step is cache misses. */
    static CYTHON_INLINE void hs_prefetch(const void *p) {
    #if defined(__GNUC__) || defined(__clang__)
        __builtin_prefetch(p);
        __asm__ __volatile__("");        /* a function that only prefetches would be dropped as one without effect */
    #else
        (void)p;
    #endif
    }
    """
    void prefetch "hs_prefetch"(const void* p) noexcept nogil

cdef enum:
    AHEAD = 12                         # streams that are on their way to the cache
    FETCHED = 640                      # bytes of a writer: all that a plain token reads of it
    FETCHED_FIRST = 192                # the same of a stream

# What a plain token reads and writes of an open slot; s is NULL if the slot is free.
cdef struct Slot:
    Stream* s
    Writer* writer                 # its emitter's, or NULL
    uint64_t serial                # of the last step that it was part of
    Place place

# The rest of it.
cdef struct Holder:
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
    uint32_t tid                   # its only id

cdef enum Fault:
    NO_FAULT, OFFSETS_BEGIN, OFFSETS_DESCEND, OFFSETS_END, NOT_OPEN, TWICE, NO_EMITTER, HAS_EMITTER
    WRONG_STAGE, EMITTER_IN_USE, PARSER_IN_USE, TAKES_NO_IDS

cdef struct Step:
    Slot* slots
    Holder* holders                # by slot
    Task* tasks                    # no step has more than `capacity`
    Py_ssize_t capacity
    uint64_t serial                # of the step; a slot with this number has been given in it
    Py_ssize_t n                   # number of planned tasks
    bint framed
    bint textual                   # there is no vocabulary
    unsigned long thread           # the step's thread; without a GIL it owns the emitters' locks
    Fault fault                    # why tasks[n] was refused; tasks[:n] are planned
    int64_t begin, stop            # the refused task's range of ids
    Py_ssize_t n_ids               # ids that the caller gave
    Py_ssize_t rows                # records that become rows (is_row)
    bint others                    # some row is not a delta
    Py_ssize_t size                # bytes of the block
    # Of a step of emitters:
    Buffer out                    # the offsets of all frames, and after them the frames so far
    Py_ssize_t at                  # tasks that are in `out`
    Py_ssize_t begin_at            # where the frames of the task that is run begin there
    Py_ssize_t first               # of its records the first that needs Python
    Py_ssize_t usual               # bytes of frames for each slot, as much room as a step takes at first
    uint8_t* block                 # the result, until an object owns it; NULL: not made yet, or no memory


cdef inline Slot* slot_of(const Step* step, const Task* task) noexcept nogil:
    return &step.slots[task.number]


cdef inline bint is_row(const Step* step, const Task* task, const Record* r) noexcept nogil:
    return r.kind != R_EMPTY_ARGUMENTS or not step.holders[task.number].no_empty


cdef inline Stream* stream_of(Slot* slot, const Context* c, uint32_t tid) noexcept nogil:
    """The stream, if it may take this token by the shortcut; else NULL."""
    return slot.s if slot.s.fast and is_plain_token(slot.s, c.tables, tid) else NULL


cdef inline void read_task(const Step* step, const Task* task, Context* c) noexcept nogil:
    """Lets the machine read the ids."""
    cdef Slot* slot = slot_of(step, task)
    cdef const Holder* holder = &step.holders[task.number]
    cdef Stream* s = slot.s
    s.input_mode = ID_MODE
    c.out.held = holder.held
    c.tools = holder.tools
    machine_ids(s, c, task.ids, task.n)
    set_shortcut(s, c.row, c.out.held)


cdef inline void fetch_stream(const Slot* slot, Py_ssize_t begin, Py_ssize_t stop) noexcept nogil:
    cdef const uint8_t* s = <const uint8_t*>slot.s
    cdef Py_ssize_t at
    for at in range(begin, stop, 64):
        prefetch(s + at)


cdef inline void fetch_writer(const Writer* w, uint8_t kind) noexcept nogil:
    """What the frame of a plain token is made of, and where its text is kept."""
    cdef const uint8_t* p = <const uint8_t*>w
    cdef Py_ssize_t at
    for at in range(0, FETCHED, 64):
        prefetch(p + at)
    if kind:
        prefetch(w.text.p + w.text.n)


cdef inline void fetch_ahead(const Step* step, Py_ssize_t i, const Context* c) noexcept nogil:
    cdef const Tables* t = c.tables
    cdef const Task* task
    cdef const Slot* slot
    cdef uint32_t tid
    if i + 2 * AHEAD < step.n:
        task = &step.tasks[i + 2 * AHEAD]
        fetch_stream(slot_of(step, task), 0, FETCHED_FIRST)
        tid = read_once(task.ids) if task.n else 0
        if tid < t.n:
            prefetch(&t.classes[tid])
            prefetch(&t.offset[tid])
    if i + AHEAD < step.n:
        task = &step.tasks[i + AHEAD]
        slot = slot_of(step, task)
        tid = read_once(task.ids) if task.n else 0
        if tid < t.n:
            prefetch(t.text + t.offset[tid])
        if not (slot.s.fast and is_plain_token(slot.s, t, tid)):             # the machine must read it
            fetch_stream(slot, FETCHED_FIRST, sizeof(Stream))
        if slot.writer != NULL:
            fetch_writer(slot.writer, slot.s.fast)
