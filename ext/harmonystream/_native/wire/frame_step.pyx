# A decode step of streams that have emitters. The records of each become frames while its stream is in the cache. Most
# tokens need neither: the slot's line writes the frame of a plain token.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.locks cimport FREE_THREADED
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.open_stream cimport take_place
from harmonystream._native.wire.frame cimport Pieces
from harmonystream._native.wire.json_filter cimport A_STRING, A_TEXT
from harmonystream._native.wire.line cimport *
from harmonystream._native.wire.slot cimport *
from harmonystream._native.wire.tell cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    SOON_ODD = 4                       # odd tasks whose streams are on their way to the cache


cdef bint take_line(const Step* step, const Task* task) noexcept nogil:
    """From here on, plain tokens are written in the line, if it can fill their frame. False: no memory."""
    cdef Slot* slot = slot_of(step, task)
    cdef Writer* w = slot.writer
    cdef Line* line = &step.lines[task.number]
    cdef const Pieces* frame
    cdef uint8_t kind = slot.place.fast
    slot.place.lined = False
    if w.line == NULL:
        return True
    settle_line(line)
    line.kind = 0
    if kind == 0 or w.frames[kind] == NULL:
        return True
    frame = w.frames[kind]
    line.silent, line.told, line.number = frame.silent, &w.number, w.number
    line.keeps[0] = line.keeps[1] = NULL
    if frame.silent:
        line.kind = kind
        return True
    if (line.of != &w.told.bound_pieces[0] or line.of != frame.items or line.item != w.told.items) and not hold_frame(
            line, frame, w.told.items):
        return True
    if kind == R_ARGUMENTS and w.filtered:
        if w.filter.step != A_STRING and w.filter.step != A_TEXT:
            return True
        line.keeps[0] = &w.filter.sent
        if w.filter.step == A_STRING:
            line.keeps[1] = &w.filter.raw
    elif not w.drops[kind]:
        line.keeps[0] = &w.kept[kind]
    if not have_room(line):
        return False
    line.kind = kind
    slot.place.lined = True
    return True


cdef void begin_frames(Step* step, Context* c) noexcept nogil:
    """After step_plan(), before step_frames()."""
    cdef Py_ssize_t head = (step.n + 1) * sizeof(int64_t)
    c.out.labels = NULL
    c.out.no_memory = not buffer_room(&step.said, head + step.n * step.usual)
    step.said.n = head
    step.aside.n = 0
    step.at = step.at_odd = step.copied = 0


cdef Py_ssize_t step_frames(Step* step, Context* c) noexcept nogil:
    """Runs the tasks, first the odd ones. The frames of all are in step.said then, after their offsets.

    Returns a task whose records from step.first on need Python, which appends their frames to step.into, and then calls
    this again. step.n: all are done.
    """
    cdef Out* out = c.out
    cdef Buffer* said = &step.said
    cdef Py_ssize_t head = (step.n + 1) * sizeof(int64_t), i
    step.into = &step.aside
    while step.at_odd < step.n_odd and not out.no_memory:
        fetch_odd(step, step.at_odd + SOON_ODD)
        i = step.odd[step.at_odd]
        step.at_odd += 1
        if not say_task(step, &step.tasks[i], c):
            return i
        step.tasks[i].end = step.aside.n
    step.into = said
    while step.at < step.n and not out.no_memory:
        fetch_line(step, step.at, c)
        i = step.at
        step.at += 1
        (<int64_t*>said.p)[i] = said.n - head
        if step.copied < step.n_odd and step.odd[step.copied] == i:
            out.no_memory = not put_aside(step, &step.tasks[i])
        elif not say_task(step, &step.tasks[i], c):
            return i
    if not out.no_memory:
        (<int64_t*>said.p)[step.n] = said.n - head
        step.usual = (said.n - head) * 9 // (8 * max(step.n, 1))
    return step.n


cdef inline bint put_aside(Step* step, const Task* task) noexcept nogil:
    """Append what an odd task has said. False: no memory."""
    cdef Py_ssize_t begin = step.tasks[step.odd[step.copied - 1]].end if step.copied else 0
    step.copied += 1
    return task.end == begin or buffer_put(&step.said, step.aside.p + begin, task.end - begin)


cdef inline void fetch_odd(const Step* step, Py_ssize_t k) noexcept nogil:
    """The stream and the writer of an odd task that is soon run."""
    cdef const Slot* slot
    cdef Py_ssize_t at
    if k < step.n_odd:
        slot = slot_of(step, &step.tasks[step.odd[k]])
        fetch_stream(slot)
        for at in range(0, <Py_ssize_t>sizeof(Writer), 64):
            prefetch(<const uint8_t*>slot.writer + at)


cdef inline void fetch_line(const Step* step, Py_ssize_t i, const Context* c) noexcept nogil:
    """What writes the frame of a stream that is soon read."""
    cdef const Line* line
    cdef Py_ssize_t at
    if step.tokens == NULL:
        fetch_ahead(step, i, c)
        return
    if i + 2 * AHEAD < step.n:
        prefetch(&step.lines[step.tasks[i + 2 * AHEAD].number])
    if i + AHEAD < step.n:
        line = &step.lines[step.tasks[i + AHEAD].number]
        for at in range(0, line.before + line.between + line.after, 64):
            prefetch(&line.frame[0] + at)
        prefetch(&line.newest[0] + line.n)
        if line.n > NEWEST - BLOCK and line.keeps[0] != NULL:
            prefetch(line.at[0])


cdef void fetch_slot(const Step* step, Py_ssize_t number) noexcept nogil:
    """All of a slot that has an emitter and is soon used by itself: its parts come while the first ones are read."""
    cdef const Slot* slot = &step.slots[number]
    cdef const Line* line = &step.lines[number]
    cdef Py_ssize_t at
    for at in range(0, <Py_ssize_t>sizeof(Writer), 64):
        prefetch(<const uint8_t*>slot.writer + at)
    for at in range(0, <Py_ssize_t>sizeof(Stream), 64):
        prefetch(<const uint8_t*>slot.s + at)
    prefetch(line)
    prefetch(&line.newest)


cdef bint say_task(Step* step, Task* task, Context* c) noexcept nogil:
    """Appends what a task says to step.into. False: its records from step.first on need Python."""
    cdef Slot* slot = slot_of(step, task)
    cdef Out* out = c.out
    cdef Buffer* said = step.into
    cdef Answer answer
    if task.n == 0 or (task.n == 1 and say_plain(step, task, c, said)):
        return True
    step.begin_at = said.n
    out.n_records = out.n_text = out.floor = 0
    read_task(step, task, c)
    task.end = out.n_records
    step.first = 0
    while step.first < task.end:
        answer = say_record(slot.writer, &out.records[step.first], out.text, said)
        if answer == NO_MEMORY:
            out.no_memory = True
        elif answer != TOLD:
            slot.place.open = False                                          # Python may change what is written
            slot.place.fast = 0
            return False
        step.first += 1
    if not out.no_memory and not FREE_THREADED:
        out.no_memory = not take_line(step, task)
    return True


cdef inline Answer say_record(Writer* w, const Record* r, const uint8_t* text, Buffer* said) noexcept nogil:
    if r.kind <= R_ARGUMENTS and w.frames[r.kind] != NULL:
        if w.frames[r.kind].silent or put_delta(w, r.kind, text + r.at, r.n, said):
            return TOLD
        return NO_MEMORY
    return NEEDS_PYTHON if w.told.script == NULL else tell(w, r, text, said)


cdef inline bint say_plain(const Step* step, Task* task, const Context* c, Buffer* said) noexcept nogil:
    """The one-token shortcut (stream/parser.pxd), as a frame. False: the machine must see the token."""
    cdef uint32_t tid = task.tid
    cdef Slot* slot = slot_of(step, task)
    cdef const Tables* t = c.tables
    cdef Writer* w = slot.writer
    cdef Place* place = &slot.place
    cdef Line* line = &step.lines[task.number]
    cdef const ShortToken* token
    cdef Stream* s
    if place.fast and line.kind and tid < t.n:
        token = &t.tokens[tid]
        if token.cls & place.look == place.want and token.n <= SHORT and not (token.cls & ESCAPES or line.silent):
            c.out.no_memory |= not put_line(line, token.text, token.n, said)
            place.untold += 1
            if place.fast == R_ARGUMENTS:
                place.quiet += token.n
            return True
    if is_plain_here(place, t, tid):
        if not line.kind and w.frames[place.fast] == NULL:
            return False
        c.out.no_memory |= not line_frame(line, w, place, t, tid, said)
        count_plain(place, t, tid)
        return True
    if place.fast == R_ARGUMENTS and w.line != NULL:
        leave_line(w.line)
    s = stream_of(slot, c, tid)
    if s == NULL or w.frames[s.fast] == NULL:
        return False
    c.out.no_memory |= not plain_frame(w, s.fast, t, tid, said)
    account_plain(s, t, tid, c.row != NULL)
    if s.json.in_string and not FREE_THREADED:
        take_place(place, s)
        c.out.no_memory |= not take_line(step, task)
    return True


cdef inline bint line_frame(Line* line, Writer* w, Place* place, const Tables* t, uint32_t tid,
                            Buffer* said) noexcept nogil:
    """A plain token's frame, which the line cannot fill. False: no memory."""
    cdef bint done
    if line.kind and line.silent:
        return True
    settle_line(line)
    done = plain_frame(w, place.fast, t, tid, said)
    line.number = w.number
    return done and (not line.kind or have_room(line))


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
