# One decode step of many streams. The whole step is planned before anything is read, so that a step is done whole or
# not at all. Then the machines of all slots run in one loop and append their records to one Out, which becomes columns,
# or frames (wire/frame_step.pyx). All of that is plain C, without the GIL. Only the objects that are returned need it.
#
# No other thread can use the streams during a step. A Python with a GIL checks the batch's guard in every call; a
# free-threaded Python locks each stream.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.locks cimport FREE_THREADED, enter, get_int, is_in, leave, read_once
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.out cimport out_record, out_room
from harmonystream._native.core.types cimport *
from harmonystream._native.wire.slot cimport *
from harmonystream._native.wire.writer cimport BROKEN, BYTES, Writer

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    SOON = 32                          # streams whose first line is on its way to the cache while a step is planned


# --- plan ---

cdef bint step_plan(Step* step, const uint32_t* slots, Py_ssize_t n, const uint32_t* offsets, Py_ssize_t n_ids,
                    const uint32_t* ids) noexcept nogil:
    """Plans the tasks of a step. offsets NULL: one id each. False: tasks[step.n] is refused, for step.fault."""
    cdef Task* task
    cdef int64_t begin = 0, stop = 0
    cdef Py_ssize_t i
    step.serial += 1
    step.n_ids = n_ids
    step.n = step.rows = 0
    step.block = NULL
    step.others = False
    step.fault = NO_FAULT
    if offsets != NULL:
        stop = read_once(offsets)
        if stop != 0:
            return refused(step, OFFSETS_BEGIN, stop)
    for i in range(n):
        task = &step.tasks[i]
        if i + SOON < n:
            fetch(step, read_once(slots + i + SOON))
        begin = stop
        stop = i + 1 if offsets == NULL else <int64_t>read_once(offsets + i + 1)
        task.number = read_once(slots + i)
        step.begin, step.stop = begin, stop
        if stop < begin:
            return refused(step, OFFSETS_DESCEND, stop)
        if stop > n_ids:
            return refused(step, OFFSETS_END, stop)
        task.ids = ids + begin
        task.n = stop - begin
        step.fault = take(step, task)
        if step.fault != NO_FAULT:
            return False
        task.tid = read_once(task.ids) if task.n == 1 else 0
        step.n += 1
    if stop != n_ids:                                                        # ids that no slot takes would be lost
        return refused(step, OFFSETS_END, stop)
    return True


cdef inline bint refused(Step* step, Fault fault, int64_t stop) noexcept nogil:
    step.fault = fault
    step.stop = stop
    return False


cdef inline void fetch(const Step* step, uint32_t number) noexcept nogil:
    cdef const Slot* slot
    if number < step.capacity:
        slot = &step.slots[number]
        if slot.s != NULL:
            if not slot.place.open:
                prefetch(step.holders[number].busy)
                prefetch(&slot.s.error)
                if slot.writer != NULL:
                    prefetch(&slot.writer.stage)


cdef inline Fault take(Step* step, Task* task) noexcept nogil:
    """The slot is this step's until step_over()."""
    cdef Slot* slot
    cdef char* busy
    cdef Fault fault = NO_FAULT
    if task.number >= step.capacity or step.slots[task.number].s == NULL:
        return NOT_OPEN
    slot = slot_of(step, task)
    if slot.serial == step.serial:
        return TWICE
    if step.framed != (slot.writer != NULL):
        return NO_EMITTER if step.framed else HAS_EMITTER
    if slot.place.open:                                                      # as the last step left it
        slot.serial = step.serial
        return NO_FAULT
    if step.framed and not take_writer(step, slot.writer):
        return EMITTER_IN_USE
    busy = step.holders[task.number].busy
    if not (enter(busy) if FREE_THREADED else not is_in(busy)):
        if step.framed:
            leave_writer(slot.writer)
        return PARSER_IN_USE
    if step.framed and slot.writer.stage != BYTES:
        fault = WRONG_STAGE
    elif slot.s.finished or slot.s.error or slot.s.input_mode == TEXT_MODE or step.textual:
        fault = TAKES_NO_IDS
    if fault != NO_FAULT:
        leave_slot(step, task)
        return fault
    slot.serial = step.serial
    slot.place.open = not FREE_THREADED
    return NO_FAULT


cdef inline bint take_writer(const Step* step, Writer* w) noexcept nogil:
    if not FREE_THREADED:
        return get_int(&w.depth) == 0
    if not enter(&w.busy):
        return False
    w.owner = step.thread
    w.depth = 1
    return True


cdef inline void leave_writer(Writer* w) noexcept nogil:
    if FREE_THREADED:
        w.owner = 0
        w.depth = 0
        leave(&w.busy)


cdef inline void leave_slot(const Step* step, const Task* task) noexcept nogil:
    if FREE_THREADED:
        leave(step.holders[task.number].busy)
        if step.framed:
            leave_writer(slot_of(step, task).writer)


cdef void step_over(Step* step) noexcept nogil:
    cdef Py_ssize_t i
    if FREE_THREADED:                                                        # with a GIL there is nothing to leave
        for i in range(step.n):
            leave_slot(step, &step.tasks[i])
    step.n = 0


cdef void step_lost(Step* step) noexcept nogil:
    """Text is missing: only reset() helps these parsers, and only error() can end these emitters."""
    cdef Slot* slot
    cdef Py_ssize_t i
    for i in range(step.n):
        slot = slot_of(step, &step.tasks[i])
        slot.s.finished = 1
        slot.s.fast = 0
        slot.place.open = False
        if step.framed:
            slot.writer.stage = BROKEN


# --- run ---

cdef void step_run(Step* step, Context* c) noexcept nogil:
    cdef Out* out = c.out
    cdef Task* task
    cdef Slot* slot
    cdef Py_ssize_t i
    out.labels = NULL
    out.n_records = out.n_text = 0
    out.no_memory = False
    for i in range(step.n):
        fetch_ahead(step, i, c)
        task = &step.tasks[i]
        slot = slot_of(step, task)
        out.floor = out.n_records
        if task.n == 1 and take_plain(slot, c, read_once(task.ids)):
            step.rows += 1
            task.end = out.n_records
            continue
        if task.n:
            read_task(step, task, c)
            look_through(step, task, out)
        task.end = out.n_records


cdef void look_through(Step* step, const Task* task, const Out* out) noexcept nogil:
    """Which of its records are rows, and which of these no deltas?"""
    cdef Py_ssize_t k
    for k in range(out.floor, out.n_records):
        if is_row(step, task, &out.records[k]):
            step.rows += 1
            if out.records[k].kind > R_ARGUMENTS:
                step.others = True


cdef bint take_plain(Slot* slot, const Context* c, uint32_t tid) noexcept nogil:
    """The one-token shortcut (stream/parser.pxd), as a record. False: the machine must see the token."""
    cdef Stream* s = stream_of(slot, c, tid)
    if s == NULL or not plain_record(c, tid, s):
        return False
    account_plain(s, c.tables, tid, c.row != NULL)
    return True


cdef inline bint plain_record(const Context* c, uint32_t tid, const Stream* s) noexcept nogil:
    cdef const Tables* t = c.tables
    cdef Out* o = c.out
    cdef const uint8_t* text = t.text + t.offset[tid]
    cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid]
    cdef Record* r
    if not out_room(o, n):
        return False
    r = out_record(o, s.fast, s.position, s.position + 1)
    if r == NULL:
        return False
    r.channel, r.index, r.n = s.channel_code, s.calls, n
    memcpy(o.text + o.n_text, text, 16)                                      # one move; both sides are padded
    if n > 16:
        memcpy(o.text + o.n_text, text, n)
    o.n_text += n
    return True


# --- columns ---

cdef void step_columns(Step* step, Out* out) noexcept nogil:
    """Writes the columns one after the other, the widest first, so that each is aligned. The text comes last."""
    cdef const Record* r
    cdef const Task* task
    cdef Py_ssize_t i, k = 0, row = 0, rows = step.rows
    cdef int64_t* start
    cdef int64_t* stop
    cdef int64_t* offset
    cdef int32_t* slot
    cdef int32_t* index
    cdef uint8_t* kind
    cdef uint8_t* channel
    step.size = 34 * rows + 8 + out.n_text
    step.block = <uint8_t*>malloc(step.size)
    if out.no_memory or step.block == NULL:
        out.no_memory = True
        return
    start = <int64_t*>step.block
    stop = start + rows
    offset = stop + rows
    slot = <int32_t*>(offset + rows + 1)
    index = slot + rows
    kind = <uint8_t*>(index + rows)
    channel = kind + rows
    for i in range(step.n):
        task = &step.tasks[i]
        while k < task.end:
            r = &out.records[k]
            k += 1
            if r.kind > R_ARGUMENTS and not is_row(step, task, r):
                continue
            start[row], stop[row], offset[row] = r.start, r.stop, r.at
            slot[row], index[row] = <int32_t>task.number, r.index
            kind[row], channel[row] = r.kind, r.channel
            row += 1
    offset[rows] = out.n_text
    memcpy(channel + rows, out.text, out.n_text)
