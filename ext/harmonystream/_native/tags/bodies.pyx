# Inside a call: pairs of keys and values, and raw bodies. Each step takes something from the view, or says that it needs more (False).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_free
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.tags.consume cimport *
from harmonystream._native.core.json_scan cimport *
from harmonystream._native.core.json_text cimport json_escape
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.core.tools cimport parameter_types
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_repair
from harmonystream._native.tags.values cimport literal_prefix, value_json

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    ESCAPED_AT_ONCE = 1024             # bytes of a string that are escaped in one go


cdef void enter_text(Stream* s) noexcept nogil:
    """Back to what is shown, just behind a marker."""
    s.state = TEXT
    s.sink = R_REASONING if s.tags.reasoning else R_CONTENT
    s.region = IN_REASONING if s.tags.reasoning else IN_CONTENT
    s.tags.in_section = 0
    s.tags.line_start = 1
    s.tags.seam = s.tags.trim


cdef void end_call(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil:
    """The call ends before the byte at `at`. pairs: its `{` and `}` are ours to write."""
    flush_pending(s, c.out)
    s.value_mode = NO_VALUE
    c.out.held.value.n = 0
    at = after(s, at)
    if pairs and complete and s.tags.pairs:
        put_text(s, c.out, b"}", 1, at, at)
    close_call(s, c.out, at, complete)
    if s.tags.in_section:
        enter_text(s)
        s.tags.in_section = 1
        s.state = SECTION
        s.region = IN_HEADER
    else:
        enter_text(s)


cdef void drop_special(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control or inert id that means nothing here. What marks reasoning elsewhere is text inside a call."""
    cdef Py_ssize_t n = 1
    cdef int k
    if v.marks[v.i] & BEGINS_CONTROL and match(v, c.row, v.i, v.n, c.row.by_id, &k) == YES:
        n = c.row.literals[k].n
        if c.row.literals[k].role in (THINK_OPEN, THINK_CLOSE, DROP) and s.state in (VALUE, RAW):
            s.tags.begun |= s.state == RAW
            put_run(s, c, v, v.i + n)
            return
    flush_pending(s, c.out)
    note(s, D_STRAY_CONTROL, s.position)
    if not s.error:
        consume(s, c, v, v.i + n, IN_HEADER)


# --- pairs ------------------------------------------------------------------------------------------------------------------------

cdef void write(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start, int64_t stop) noexcept nogil:
    """JSON that is ready."""
    cdef uint8_t mode = s.value_mode
    s.value_mode = NO_VALUE
    put_text(s, o, p, n, start, stop)
    s.value_mode = mode


cdef void write_key(Stream* s, Out* o, int64_t at) noexcept nogil:
    """`{"key": `, or with a comma, before the first byte of the value's JSON."""
    cdef uint8_t[6 * 3 * HEADER_CAP + 8] text
    cdef uint8_t[3 * HEADER_CAP] key
    cdef Py_ssize_t n
    memcpy(text, b', "' if s.tags.pairs else b'{"', 3 if s.tags.pairs else 2)
    n = 3 if s.tags.pairs else 2
    n += json_escape(key, utf8_repair(s.header, s.header_n, key), text + n)
    memcpy(text + n, b'": ', 3)
    at = after(s, at)
    write(s, o, text, n + 3, at, at)
    s.tags.pairs = 1


cdef void open_key(Stream* s, const Context* c, View* v, const uint8_t* key, Py_ssize_t n, uint8_t typed) noexcept nogil:
    """A value begins: how is its JSON written? typed: what the end of the key says, TYPE_STRING, TYPE_OBJECT (JSON) or 0."""
    cdef Tags* g = &s.tags
    cdef int types = parameter_types(c.tools, g.tool, key, n)
    memcpy(s.header, key, n)
    s.header_n = <uint16_t>n
    if typed == TYPE_STRING and (types == 0 or types & TYPE_STRING):
        types = TYPE_STRING
    g.types = <uint8_t>types
    g.untyped_json = typed == TYPE_OBJECT or (typed == 0 and c.row.untyped_json)
    if types == TYPE_STRING or (types == 0 and not g.untyped_json):
        s.value_mode = STREAMED
    else:
        s.value_mode = LITERAL if types & TYPE_STRING and not types & (TYPE_OBJECT | TYPE_ARRAY) else HELD
    g.fresh = c.row.strip
    g.line_start = g.begun = g.opening = 0
    s.state = VALUE
    s.region = IN_ARGUMENTS


cdef void flush_value(Stream* s, const Context* c) noexcept nogil:
    """Write what has come of the value, as far as its type is known."""
    cdef Tags* g = &s.tags
    cdef Out* o = c.out
    cdef Buffer* value = &o.held.value
    cdef uint8_t[6 * ESCAPED_AT_ONCE] text
    cdef Py_ssize_t i = 0, n
    if value.n == 0 or o.labels != NULL:
        value.n = 0 if o.labels != NULL else value.n
        return
    if s.value_mode == LITERAL and not literal_prefix(value.p, value.n, g.types):
        s.value_mode = STREAMED
    if s.value_mode == HELD and value.n > o.held.cap:
        note(s, D_HELD_TOO_LONG, g.value_at)
        s.value_mode = STREAMED
    if s.value_mode != STREAMED:
        return
    if not g.begun:
        g.begun = 1
        write_key(s, o, g.value_at)
        write(s, o, b'"', 1, after(s, g.value_at), after(s, g.value_at))
    while i < value.n:
        n = value.n - i if value.n - i < ESCAPED_AT_ONCE else ESCAPED_AT_ONCE
        write(s, o, text, json_escape(value.p + i, n, text), g.value_at, g.value_stop)
        i += n
    value.n = 0


cdef void close_value(Stream* s, const Context* c, int64_t at) noexcept nogil:
    cdef Tags* g = &s.tags
    cdef Out* o = c.out
    cdef Buffer json
    cdef int fitted
    flush_pending(s, o)
    flush_value(s, c)
    at = after(s, at)
    if s.value_mode == STREAMED:
        if not g.begun:
            write_key(s, o, at)
            write(s, o, b'"', 1, at, at)
        write(s, o, b'"', 1, at, at)
    elif o.labels == NULL:
        if o.held.value.n == 0:
            g.value_at = g.value_stop = at
        json.p = NULL
        json.n = json.cap = 0
        fitted = value_json(o.held.value.p, o.held.value.n, g.types, g.untyped_json, &json)
        if fitted == 0:
            note(s, D_VALUE_TYPE, at)
        if fitted < 0:
            o.no_memory = True
        else:
            write_key(s, o, g.value_at)
            write(s, o, json.p, json.n, g.value_at, g.value_stop)
        buffer_free(&json)
    o.held.value.n = 0
    s.value_mode = NO_VALUE
    s.state = PAIRS
    s.region = IN_HEADER


cdef bint step_value_opener(Stream* s, const Context* c, View* v) noexcept nogil:
    """Behind a key that had no opener, the value's may follow."""
    cdef int k = -1, verdict
    if is_json_space(v.p[v.i]):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_HEADER)
        s.tags.line_start = v.p[v.i - 1] == c'\n'
        return True
    verdict = match(v, c.row, v.i, v.n, c.row.roles[VALUE_OPEN], &k)
    if verdict == MORE and not v.end:
        return False
    s.tags.opening = 0
    if verdict == YES:
        s.tags.line_start = 0
        consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
    elif verdict == NO:
        note(s, D_MISSING_OPENER, s.position)
    return True


cdef bint step_value(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const TagTable* t = c.row
    cdef Tags* g = &s.tags
    cdef Py_ssize_t q = v.i, stop = 0
    cdef int hit = -1, verdict
    cdef bint newline
    if g.opening:
        return step_value_opener(s, c, v)
    if g.fresh:
        g.fresh = 0
        if v.p[q] == c'\n':
            g.line_start = 1
            consume(s, c, v, q + 1, IN_ARGUMENTS)
            return True
    while q < v.n and not (t.first[v.p[q]] & t.value_any or (t.strip and v.p[q] == c'\n') or is_special(v, q)):
        q += 1
    if q > v.i:
        g.line_start = v.p[q - 1] == c'\n'
        put_run(s, c, v, q)
        flush_value(s, c)
        return True
    newline = t.strip and v.p[q] == c'\n'
    verdict = MORE if newline and q + 1 == v.n else look_value_end(v, c, s, q + newline, newline or g.line_start, q, &stop, &hit)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)                                 # a partial closer
        return v.end
    if verdict == NO:
        if is_special(v, q):
            drop_special(s, c, v)
        else:
            put_run(s, c, v, q + 1)
        if s.error:
            return True
        flush_value(s, c)
        g.line_start = v.p[v.i - 1] == c'\n'
        return True
    if newline:
        consume(s, c, v, q + 1, IN_ARGUMENTS)
    end_value(s, c, v, stop, hit)
    return True


cdef void end_value(Stream* s, const Context* c, View* v, Py_ssize_t stop, int hit) noexcept nogil:
    """What stands here ends the value. Its own closer is taken; what implies the end is left to PAIRS."""
    cdef int64_t at = position_at(s, v, v.i)
    cdef int role = c.row.literals[hit].role if hit >= 0 else VALUE_CLOSE
    if role == STOP:                                                         # cut
        flush_pending(s, c.out)
        flush_value(s, c)
        end_call(s, c, at, False, True)
        return
    if hit < 0 or role != VALUE_CLOSE:
        note(s, D_MISSPELT_CLOSER if hit < 0 else D_MISSING_CLOSER, at)
        if s.error:
            return
    close_value(s, c, at)
    if role == VALUE_CLOSE:
        consume(s, c, v, stop, IN_HEADER)


cdef int look_noise(Stream* s, const View* v, const TagTable* t, Py_ssize_t* stop) noexcept nogil:
    """Text between pairs: YES: the call goes on, or is closed, at *stop; NO: the call is over. Goes on where the last look stopped."""
    cdef Py_ssize_t i = v.i + (1 if s.tags.probed == 0 else s.tags.probed), n = limit(v, v.i)
    cdef uint64_t mask = t.follow_value
    cdef int k = -1, verdict
    while i < n:
        if t.first[v.p[i]] & mask:
            verdict = match(v, t, i, n, mask, &k)
            if verdict == YES:
                stop[0] = i
                return YES if t.literals[k].role in (KEY_OPEN, CALL_CLOSE, SECTION_CLOSE) else NO
            if verdict == MORE:
                break
        i += 1
    s.tags.probed = i - v.i
    return NO if v.end or capped(v, v.i) else MORE


cdef bint step_noise(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef Py_ssize_t stop = 0
    cdef int verdict = look_noise(s, v, c.row, &stop)
    if verdict == MORE:
        return False
    s.tags.probed = 0
    note(s, D_IGNORED_TEXT if verdict == YES else D_MISSING_CLOSER, s.position)
    if s.error:
        return True
    if verdict == YES:
        consume(s, c, v, stop, IN_HEADER)
    else:
        end_call(s, c, s.position, True, True)
    return True


cdef bint step_pairs(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const TagTable* t = c.row
    cdef Key key
    cdef int k = -1, role, verdict
    key.stop = 0
    if is_json_space(v.p[v.i]):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_HEADER)
        return True
    verdict = match(v, t, v.i, v.n, t.follow_value | t.roles[VALUE_CLOSE], &k)
    if verdict == YES:
        role = t.literals[k].role
        if role == KEY_OPEN:
            verdict = look_key(v, t, v.i + t.literals[k].n, v.i, &key)
            if verdict == YES:
                if key.missing:
                    note(s, D_MISSING_OPENER, s.position)
                    if s.error:
                        return True
                open_key(s, c, v, v.p + key.at, key.n, key.typed)
                consume(s, c, v, key.stop, IN_HEADER)
                s.tags.line_start = v.p[v.i - 1] == c'\n'
                return True
        elif role == STOP:
            verdict = look_stop(v, t, v.i, k)
        if verdict == NO:
            return step_noise(s, c, v)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)
            if key.stop:                                                     # a key without its value: the call is cut
                end_call(s, c, s.position, False, True)
        return v.end
    if verdict == NO:
        if is_special(v, v.i):
            drop_special(s, c, v)
            return True
        if v.p[v.i] == c'{' and not s.tags.pairs:
            note(s, D_OTHER_BODY, s.position)
            s.state = RAW
            s.region = IN_ARGUMENTS
            return True
        return step_noise(s, c, v)
    if role != CALL_CLOSE:
        note(s, D_STRAY_CLOSER if role == VALUE_CLOSE else D_MISSING_CLOSER, s.position)
        if s.error:
            return True
    if role != VALUE_CLOSE:
        end_call(s, c, s.position, True, True)
    if role == VALUE_CLOSE or role == CALL_CLOSE:
        consume(s, c, v, v.i + t.literals[k].n, IN_HEADER)
    return True


# --- raw bodies -------------------------------------------------------------------------------------------------------------------

cdef inline bint is_closed(const Stream* s) noexcept nogil:
    return s.json.stage == J_CLOSED and not s.json.broken


cdef bint step_raw_begin(Stream* s, const Context* c, View* v) noexcept nogil:
    """ws and a fence before the body are not part of it."""
    cdef Tags* g = &s.tags
    cdef uint8_t ch = v.p[v.i]
    cdef int k, verdict
    if g.fenced == FENCE_NAME:
        if c'a' <= (ch | 0x20) <= c'z':
            consume(s, c, v, v.i + 1, IN_ARGUMENTS)
            return True
        g.fenced = FENCED
    if is_json_space(ch):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_ARGUMENTS)
        return True
    if ch == c'`' and not g.fenced:
        verdict = backquotes(v, v.i, v.n)
        if verdict == MORE and not v.end:
            return False
        if verdict == YES:
            g.fenced = FENCE_NAME
            consume(s, c, v, v.i + 3, IN_ARGUMENTS)
            return True
    verdict = look_raw_end(v, c.row, v.i, v.i, True, &k)                     # nothing has been quoted yet
    if verdict == YES:
        return step_raw_end(s, c, v, k)
    if verdict == MORE and not v.end:
        return False
    if is_special(v, v.i):
        drop_special(s, c, v)
        return True
    g.begun = 1
    return True


cdef bint step_raw_end(Stream* s, const Context* c, View* v, int k) noexcept nogil:
    """The marker k here ends the body."""
    cdef int role = c.row.literals[k].role
    if role != CALL_CLOSE:
        note(s, D_MISSING_CLOSER, s.position)
        if s.error:
            return True
    flush_pending(s, c.out)
    end_call(s, c, s.position, role != STOP or json_balanced(&s.json), False)
    if role == CALL_CLOSE:
        consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
    return True


cdef int look_raw_tail(const View* v, const TagTable* t, bint fenced, bint closed, Py_ssize_t* stop) noexcept nogil:
    """ws, perhaps with the closing fence, at the end of a raw body? YES: the body's end stands at *stop. NO: text, as far as *stop."""
    cdef Py_ssize_t n = limit(v, v.i), x = skip_ws(v, v.i, n)
    cdef bint more = not capped(v, v.i)
    cdef int k = 0, verdict
    stop[0] = x if x > v.i else x + 1
    if fenced and x < n and v.p[x] == c'`':
        while x + k < n and k < 3 and v.p[x + k] == c'`':
            k += 1
        if k < 3 and x + k < n:
            return NO
        x = skip_ws(v, x + k, n)
    elif x == v.i:
        return NO
    if x >= n:
        if more and v.end:
            stop[0] = x
        return NO if not more else YES if v.end else MORE
    verdict = look_raw_end(v, t, x, v.i, closed, &k)
    if verdict == YES or (verdict == MORE and v.end and closed):
        stop[0] = x
        return YES
    return MORE if verdict == MORE and not v.end else NO


cdef bint step_raw(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const TagTable* t = c.row
    cdef uint64_t marks = t.follow_call | t.roles[CALL_CLOSE]
    cdef bint closed = is_closed(s), opened = s.json.stage == J_OPEN and s.tags.begun
    cdef Py_ssize_t q = v.i, stop = 0
    cdef int k = -1, verdict
    if not s.tags.begun:
        return step_raw_begin(s, c, v)
    if opened:
        while q < v.n and not (t.first[v.p[q]] & marks or is_special(v, q)):
            q += 1
        if q > v.i:
            put_run(s, c, v, v.i + open_run(&s.json, v.p + v.i, q - v.i))
            return True
    elif is_json_space(v.p[q]) or (v.p[q] == c'`' and s.tags.fenced):
        verdict = look_raw_tail(v, t, s.tags.fenced, closed or (is_json_space(v.p[q]) and json_balanced(&s.json)), &stop)
        if verdict == MORE:
            return False
        if verdict == YES:
            if is_json_space(v.p[q]):                                                # a bare scalar is over now
                json_step(&s.json, b" ", 1)
            consume(s, c, v, stop, IN_ARGUMENTS)
        else:
            put_run(s, c, v, stop)
        return True
    verdict = look_raw_end(v, t, q, q, closed, &k)
    if verdict == YES:
        return step_raw_end(s, c, v, k)
    if verdict == MORE:
        if not v.end:
            return False
        if closed:
            consume(s, c, v, v.n, IN_HEADER)                                 # a partial closer
            return True
    if is_special(v, q):
        drop_special(s, c, v)
        return True
    q += 1
    while q < v.n and not opened and not (t.first[v.p[q]] & marks or is_special(v, q) or is_json_space(v.p[q]) or v.p[q] == c'`'
                                          or v.p[q - 1] == c'{' or v.p[q - 1] == c'[' or v.p[q - 1] == c'"'):
        q += 1
    put_run(s, c, v, q)
    return True
