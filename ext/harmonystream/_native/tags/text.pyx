# Where text is: content and reasoning, the sections and headers of calls, and what stands between calls (docs/tags.md, 3 to 5). Each step
# takes something from the view, or says that it needs more (False).

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset
from harmonystream._native.tags.bodies cimport *
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.tags.consume cimport *
from harmonystream._native.core.json_scan cimport json_reset
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.call_object cimport object_reset
from harmonystream._native.core.tools cimport tool_index
from harmonystream._native.core.types cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    NEWLINES_AT_ONCE = 64

cdef uint8_t[NEWLINES_AT_ONCE] NEWLINES
memset(NEWLINES, c'\n', NEWLINES_AT_ONCE)


cdef void flush_newlines(Stream* s, const Context* c) noexcept nogil:
    """The newline run is followed by text: it is text."""
    cdef Tags* g = &s.tags
    cdef int64_t n
    while g.newlines > 0:
        n = g.newlines if g.newlines < NEWLINES_AT_ONCE else NEWLINES_AT_ONCE
        put_text(s, c.out, NEWLINES, n, g.newline_at, g.newline_stop)
        g.newlines -= n


cdef void take_newlines(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """Newlines up to `to`: what follows decides whether they are text."""
    cdef Tags* g = &s.tags
    cdef Py_ssize_t some
    while v.i < to:
        if g.newlines == NEWLINE_CAP:
            flush_newlines(s, c)
        if g.newlines == 0:
            g.newline_at = s.position
        some = to - v.i if to - v.i < NEWLINE_CAP - g.newlines else <Py_ssize_t>(NEWLINE_CAP - g.newlines)
        g.newlines += some
        g.newline_stop = position_at(s, v, v.i + some - 1) + 1
        consume(s, c, v, v.i + some, s.region)


cdef void put_plain(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """Text up to `to`, of which a newline run at the end waits."""
    cdef Py_ssize_t e = to
    if s.tags.seam:
        while v.i < to and v.p[v.i] == c'\n':
            consume(s, c, v, v.i + 1, s.region)
        if v.i == to:
            return
    if s.tags.trim:
        while e > v.i and v.p[e - 1] == c'\n':
            e -= 1
    if e > v.i:
        flush_newlines(s, c)
        s.tags.seam = 0
        s.tags.line_start = v.p[e - 1] == c'\n'
        put_run(s, c, v, e)
    if to > e:
        flush_pending(s, c.out)
        take_newlines(s, c, v, to)


cdef void behind_marker(Stream* s) noexcept nogil:
    s.tags.newlines = 0
    s.tags.line_start = 1
    s.tags.seam = s.tags.trim


cdef uint64_t live_in_text(const Stream* s, const Context* c) noexcept nogil:
    """The markers that mean something where text is."""
    cdef const TagTable* t = c.row
    cdef uint64_t live = t.roles[DROP] | t.roles[STOP]
    if not s.tags.answer:
        live |= t.roles[THINK_OPEN] | t.roles[THINK_CLOSE]
    if not c.tools.forbidden:
        live |= t.roles[SECTION_OPEN] | t.roles[SECTION_CLOSE]
        if t.bare != BARE_NO or not t.has_section:
            live |= t.roles[CALL_OPEN] | t.roles[CALL_CLOSE]
    return live


cdef inline Py_ssize_t next_marker(const View* v, const TagTable* t, uint64_t live) noexcept nogil:
    """Where the first byte of a marker stands, or a control or inert id."""
    cdef Py_ssize_t q = v.i
    cdef const void* found
    if t.only_first >= 0 and not v.special:
        found = memchr(v.p + q, t.only_first, v.n - q)
        return v.n if found == NULL else <const uint8_t*>found - v.p
    while q < v.n and not (t.first[v.p[q]] & live or is_special(v, q)):
        q += 1
    return q


cdef bint step_text(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const TagTable* t = c.row
    cdef uint64_t live = live_in_text(s, c)
    cdef Py_ssize_t q = next_marker(v, t, live)
    cdef int k = -1, verdict
    if q > v.i:
        put_plain(s, c, v, q)
        return True
    verdict = match(v, t, q, v.n, live, &k)
    if verdict == YES:
        return step_text_marker(s, c, v, k)
    if verdict == MORE and not v.end:
        return False
    if is_special(v, q):
        step_text_special(s, c, v)
    else:
        put_plain(s, c, v, q + 1)
    return True


cdef void step_text_special(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control id that is not live here, or an inert one."""
    cdef uint64_t calls = ~(c.row.roles[THINK_OPEN] | c.row.roles[THINK_CLOSE] | c.row.roles[DROP] | c.row.follow_stop)
    cdef uint64_t thinks = c.row.roles[THINK_OPEN] | c.row.roles[THINK_CLOSE]
    cdef int k = -1
    if v.marks[v.i] & BEGINS_CONTROL:
        if match(v, c.row, v.i, v.n, thinks, &k) == YES:                     # in an answer they are text
            put_plain(s, c, v, v.i + c.row.literals[k].n)
            return
        if c.tools.forbidden and match(v, c.row, v.i, v.n, calls, &k) == YES:
            flush_pending(s, c.out)
            note(s, D_CALL_WITHOUT_TOOLS, s.position)
            consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
            return
    drop_special(s, c, v)


cdef void drop_marker(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    flush_pending(s, c.out)
    behind_marker(s)
    consume(s, c, v, v.i + n, IN_HEADER)


cdef bint step_text_marker(Stream* s, const Context* c, View* v, int k) noexcept nogil:
    """The live marker k stands here. False: whether it counts is not known yet."""
    cdef Tags* g = &s.tags
    cdef int role = c.row.literals[k].role, verdict
    cdef Py_ssize_t n = c.row.literals[k].n
    if role == SECTION_OPEN or role == CALL_OPEN:
        return step_opener(s, c, v, n, v.i)
    if role == STOP:
        verdict = look_stop(v, c.row, v.i, k)
        if verdict == YES:
            take_stop(s, c, v, n)
        elif verdict == NO:
            put_plain(s, c, v, v.i + 1)
        return verdict != MORE
    if role == SECTION_CLOSE or role == CALL_CLOSE:
        if g.mentions and not is_special(v, v.i):
            g.mentions -= 1
            put_plain(s, c, v, v.i + n)
            return True
        note(s, D_STRAY_CLOSER, s.position)
    elif role == THINK_OPEN and g.reasoning:
        note(s, D_REPEATED_OPENER, s.position)
    elif role == THINK_CLOSE and not g.reasoning:
        note(s, D_STRAY_CLOSER, s.position)
    if s.error:
        return True
    drop_marker(s, c, v, n)
    if role == THINK_OPEN or role == THINK_CLOSE:
        g.reasoning = role == THINK_OPEN
        enter_text(s)
    return True


cdef bint step_opener(Stream* s, const Context* c, View* v, Py_ssize_t n, Py_ssize_t at) noexcept nogil:
    """An opener of n bytes stands at `at`, in text or, behind ws, in a section. False: whether it counts is not known yet."""
    cdef Header h
    cdef Tags* g = &s.tags
    cdef bint at_line_start = g.line_start or g.newlines > 0
    cdef int verdict = look_header(v, c, s, at, at_line_start, &h)
    if verdict == MORE:
        if not v.end:
            return False
        note(s, D_UNFINISHED_HEADER, position_at(s, v, at))
        drop_marker(s, c, v, v.n - v.i)
        return True
    g.probed = g.name_at = 0
    if (verdict == NO or verdict == ALL_TEXT) and s.state == SECTION:
        enter_text(s)
    elif verdict == ALL_TEXT and not is_special(v, at):
        if g.mentions < 255:
            g.mentions += 1
        put_plain(s, c, v, h.stop)
    elif verdict == NO or verdict == ALL_TEXT:
        if is_special(v, at):
            note(s, D_STRAY_CONTROL, s.position)
            if not s.error:
                drop_marker(s, c, v, n)
        else:
            if g.mentions < 255:
                g.mentions += 1
            put_plain(s, c, v, v.i + 1)
    else:
        if at > v.i:
            consume(s, c, v, at, IN_HEADER)                                  # ws between calls
        if verdict == VOID:
            note(s, D_ABANDONED_HEADER, s.position)
            if not s.error:
                drop_marker(s, c, v, h.stop - v.i)
        else:
            begin_call(s, c, v, &h)
    return True


# --- calls ------------------------------------------------------------------------------------------------------------------------

cdef Py_ssize_t name_in_id(const uint8_t* p, Py_ssize_t n, Py_ssize_t* size) noexcept nogil:
    """Where the function's name stands in a call's id, and its length: without `functions.` before and `:3` behind."""
    cdef Py_ssize_t at = 10 if n >= 10 and memcmp(p, b"functions.", 10) == 0 else 0, end = n
    while end > at and c'0' <= p[end - 1] <= c'9':
        end -= 1
    if end == n or end <= at or p[end - 1] != c':':
        end = n + 1
    size[0] = end - 1 - at
    return at


cdef bint is_number(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Nothing, digits, or `call_` and digits: an id that has no name in it."""
    cdef Py_ssize_t i
    for i in range(5 if n > 5 and memcmp(p, b"call_", 5) == 0 else 0, n):
        if not c'0' <= p[i] <= c'9':
            return False
    return True


cdef void name_call(Stream* s, const Context* c, Record* r, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The call's name, and its id if the format has ids, into the record. Names the tool."""
    cdef Py_ssize_t size = n, at = 0
    cdef const uint8_t* name = p
    s.kind = FUNCTION
    if c.row.name_as == ID_NAME:
        at = name_in_id(p, n, &size)
        name = p + at
        if is_number(name, size):
            if c.tools.n == 1:
                name = c.tools.names
                size = c.tools.offset[1]
            else:
                s.kind = OTHER_CALL
                name = p
                size = n
    s.tags.tool = tool_index(c.tools, name, size)
    if r == NULL or not out_room(c.out, size + n):
        return
    r.at = c.out.n_text
    memcpy(c.out.text + c.out.n_text, name, size)
    c.out.n_text += size
    r.n = size
    if c.row.name_as == ID_NAME:
        memcpy(c.out.text + c.out.n_text, p, n)
        c.out.n_text += n
        r.n_id = <uint16_t>n
    r.flags = s.kind


cdef void note_header(Stream* s, const Header* h) noexcept nogil:
    if h.repeated:
        note(s, D_REPEATED_OPENER, s.position)
    if h.bare or h.key_n:
        note(s, D_MISSING_OPENER, s.position)
    if s.tags.reasoning:
        note(s, D_CALL_IN_REASONING, s.position)


cdef void begin_call(Stream* s, const Context* c, View* v, const Header* h) noexcept nogil:
    """The header h stands here."""
    cdef Tags* g = &s.tags
    cdef Record* r = NULL
    cdef uint8_t[NAME_CAP + 16] decoded
    cdef const uint8_t* name = v.p + h.name_at
    cdef int n = <int>h.name_n
    cdef int64_t start, stop
    flush_pending(s, c.out)
    note_header(s, h)
    if s.error:
        return
    if h.body == WRAPPED:
        read_object_name(v, h.object_name, decoded, &n)
        name = decoded
    start = after(s, s.position)
    stop = after(s, position_at(s, v, h.stop - 1) + 1 if h.stop > v.i else start)
    if c.out.labels == NULL:
        r = out_record(c.out, R_CALL_START, start, stop)
        if r != NULL:
            r.index = s.calls
    name_call(s, c, r, name, n)
    s.attributed = stop
    behind_marker(s)
    g.seam = g.mentions = g.pairs = g.fenced = g.begun = g.passing = g.escape_n = 0
    g.surrogate = 0
    g.in_section = h.in_section
    if s.state != AFTER:
        g.array = h.array
    s.wrote = 0
    json_reset(&s.json)
    s.sink = R_ARGUMENTS
    s.state = h.body
    s.region = IN_HEADER if h.body == PAIRS or h.body == SECTION else IN_ARGUMENTS
    if h.body == WRAPPED:
        object_reset(&g.object)
    if h.key_n:
        open_key(s, c, v, v.p + h.key_at, h.key_n, 0)
        consume_key_end(s, c, v, h)
        return
    consume(s, c, v, h.stop, IN_HEADER)
    if h.array:
        consume(s, c, v, skip_ws(v, v.i + 1, v.n), IN_HEADER)
    if h.body == SECTION:
        end_call(s, c, s.position, True, False)


cdef void consume_key_end(Stream* s, const Context* c, View* v, const Header* h) noexcept nogil:
    """Behind a key whose opener is missing: its end, and the value's opener."""
    cdef Py_ssize_t i = h.stop
    cdef int k = -1
    if match(v, c.row, i, v.n, c.row.roles[KEY_END], &k) == YES:
        i += c.row.literals[k].n
    consume(s, c, v, i, IN_HEADER)
    s.tags.fresh = c.row.strip
    s.tags.opening = c.row.value_opener


cdef void take_stop(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    """The model's turn is over."""
    cdef int64_t at = s.position
    flush_newlines(s, c)
    flush_pending(s, c.out)
    at = after(s, at)
    consume(s, c, v, v.i + n, IN_HEADER)
    if c.out.labels == NULL:
        out_record(c.out, R_MESSAGE_END, at, after(s, position_before(s, v)))
    s.attributed = after(s, position_before(s, v))
    s.sink = R_NONE
    s.state = DONE
    s.region = IN_DONE
    s.terminated = 1


cdef inline int64_t position_before(const Stream* s, const View* v) noexcept nogil:
    """Behind the token of the byte that was consumed last."""
    return s.position + (v.marks != NULL and v.i < v.n and not v.marks[v.i] & BEGINS_TOKEN)


cdef bint step_section(Stream* s, const Context* c, View* v) noexcept nogil:
    """Behind a call in a section: the next one, the section's end, or, after all, text."""
    cdef const TagTable* t = c.row
    cdef uint64_t expected = t.follow_call | t.roles[CALL_CLOSE]
    cdef Py_ssize_t n = limit(v, v.i), j = skip_ws(v, v.i, n)
    cdef int k = -1, role, verdict = match(v, t, j, n, expected, &k)
    if verdict == MORE:
        if capped(v, v.i):
            enter_text(s)
        elif v.end:
            consume(s, c, v, v.n, IN_HEADER)
        else:
            return False
        return True
    role = t.literals[k].role if verdict == YES else STOP
    if role == STOP and verdict == YES:
        verdict = look_stop(v, t, j, k)
        if verdict == MORE:
            return False
        if verdict == YES:
            consume(s, c, v, j, IN_HEADER)
            take_stop(s, c, v, t.literals[k].n)
    elif role == SECTION_OPEN or role == CALL_OPEN:
        return step_opener(s, c, v, t.literals[k].n, j)
    if verdict == NO:
        if j == v.i and is_special(v, j) and v.marks[j] & INERT_ID:
            drop_special(s, c, v)
        else:
            enter_text(s)
    elif role == SECTION_CLOSE or role == CALL_CLOSE:
        if role == CALL_CLOSE:
            note(s, D_STRAY_CLOSER, position_at(s, v, j))
        if not s.error:
            consume(s, c, v, j + t.literals[k].n, IN_HEADER)
            if role == SECTION_CLOSE:
                enter_text(s)
    return True


cdef bint step_after(Stream* s, const Context* c, View* v) noexcept nogil:
    """Behind a wrapped object: its closer, another object, or text."""
    cdef const TagTable* t = c.row
    cdef Tags* g = &s.tags
    cdef Header h
    cdef uint8_t ch = v.p[v.i]
    cdef int k = -1, verdict = match(v, t, v.i, v.n, t.roles[SECTION_CLOSE] if t.has_section else t.roles[CALL_CLOSE], &k)
    if verdict == YES:
        consume(s, c, v, v.i + t.literals[k].n, IN_HEADER)
        enter_text(s)
    elif verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)
        return v.end
    elif is_json_space(ch) or ch == c'}' or ch == c']' or (ch == c',' and g.array):
        if ch == c'}' or (ch == c']' and not g.array):
            note(s, D_IGNORED_TEXT, s.position)
        if ch == c']':
            g.array = 0
        if not s.error:
            consume(s, c, v, v.i + 1, IN_HEADER)
    elif ch == c'{':
        memset(&h, 0, sizeof(Header))
        h.in_section = g.in_section
        verdict = look_object(v, c, s, v.i, v.i, &h)
        if verdict == MORE:
            if v.end:
                note(s, D_UNFINISHED_HEADER, s.position)
                consume(s, c, v, v.n, IN_HEADER)
            return v.end
        g.probed = g.name_at = 0
        if verdict == YES:
            begin_call(s, c, v, &h)
        else:
            enter_text(s)
    elif is_special(v, v.i) and v.marks[v.i] & INERT_ID:
        drop_special(s, c, v)
    else:
        enter_text(s)
    return True
