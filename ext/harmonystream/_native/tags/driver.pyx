# The tag machine: how input comes in, is decided, and ends. The states are in tags/text.pyx, pairs.pyx, elements.pyx,
# raw.pyx, wrapped.pyx and python_calls.pyx. The machine runs without the GIL and touches no Python object.
#
# Input that cannot be anything but text of the open sink passes at once. Everything else is looked at in place. What
# cannot be decided yet stays in Held.input, as bytes with a Mark each, and is looked at again when more has come.

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memmove, memset
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport is_plain_token, plain_run
from harmonystream._native.core.locks cimport read_once
from harmonystream._native.core.json_scan cimport json_balanced, json_reset
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.elements cimport step_element, step_elements
from harmonystream._native.tags.json_ends cimport is_whole_at_end
from harmonystream._native.tags.pairs cimport flush_value, step_pairs, step_value
from harmonystream._native.tags.python_calls cimport finish_python, step_python
from harmonystream._native.tags.raw cimport step_raw
from harmonystream._native.tags.text cimport decides_at_start, end_newlines, step_section, step_text
from harmonystream._native.tags.transitions cimport end_call, enter_text
from harmonystream._native.tags.view cimport *
from harmonystream._native.tags.wrapped cimport finish_wrapped, step_after, step_wrapped

DEBUG = bool(DEBUG_BUILD)

cdef uint8_t[LOOK_CAP] ONE_TOKEN                 # the marks of a token that is looked at where it lies
ONE_TOKEN[0] = BEGINS_TOKEN


cdef bint step_done(Stream* s, const Context* c, View* v) noexcept nogil:
    if s.terminated == 1:
        s.terminated = 2
        note(s, D_AFTER_END, s.position)
    consume(s, c, v, v.n, IN_DONE)
    return True


# --- input ------------------------------------------------------------------------------------------------------------

cdef void drain(Stream* s, const Context* c, View* v) noexcept nogil:
    """Take what can be decided out of the view."""
    cdef bint going = True
    while going and v.i < v.n and not s.error and not c.out.no_memory:
        if s.state == TEXT:
            going = step_text(s, c, v)
        elif s.state == VALUE:
            going = step_element(s, c, v) if c.row.has_element else step_value(s, c, v)
        elif s.state == WRAPPED:
            going = step_wrapped(s, c, v)
        elif s.state == RAW:
            going = step_raw(s, c, v)
        elif s.state == PAIRS:
            going = step_elements(s, c, v) if c.row.has_element else step_pairs(s, c, v)
        elif s.state == SECTION:
            going = step_section(s, c, v)
        elif s.state == AFTER:
            going = step_after(s, c, v)
        elif s.state == PYTHON:
            going = step_python(s, c, v)
        else:
            going = step_done(s, c, v)


cdef void hold(Stream* s, const Context* c, const uint8_t* p, const uint8_t* marks, Py_ssize_t n) noexcept nogil:
    """Appends input that is not decided yet. marks: NULL in text mode, and for the bytes of a whole plain token."""
    cdef Held* held = c.out.held
    cdef Py_ssize_t i = held.marks.n
    if not buffer_room(&held.input, n) or not buffer_room(&held.marks, n):
        c.out.no_memory = True
        return
    buffer_put(&held.input, p, n)
    if s.input_mode == TEXT_MODE:
        return
    buffer_put(&held.marks, p if marks == NULL else marks, n)
    if marks == NULL:
        memset(held.marks.p + i, 0, n)
        held.marks.p[i] = BEGINS_TOKEN


cdef void drain_held(Stream* s, const Context* c, bint end, bint cut) noexcept nogil:
    cdef Held* held = c.out.held
    cdef View v
    v.p = held.input.p
    v.marks = held.marks.p if s.input_mode == ID_MODE else NULL
    v.i = 0
    v.n = held.input.n
    v.end, v.cut = end, cut
    v.special = s.tags.special and v.marks != NULL
    drain(s, c, &v)
    if v.i == 0:
        return
    held.input.n -= v.i
    if held.input.n:
        memmove(held.input.p, held.input.p + v.i, held.input.n)
    if v.marks != NULL:
        held.marks.n = held.input.n
        if held.input.n:
            memmove(held.marks.p, held.marks.p + v.i, held.input.n)
    if held.input.n == 0:
        s.tags.special = 0


cdef void take_token(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The bytes of a token."""
    cdef View v
    if c.out.held.input.n or n > LOOK_CAP:
        hold(s, c, p, NULL, n)
        drain_held(s, c, False, False)
        return
    v.p = p
    v.marks = ONE_TOKEN
    v.i = 0
    v.n = n
    v.end = v.cut = v.special = False
    drain(s, c, &v)
    if v.i < n:
        hold(s, c, p + v.i, ONE_TOKEN + v.i, n - v.i)


cdef void take_control(Stream* s, const Context* c, uint32_t tid) noexcept nogil:
    """A control id: the marker that it is, its name as text, or an inert one."""
    cdef const TagTable* row = c.row
    cdef uint8_t[MAX_SPELLING] marks
    cdef const uint8_t* spelling = b"\xff"
    cdef int i, n = 1
    marks[0] = BEGINS_TOKEN | INERT_ID
    if c.tables.classes[tid] & MARKS:
        for i in range(row.n_control):
            if row.control_ids[i] == tid:
                spelling = row.literals[row.control_literals[i]].text
                n = row.literals[row.control_literals[i]].n
                memset(marks, INSIDE_CONTROL, n)
                marks[0] = BEGINS_TOKEN | BEGINS_CONTROL
                break
    elif c.tables.classes[tid] & NAMED_CLASS:
        spelling = c.tables.text + c.tables.offset[tid]
        n = c.tables.offset[tid + 1] - c.tables.offset[tid]
        memset(marks, 0, n)
        marks[0] = BEGINS_TOKEN | NAMED_ID
    s.tags.special = 1
    hold(s, c, spelling, marks, n)
    drain_held(s, c, False, False)


cdef int64_t held_tokens(const Held* held) noexcept nogil:
    """Tokens that are held, the one that is held in part included."""
    cdef int64_t n = held.marks.n > 0
    cdef Py_ssize_t i
    for i in range(1, held.marks.n):
        n += held.marks.p[i] & BEGINS_TOKEN
    return n


cdef void take_id(Stream* s, const Context* c, uint32_t tid) noexcept nogil:
    cdef const Tables* t = c.tables
    cdef uint8_t cls = t.classes[tid] if tid < t.n else <uint8_t>MISSING
    if cls & CONTROL:
        take_control(s, c, tid)
    elif cls & MISSING:
        note(s, D_UNKNOWN_ID, s.position + (held_tokens(c.out.held) if s.deviations < DEVIATION_CAP or s.strict else 0))
        if not s.error:
            take_token(s, c, b"\xef\xbf\xbd", 3)
    else:
        take_token(s, c, t.text + t.offset[tid], t.offset[tid + 1] - t.offset[tid])


cdef Py_ssize_t skip_run(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    """For labels: how many of these ids are text of the region that is open."""
    cdef const Tables* t = c.tables
    cdef Py_ssize_t i = 0
    cdef uint32_t tid
    while i < n:
        tid = read_once(ids + i)
        if not is_plain_token(s, t, tid):
            break
        i += 1
    memset(c.out.labels + s.position, s.region, i)
    return i


cdef void tags_ids(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0, taken
    if n and s.announce:
        s.tags.at_start = decides_at_start(c.row, s.tags.reasoning)
        put_message_start(s, c.out, 0, 0)
    while i < n and not s.error and not c.out.no_memory:
        set_tags_fast(s, c.out.held)
        if s.fast:
            if c.out.labels != NULL:
                taken = skip_run(s, c, ids + i, n - i)
            else:
                taken = plain_run(s, c, ids + i, n - i)
            if taken:
                i += taken
                s.position += taken
                s.usage[s.region] += taken
                if s.state == TEXT:
                    s.tags.line_start = 0
                continue
        take_id(s, c, read_once(ids + i))
        i += 1
    s.fast = 0


cdef void tags_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    cdef View v
    cdef Py_ssize_t more
    if n and s.announce:
        s.tags.at_start = decides_at_start(c.row, s.tags.reasoning)
        put_message_start(s, c.out, 0, 0)
    v.p = p
    v.marks = NULL
    v.i = 0
    v.n = n
    v.end = v.cut = v.special = False
    while c.out.held.input.n and v.i < n and not s.error and not c.out.no_memory:
        more = n - v.i if n - v.i < LOOK_CAP else LOOK_CAP
        hold(s, c, p + v.i, NULL, more)
        drain_held(s, c, False, False)
        v.i += more
    if v.i < n and not s.error and not c.out.no_memory:
        drain(s, c, &v)
        if v.i < n:
            hold(s, c, p + v.i, NULL, n - v.i)


# --- ends -------------------------------------------------------------------------------------------------------------

cdef void tags_init(Stream* s, bint trim) noexcept nogil:
    """A fresh stream (all zero), in content."""
    json_reset(&s.json)
    s.trim = trim
    s.tags.tool = -1
    s.announce = 1
    tags_open(s, False, False, False)


cdef void tags_open(Stream* s, bint reasoning, bint answer, bint seam) noexcept nogil:
    """Sets where the prompt ended. seam: it ended with a marker."""
    s.tags.reasoning = reasoning
    s.tags.answer = answer
    enter_text(s)
    s.tags.seam = seam and s.trim


cdef void tags_finish(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil:
    """The stream is over. stopped: the engine reports a normal stop. known: the engine reports a reason."""
    cdef bint announced = not s.announce
    drain_held(s, c, True, known and not stopped)
    if s.error:
        return
    end_newlines(s, c)
    flush_pending(s, c.out)
    if s.state == VALUE:
        flush_value(s, c)
    if s.kind != NOT_A_CALL:
        s.cut = not stopped
        if s.state == PAIRS:
            end_call(s, c, s.position,
                     stopped and not s.tags.unread and not (c.row.has_element and s.tags.call.tagged.path), True)
        elif s.state == VALUE:
            end_call(s, c, s.position, False, True)
        elif s.state == PYTHON:
            finish_python(s, c, stopped)
        elif s.state == WRAPPED:
            finish_wrapped(s, c, stopped, known)
        else:
            end_call(s, c, s.position, is_whole_at_end(s, stopped, known), False)
    if s.state != DONE and announced and not s.error and c.out.labels == NULL:
        out_record(c.out, R_MESSAGE_END, after(s, s.position), after(s, s.position))
