# A decode step of streams that have emitters. The records of each become frames while its stream is in the cache. Most
# tokens need no record: the stream knows that they are plain, and the writer has their frame.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.types cimport *
from harmonystream._native.wire.slot cimport *
from harmonystream._native.wire.write cimport *
from harmonystream._native.wire.writer cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST_USUAL = 1024                  # bytes for each slot that a step takes at first, whatever the last one needed


cdef void begin_frames(Step* step, Context* c) noexcept nogil:
    """After step_plan(), before step_frames()."""
    cdef Py_ssize_t head = (step.n + 1) * sizeof(int64_t)
    c.out.labels = NULL
    c.out.no_memory = not (buffer_room(&step.out, head + step.n * step.usual) or buffer_room(&step.out, head))
    step.out.n = head
    step.at = 0


cdef Py_ssize_t step_frames(Step* step, Context* c) noexcept nogil:
    """Runs the tasks. The frames of all are in step.out then, after their offsets.

    Returns a task whose records from step.first on need Python, which appends their frames to step.out, and then calls
    this again. step.n: all are done.
    """
    cdef Out* out = c.out
    cdef Buffer* to = &step.out
    cdef Py_ssize_t head = (step.n + 1) * sizeof(int64_t), i
    while step.at < step.n and not out.no_memory:
        fetch_ahead(step, step.at, c)
        i = step.at
        step.at += 1
        (<int64_t*>to.p)[i] = to.n - head
        if not write_task(step, &step.tasks[i], c):
            return i
    if not out.no_memory:
        (<int64_t*>to.p)[step.n] = to.n - head
        step.usual = min((to.n - head) * 9 // (8 * max(step.n, 1)), MOST_USUAL)
    return step.n


cdef bint write_task(Step* step, Task* task, Context* c) noexcept nogil:
    """Appends the frames of a task to step.out. False: its records from step.first on need Python."""
    cdef Slot* slot = slot_of(step, task)
    cdef Out* out = c.out
    cdef Buffer* to = &step.out
    cdef Outcome outcome
    if task.n == 0 or (task.n == 1 and write_plain(step, task, c, to)):
        return True
    step.begin_at = to.n
    out.n_records = out.n_text = out.floor = 0
    read_task(step, task, c)
    task.end = out.n_records
    step.first = 0
    while step.first < task.end:
        outcome = write_record(slot.writer, &out.records[step.first], out.text, to)
        if outcome == NO_MEMORY:
            out.no_memory = True
        elif outcome == ASKS:
            slot.place.open = False                                          # Python may change what is written
            return False
        step.first += 1
    return True


cdef inline bint write_plain(const Step* step, Task* task, const Context* c, Buffer* to) noexcept nogil:
    """The one-token shortcut (stream/parser.pxd), as a frame. False: the machine must see the token."""
    cdef uint32_t tid = task.tid
    cdef Slot* slot = slot_of(step, task)
    cdef const Tables* t = c.tables
    cdef Writer* w = slot.writer
    cdef Stream* s = stream_of(slot, c, tid)
    if s == NULL or w.delta_templates[s.fast] == NULL:
        return False
    c.out.no_memory |= not plain_frame(w, s.fast, t, tid, to)
    account_plain(s, t, tid, c.row != NULL)
    return True


cdef inline bint plain_frame(Writer* w, uint8_t kind, const Tables* t, uint32_t tid, Buffer* to) noexcept nogil:
    """A plain token's frame. False: no memory."""
    cdef const uint8_t* text = t.text + t.offset[tid]
    cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid], begin = w.text.n
    if w.delta_templates[kind].hidden:
        return True
    if t.classes[tid] & ESCAPES or (kind == R_ARGUMENTS and w.filtered):
        return put_delta(w, kind, text, n, to)
    return buffer_put(&w.text, text, n) and put_text(w, kind, begin, to)
