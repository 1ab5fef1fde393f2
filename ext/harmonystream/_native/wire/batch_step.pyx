# One decode step of many streams. The whole step is planned before anything is read, so that a step is done whole or
# not at all. Then the machines of all slots run in one loop and append their records to one Out. All of that, and the
# filling of columns and frames, is plain C, without the GIL. Only the objects that are returned need it.
#
# No other thread can use the streams during a step. A Python with a GIL checks the batch's guard in every call; a
# free-threaded Python locks each stream.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.locks cimport FREE_THREADED, enter, get_int, is_in, leave, read_once
from harmonystream._native.wire.frame cimport Pieces
from harmonystream._native.core.bulk_tokens cimport account_plain, is_plain_token
from harmonystream._native.stream.machine cimport machine_ids, set_shortcut
from harmonystream._native.stream.open_stream cimport Place, settle, take_place
from harmonystream._native.core.out cimport out_record, out_room
from harmonystream._native.wire.tell cimport *
from harmonystream._native.core.types cimport *
from harmonystream._native.core.json_text cimport put_escaped

DEBUG = bool(DEBUG_BUILD)

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
    SOON = 32                          # streams whose first line is on its way to the cache while a step is planned
    AHEAD = 12                          # streams that are on their way to the cache


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
                prefetch(slot.busy)
                prefetch(&slot.s.error)
                if slot.writer != NULL:
                    prefetch(&slot.writer.stage)


cdef inline Fault take(Step* step, Task* task) noexcept nogil:
    """The slot is this step's until step_over()."""
    cdef Slot* slot
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
    if not (enter(slot.busy) if FREE_THREADED else not is_in(slot.busy)):
        if step.framed:
            leave_writer(slot.writer)
        return PARSER_IN_USE
    if step.framed and slot.writer.stage != BYTES:
        fault = WRONG_STAGE
    elif slot.s.finished or slot.s.error or slot.s.input_mode == TEXT_MODE or step.textual:
        fault = TAKES_NO_IDS
    if fault != NO_FAULT:
        leave_slot(step, slot)
        return fault
    slot.serial = step.serial
    slot.place.open = not FREE_THREADED
    settle(&slot.place, slot.s, step.tagged)                                 # only the emitter was used
    take_place(&slot.place, slot.s)
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


cdef inline void leave_slot(const Step* step, Slot* slot) noexcept nogil:
    if FREE_THREADED:
        leave(slot.busy)
        if step.framed:
            leave_writer(slot.writer)


cdef void step_over(Step* step) noexcept nogil:
    cdef Py_ssize_t i
    if FREE_THREADED:                                                        # with a GIL there is nothing to leave
        for i in range(step.n):
            leave_slot(step, slot_of(step, &step.tasks[i]))
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
            read_task(slot, task, c)
            look_through(step, task, out)
        task.end = out.n_records


cdef void read_task(Slot* slot, const Task* task, Context* c) noexcept nogil:
    """Lets the machine read the ids."""
    cdef Stream* s = slot.s
    settle(&slot.place, s, c.row != NULL)
    s.input_mode = ID_MODE
    c.out.held = slot.held
    c.tools = slot.tools
    machine_ids(s, c, task.ids, task.n)
    set_shortcut(s, c.row, c.out.held)
    take_place(&slot.place, s)


cdef inline void fetch_ahead(const Step* step, Py_ssize_t i, const Context* c) noexcept nogil:
    cdef const Tables* t = c.tables
    cdef const Task* task
    cdef const Slot* slot
    cdef const Stream* s
    cdef uint32_t tid
    if i + 2 * AHEAD < step.n:
        task = &step.tasks[i + 2 * AHEAD]
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
        if not is_plain_here(&slot.place, t, tid):                           # the stream must read it
            s = slot.s
            prefetch(s)
            prefetch(&s.usage[IN_CONTENT])
            if c.row != NULL:
                prefetch(&s.tags.line_start)


cdef inline bint is_plain_here(const Place* place, const Tables* t, uint32_t tid) noexcept nogil:
    """May this token be taken in the place?"""
    return place.fast and tid < t.n and t.classes[tid] & place.look == place.want


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
    cdef const Tables* t = c.tables
    cdef Place* place = &slot.place
    cdef Stream* s
    if is_plain_here(place, t, tid):
        if not plain_record(c, tid, place.fast, place.channel, place.calls, place.position + place.untold):
            return False
        place.untold += 1
        return True
    if place.fast:
        return False
    s = slot.s
    if not s.fast or not is_plain_token(s, t, tid):
        return False
    if not plain_record(c, tid, s.fast, s.channel_code, s.calls, s.position):
        return False
    account_plain(s, t, tid, c.row != NULL)
    return True


cdef inline bint plain_record(const Context* c, uint32_t tid, uint8_t kind, uint8_t channel, int32_t calls,
                              int64_t position) noexcept nogil:
    cdef const Tables* t = c.tables
    cdef Out* o = c.out
    cdef const uint8_t* text = t.text + t.offset[tid]
    cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid]
    cdef Record* r
    if not out_room(o, n):
        return False
    r = out_record(o, kind, position, position + 1)
    if r == NULL:
        return False
    r.channel, r.index, r.n = channel, calls, n
    memcpy(o.text + o.n_text, text, 16)                                      # one move; both sides are padded
    if n > 16:
        memcpy(o.text + o.n_text, text, n)
    o.n_text += n
    return True


# --- what comes of it ---

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


# --- to frames ---

cdef Py_ssize_t step_frames(Step* step, Context* c, Py_ssize_t i) noexcept nogil:
    """Runs the tasks from i on. The records of each become frames while its stream is in the cache: in step.said, after
    the offsets.

    Returns the task whose records from step.first on need Python, which appends their frames. step.n: it was the last.
    """
    cdef Out* out = c.out
    cdef Buffer* said = &step.said
    cdef Py_ssize_t head = (step.n + 1) * sizeof(int64_t)
    if i == 0:
        out.labels = NULL
        out.no_memory = not buffer_room(said, head + step.n * step.usual)
        said.n = head
    while i < step.n and not out.no_memory:
        fetch_ahead(step, i, c)
        fetch_writer(step, i)
        (<int64_t*>said.p)[i] = said.n - head
        out.n_records = out.n_text = out.floor = 0
        if not say_task(step, &step.tasks[i], c, said):
            return i
        i += 1
    if not out.no_memory:
        (<int64_t*>said.p)[i] = said.n - head
        step.usual = (said.n - head) * 9 // (8 * max(step.n, 1))
    return step.n


cdef inline void fetch_writer(const Step* step, Py_ssize_t i) noexcept nogil:
    """Of a stream that is soon to be written: its frames, where its text ends, and the text of its frame."""
    cdef const Writer* w
    cdef Py_ssize_t at
    if i + 2 * AHEAD < step.n:
        w = slot_of(step, &step.tasks[i + 2 * AHEAD]).writer
        prefetch(&w.kept[<int>R_REASONING])
        prefetch(&w.frames[<int>R_REASONING])
        prefetch(&w.number)
        prefetch(w.filter)
        for at in range(0, <Py_ssize_t>(sizeof(Pieces) + 2 * sizeof(FramePiece)), 64):
            prefetch(<const uint8_t*>&w.told.bound + at)
    if i + AHEAD < step.n:
        w = slot_of(step, &step.tasks[i + AHEAD]).writer
        fetch_end(&w.kept[w.told.open])
        if w.filtered:
            fetch_end(&w.filter.raw)
            fetch_end(&w.filter.sent)
        for at in range(0, w.told.bound.size, 64):
            prefetch(w.told.bound_pieces[0].p + at)


cdef inline void fetch_end(const Buffer* b) noexcept nogil:
    prefetch(<const void*>(<size_t>b.p + <size_t>b.n))                       # of an empty one, the null pointer


cdef bint say_task(Step* step, Task* task, Context* c, Buffer* said) noexcept nogil:
    """Appends what a task says. False: its records from step.first on need Python."""
    cdef Slot* slot = slot_of(step, task)
    cdef Out* out = c.out
    cdef Answer answer
    if task.n == 0 or (task.n == 1 and say_plain(slot, c, read_once(task.ids), said)):
        return True
    read_task(slot, task, c)
    task.end = out.n_records
    step.first = 0
    while step.first < task.end:
        answer = say_record(slot.writer, &out.records[step.first], out.text, said)
        if answer == NO_MEMORY:
            out.no_memory = True
        elif answer != TOLD:
            return False
        step.first += 1
    return True


cdef inline Answer say_record(Writer* w, const Record* r, const uint8_t* text, Buffer* said) noexcept nogil:
    if r.kind <= R_ARGUMENTS and w.frames[r.kind] != NULL:
        if w.frames[r.kind].silent or put_delta(w, r.kind, text + r.at, r.n, said):
            return TOLD
        return NO_MEMORY
    return NEEDS_PYTHON if w.told.script == NULL else tell(w, r, text, said)


cdef inline bint say_plain(Slot* slot, const Context* c, uint32_t tid, Buffer* said) noexcept nogil:
    """The one-token shortcut (stream/parser.pxd), as a frame. False: the machine must see the token."""
    cdef const Tables* t = c.tables
    cdef Writer* w = slot.writer
    cdef Place* place = &slot.place
    cdef Stream* s
    if is_plain_here(place, t, tid):
        if w.frames[place.fast] == NULL:
            return False
        c.out.no_memory |= not plain_frame(w, place.fast, t, tid, said)
        place.untold += 1
        return True
    if place.fast:
        return False
    s = slot.s
    if not s.fast or not is_plain_token(s, t, tid) or w.frames[s.fast] == NULL:
        return False
    c.out.no_memory |= not plain_frame(w, s.fast, t, tid, said)
    account_plain(s, t, tid, c.row != NULL)
    return True


cdef inline bint plain_frame(Writer* w, uint8_t kind, const Tables* t, uint32_t tid, Buffer* said) noexcept nogil:
    """A plain token's frame. False: no memory."""
    cdef Buffer* kept = &w.kept[kind]
    cdef const uint8_t* text = t.text + t.offset[tid]
    cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid], begin = kept.n
    if w.frames[kind].silent:
        return True
    if t.classes[tid] & ESCAPES or (kind == R_ARGUMENTS and w.filtered):
        return put_delta(w, kind, text, n, said)
    return buffer_put(kept, text, n) and put_kept(w, kind, begin, said)
