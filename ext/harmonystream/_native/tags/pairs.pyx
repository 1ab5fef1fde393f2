# The states PAIRS and VALUE: keys and values, from which the machine writes JSON. Each step takes something from the
# view, or returns False if it needs more input.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy
from harmonystream._native.core.buffer cimport buffer_free
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space, is_space
from harmonystream._native.core.json_text cimport json_escape
from harmonystream._native.core.tools cimport has_parameters, is_parameter, parameter_types
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_repair
from harmonystream._native.tags.cdata cimport CDATA_MAY, IN_CDATA, NO_CDATA, look_cdata, look_cdata_end
from harmonystream._native.tags.element_path cimport E_ARRAY, key_from, last_name
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.names cimport is_word_byte
from harmonystream._native.tags.quotation cimport unless_quoted
from harmonystream._native.tags.transitions cimport end_call, leave_value, open_value, turn_raw
from harmonystream._native.tags.values cimport first_byte, json_prefix, literal_prefix, value_json
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MAX_SIGNS = 16                     # between a key and its value's opener
    ESCAPED_AT_ONCE = 1024             # bytes of a string that are escaped in one go


# --- writing JSON -----------------------------------------------------------------------------------------------------

cdef void write(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start, int64_t stop) noexcept nogil:
    """JSON that is ready."""
    cdef uint8_t mode = s.value_mode
    s.value_mode = NO_VALUE
    put_text(s, o, p, n, start, stop)
    s.value_mode = mode


cdef void write_name(Stream* s, Out* o, const uint8_t* name, Py_ssize_t size, bint first, int64_t at) noexcept nogil:
    """`{"key": `, or with a comma. first: the `{`, if it is one, is written with the key."""
    cdef uint8_t[6 * 3 * HEADER_CAP + 8] text
    cdef uint8_t[3 * HEADER_CAP] key
    cdef Py_ssize_t n = 3 if s.tags.pairs else 1 + first
    memcpy(text, b', "' if s.tags.pairs else b'{"' if first else b'"', n)
    n += json_escape(key, utf8_repair(name, size, key), text + n)
    memcpy(text + n, b'": ', 3)
    at = after(s, at)
    write(s, o, text, n + 3, at, at)
    s.tags.pairs = 1


cdef void write_key(Stream* s, Out* o, int64_t at) noexcept nogil:
    """The open key, before the first byte of the value's JSON."""
    write_name(s, o, s.header, s.header_n, True, at)


cdef void begin_value(Stream* s, const Context* c, int64_t at) noexcept nogil:
    """What comes before the JSON of a value: its key, or, in an array of elements, a comma."""
    cdef const TaggedCall* call = &s.tags.call.tagged
    cdef Py_ssize_t i
    if not c.row.has_element:
        write_key(s, c.out, at)
    elif call.path & 3 != E_ARRAY:
        i = key_from(s, last_name(s), s.header_n - 1)
        write_name(s, c.out, s.header + i, s.header_n - 1 - i, call.path == 0, at)
    else:
        if s.tags.pairs:
            write(s, c.out, b", ", 2, after(s, at), after(s, at))
        s.tags.pairs = 1


cdef void write_escaped(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start, int64_t stop) noexcept nogil:
    """Text of a JSON string."""
    cdef uint8_t[6 * ESCAPED_AT_ONCE] text
    cdef Py_ssize_t i = 0, size
    while i < n:
        size = n - i if n - i < ESCAPED_AT_ONCE else ESCAPED_AT_ONCE
        write(s, o, text, json_escape(p + i, size, text), start, stop)
        i += size


cdef bint may_wrap(const Stream* s, const Context* c, const uint8_t* key, Py_ssize_t n) noexcept nogil:
    """Does this key, though not declared, hold all the arguments as one object? Models write such a key first."""
    if s.tags.pairs or not has_parameters(c.tools, s.tags.tool) or is_parameter(c.tools, s.tags.tool, key, n):
        return False
    return ((n == 9 and memcmp(key, b"arguments", 9) == 0) or (n == 10 and memcmp(key, b"parameters", 10) == 0)
            or (n == 5 and memcmp(key, b"input", 5) == 0))


cdef void open_key(Stream* s, const Context* c, View* v, const uint8_t* key, Py_ssize_t n,
                   uint8_t typed) noexcept nogil:
    """A value begins. Decides how its JSON is written.

    typed: the types that come with the key, a mask; TYPE_JSON; or 0 (none).
    """
    cdef Tags* g = &s.tags
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef int types = parameter_types(c.tools, g.tool, key, n)
    memcpy(s.header, key, n)
    s.header_n = <uint16_t>n
    choose_mode(s, c, types, typed)
    call.may_wrap = may_wrap(s, c, key, n)
    call.own_mode = NO_VALUE
    if call.may_wrap:
        call.own_mode = s.value_mode
        s.value_mode = HELD
    call.fresh = 1
    open_value(s)
    call.cdata = CDATA_MAY if c.row.roles[CDATA_OPEN] else NO_CDATA


cdef void choose_mode(Stream* s, const Context* c, int types, uint8_t typed) noexcept nogil:
    """How a value is written, by the types that the schema gives it, and those that come with its key."""
    cdef TaggedCall* call = &s.tags.call.tagged
    if typed != TYPE_JSON and (types == 0 or types & typed):
        types = typed if types == 0 else types & typed
    call.types = <uint8_t>types
    call.untyped_json = typed == TYPE_JSON or (typed == 0 and c.row.untyped_json)
    if types == TYPE_STRING or (types == 0 and not call.untyped_json):
        s.value_mode = STREAMED
    else:
        s.value_mode = LITERAL if types & TYPE_STRING and not types & (TYPE_OBJECT | TYPE_ARRAY) else HELD


cdef void judge_wrapper(Stream* s, const Buffer* value) noexcept nogil:
    """The first byte of what may be all the arguments says whether it is an object."""
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef int first = first_byte(value.p, value.n)
    if first != -1 and first != c'{':
        s.value_mode = call.own_mode
        call.may_wrap = call.own_mode = 0


cdef bint unwrap(Stream* s, const Context* c) noexcept nogil:
    """Write the object that has all the arguments in it, without its last brace, if the value is one."""
    cdef Tags* g = &s.tags
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef Out* o = c.out
    cdef Buffer json
    cdef Py_ssize_t i = 1
    cdef int fitted
    json.p = NULL
    json.n = json.cap = 0
    fitted = value_json(o.held.value.p, o.held.value.n, TYPE_OBJECT, False, &json)
    o.no_memory |= fitted < 0
    if fitted > 0 and json.n > 0 and json.p[0] == c'{':
        note(s, D_WRAPPED_ARGUMENTS, g.value_at)
        while i < json.n and is_space(json.p[i]):
            i += 1
        if i < json.n - 1 and not s.error:
            write(s, o, json.p, json.n - 1, g.value_at, g.value_stop)
            g.pairs = 1
    else:
        fitted = 0
        s.value_mode = call.own_mode
    call.may_wrap = call.own_mode = 0
    buffer_free(&json)
    return fitted != 0


cdef void flush_value(Stream* s, const Context* c) noexcept nogil:
    """Writes the part of the value that has come, if its type is known."""
    cdef Tags* g = &s.tags
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef Out* o = c.out
    cdef Buffer* value = &o.held.value
    if value.n == 0 or o.labels != NULL:
        value.n = 0 if o.labels != NULL else value.n
        return
    if call.may_wrap:
        judge_wrapper(s, value)
    if s.value_mode == LITERAL and not literal_prefix(value.p, value.n, call.types):
        s.value_mode = STREAMED
    if s.value_mode == HELD and call.types == 0 and not call.may_wrap and not json_prefix(value.p, value.n):
        s.value_mode = STREAMED
    if s.value_mode == HELD and value.n > o.held.cap:
        note(s, D_HELD_TOO_LONG, g.value_at)
        s.value_mode = STREAMED
        call.may_wrap = call.own_mode = 0
    if s.value_mode != STREAMED:
        return
    if not call.begun:
        call.begun = 1
        begin_value(s, c, g.value_at)
        write(s, o, b'"', 1, after(s, g.value_at), after(s, g.value_at))
    write_escaped(s, o, value.p, value.n, g.value_at, g.value_stop)
    value.n = 0


cdef void close_value(Stream* s, const Context* c, int64_t at) noexcept nogil:
    cdef Tags* g = &s.tags
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef Out* o = c.out
    cdef Buffer json
    cdef int fitted
    flush_pending(s, o)
    flush_value(s, c)
    call.paired = 1
    if call.may_wrap and o.labels == NULL and o.held.value.n and unwrap(s, c):
        o.held.value.n = 0
        leave_value(s)
        return
    if call.may_wrap:
        s.value_mode = call.own_mode
        call.may_wrap = call.own_mode = 0
    flush_value(s, c)
    at = after(s, at)
    if s.value_mode == STREAMED:
        if not call.begun:
            begin_value(s, c, at)
            write(s, o, b'"', 1, at, at)
        write(s, o, b'"', 1, at, at)
    elif o.labels == NULL:
        if o.held.value.n == 0:
            g.value_at = g.value_stop = at
        json.p = NULL
        json.n = json.cap = 0
        fitted = value_json(o.held.value.p, o.held.value.n, call.types, call.untyped_json, &json)
        if fitted == 0:
            note(s, D_VALUE_TYPE, at)
        if fitted < 0:
            o.no_memory = True
        else:
            begin_value(s, c, g.value_at)
            write(s, o, json.p, json.n, g.value_at, g.value_stop)
        buffer_free(&json)
    o.held.value.n = 0
    leave_value(s)


# --- VALUE ------------------------------------------------------------------------------------------------------------

cdef int look_noisy_opener(const View* v, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """Between a key and its value's opener, at *stop: a few signs, as a colon?"""
    cdef Py_ssize_t n = limit(v, v.i), x = v.i
    cdef int k = -1, verdict = NO
    while verdict == NO and x - v.i <= MAX_SIGNS:
        if x < n and (is_special(v, x) or is_word_byte(v.p[x])) and v.p[x] not in b".-":
            return NO
        x += 1
        verdict = match(v, row, x, n, row.roles[VALUE_OPEN], &k)
    stop[0] = x
    return undecided(v, v.i) if verdict == MORE else verdict


cdef bint step_value_opener(Stream* s, const Context* c, View* v) noexcept nogil:
    """After a key's end: the value's opener, or a marker that says that the value, or its opener, is missing."""
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef const TagTable* row = c.row
    cdef Py_ssize_t x = 0
    cdef int k = -1, role, verdict
    if is_json_space(v.p[v.i]):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_HEADER)
        s.tags.line_start = v.p[v.i - 1] == c'\n'
        return True
    verdict = match(v, row, v.i, v.n, row.roles[VALUE_OPEN] | row.roles[KEY_END] | row.follow_value, &k)
    role = row.literals[k].role if verdict == YES else KEY_OPEN
    if role == STOP:
        verdict = look_stop(v, row, v.i, k)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)
        return v.end
    if verdict == NO:
        verdict = look_noisy_opener(v, row, &x)
        if verdict == MORE and not v.end:
            return False
        if verdict == YES:
            note(s, D_IGNORED_TEXT, s.position)
            if not s.error:
                consume(s, c, v, x, IN_HEADER)
            return True
        note(s, D_MISSING_OPENER, s.position)
        call.opener_due = 0
    elif role == VALUE_OPEN:
        x = v.i + row.literals[k].n
        verdict = match(v, row, x, v.n, row.roles[VALUE_OPEN], &k)
        if verdict == MORE and not v.end:
            return False
        if verdict == YES:
            note(s, D_REPEATED_OPENER, s.position)
            if s.error:
                return True
        consume(s, c, v, x, IN_HEADER)
        call.opener_due = verdict == YES
        s.tags.line_start = 0
    elif role == KEY_END:
        note(s, D_STRAY_CLOSER, s.position)
        if not s.error:
            consume(s, c, v, v.i + row.literals[k].n, IN_HEADER)
    else:
        note(s, D_MISSING_VALUE, s.position)
        s.tags.unread = 1
        leave_value(s)
    return True


cdef int step_cdata(Stream* s, const Context* c, View* v) noexcept nogil:
    """Text that is taken as it is, or may begin here. NO: it does not, and nothing is consumed."""
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef const TagTable* row = c.row
    cdef uint64_t ends = row.roles[CDATA_CLOSE] | row.roles[VALUE_CLOSE] | row.roles[STOP]
    cdef Py_ssize_t q = v.i, stop = 0
    cdef int hit = -1, verdict
    if call.cdata == CDATA_MAY:
        verdict = look_cdata(v, row, &stop)
        if verdict == YES:
            flush_pending(s, c.out)
            consume(s, c, v, stop, IN_HEADER)
            call.fresh = 0
        call.cdata = IN_CDATA if verdict == YES else NO_CDATA if verdict == NO else CDATA_MAY
        return verdict
    while q < v.n and not (row.first[v.p[q]] & ends or is_special(v, q)):
        q += 1
    verdict = NO if q > v.i else look_cdata_end(v, row, &stop, &hit)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)                                 # a partial closer
            return YES
        return MORE
    if verdict == YES and hit < 0:
        flush_pending(s, c.out)
        consume(s, c, v, stop, IN_HEADER)
        s.tags.line_start = v.p[v.i - 1] == c'\n'
        call.cdata = CDATA_MAY
        return YES
    if verdict == YES:
        if row.literals[hit].role == VALUE_CLOSE:
            note(s, D_MISSING_CLOSER, position_at(s, v, v.i))
        if not s.error:
            end_value(s, c, v, stop, hit)
        return YES
    if is_special(v, q) and q == v.i:
        drop_special(s, c, v)
    else:
        put_run(s, c, v, q if q > v.i else q + 1)
    if not s.error:
        flush_value(s, c)
        s.tags.line_start = v.p[v.i - 1] == c'\n'
    return YES


cdef int look_same_key(const View* v, const Context* c, const Stream* s) noexcept nogil:
    """Before the value's first byte: the open key once more? Not if the value quotes a call."""
    cdef Key key
    cdef int k = -1, verdict = match(v, c.row, v.i, v.n, c.row.roles[KEY_OPEN], &k)
    if verdict == YES:
        verdict = NO if c.row.value_opener else look_pair(v, c, s, v.i, k, v.i, &key)
    if verdict != YES:
        return undecided(v, v.i) if verdict == MORE else NO
    if key.n != s.header_n or memcmp(v.p + key.at, s.header, key.n) != 0:
        return NO
    return unless_quoted(v, c.row, v.i, YES)


cdef bint step_value(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef TaggedCall* call = &s.tags.call.tagged
    cdef const TagTable* row = c.row
    cdef Tags* g = &s.tags
    cdef Py_ssize_t q = v.i, stop = 0
    cdef int hit = -1, verdict
    cdef bint newline
    if call.opener_due:
        return step_value_opener(s, c, v)
    if call.cdata:
        verdict = step_cdata(s, c, v)
        if verdict != NO:
            return verdict == YES
    if call.fresh:
        if row.strip and not call.layout and v.p[q] == c'\n':
            g.line_start = call.layout = 1
            consume(s, c, v, q + 1, IN_ARGUMENTS)
            return True
        verdict = look_same_key(v, c, s)
        if verdict == MORE and not v.end:
            return False
        call.fresh = 0
        if verdict == YES:
            note(s, D_REPEATED_OPENER, s.position)
            leave_value(s)
            return True
    while q < v.n and not (row.first[v.p[q]] & row.value_any or (row.strip and v.p[q] == c'\n') or is_special(v, q)):
        q += 1
    if q > v.i:
        g.line_start = v.p[q - 1] == c'\n'
        put_run(s, c, v, q)
        flush_value(s, c)
        return True
    newline = row.strip and v.p[q] == c'\n'
    verdict = MORE
    if not newline or q + 1 != v.n:
        verdict = look_value_end(v, c, s, q + newline, newline or g.line_start, q, &stop, &hit)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)                                 # a partial closer
        return v.end
    if verdict == NO:
        if is_special(v, q):
            drop_special(s, c, v)
        else:
            call.quotes_pair |= not newline and match(v, row, q, v.n, row.roles[KEY_OPEN], &hit) == YES
            put_run(s, c, v, q + 1)
        if s.error:
            return True
        flush_value(s, c)
        g.line_start = v.p[v.i - 1] == c'\n'
        return True
    if newline and not call.layout and (hit < 0 or row.literals[hit].role == VALUE_CLOSE):
        put_run(s, c, v, q + 1)                            # part of the value, which did not begin with a newline
        flush_value(s, c)
    elif newline:
        consume(s, c, v, q + 1, IN_ARGUMENTS)
    end_value(s, c, v, stop, hit)
    return True


cdef void end_value(Stream* s, const Context* c, View* v, Py_ssize_t stop, int hit) noexcept nogil:
    """A marker here ends the value. Its own closer is consumed; a marker that implies the end is left to PAIRS."""
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


# --- PAIRS ------------------------------------------------------------------------------------------------------------

cdef int look_noise(Stream* s, const View* v, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """There is text between pairs. YES: the call goes on, or is closed, at *stop. NO: the call is over.

    Continues where the last look stopped.
    """
    cdef Py_ssize_t i = v.i + (1 if s.tags.probed == 0 else s.tags.probed), n = limit(v, v.i)
    cdef uint64_t mask = row.follow_value
    cdef int k = -1, verdict
    while i < n:
        if row.first[v.p[i]] & mask:
            verdict = match(v, row, i, n, mask, &k)
            if verdict == YES:
                stop[0] = i
                return YES if row.literals[k].role in (KEY_OPEN, CALL_CLOSE, SECTION_CLOSE) else NO
            if verdict == MORE:
                break
        i += 1
    s.tags.probed = i - v.i
    return NO if v.end or capped(v, v.i) else MORE


cdef bint step_noise(Stream* s, const Context* c, View* v, bint is_key) noexcept nogil:
    """is_key: the noise begins with a key's opener. Then an argument is in it, so the call is not complete."""
    cdef Py_ssize_t stop = 0
    cdef int verdict = look_noise(s, v, c.row, &stop)
    if verdict == MORE:
        return False
    s.tags.probed = 0
    note(s, D_IGNORED_TEXT if verdict == YES else D_MISSING_CLOSER, s.position)
    if s.error:
        return True
    s.tags.unread |= verdict == YES or is_key
    if verdict == YES:
        consume(s, c, v, stop, IN_HEADER)
    else:
        end_call(s, c, s.position, True, True)
    return True


cdef void take_key(Stream* s, const Context* c, View* v, const Key* key) noexcept nogil:
    """This key is next: its value begins after it."""
    if key.missing or key.foreign:
        note(s, D_MISSING_OPENER if key.missing else D_IGNORED_TEXT, s.position)
    if key.repeated and not s.error:
        note(s, D_REPEATED_OPENER, s.position)
    if s.error:
        return
    open_key(s, c, v, v.p + key.at, key.n, key.typed)
    consume(s, c, v, key.stop, IN_HEADER)
    s.tags.call.tagged.opener_due = key.opening


cdef int look_call_closer(const Stream* s, const View* v, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """The call's closer, misspelt, and what may follow it."""
    cdef int verdict = look_misspelt(v, row, v.i, v.i, CALL_CLOSE, stop)
    if verdict == NO:
        verdict = look_wrong_closer(v, row, s, v.i, v.i, CALL_CLOSE, stop)
    return look_follow(v, row, stop[0], v.i, row.follow_call) if verdict == YES else verdict


cdef int look_lost_pair(const View* v, const TagTable* row, Py_ssize_t i) noexcept nogil:
    """A marker ends at i that ends a call without pairs. Does the rest of a pair come directly after it? Then it may
    stand where a key's opener should."""
    cdef Py_ssize_t n = limit(v, v.i), x = i
    cdef uint64_t mask = row.follow_value | row.roles[VALUE_CLOSE]
    cdef int k = -1, verdict = NO
    if i < n and (is_json_space(v.p[i]) or is_special(v, i)):
        return NO
    while x < n and verdict == NO:
        if row.first[v.p[x]] & mask:
            verdict = match(v, row, x, n, mask, &k)
        x += 1
    if verdict == YES:
        return YES if row.literals[k].role == VALUE_CLOSE and x - 1 > i else NO
    return undecided(v, v.i)


cdef bint step_pairs(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const TagTable* row = c.row
    cdef Key key
    cdef Py_ssize_t stop = 0
    cdef int k = -1, role = -1, lost, verdict
    if is_json_space(v.p[v.i]):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_HEADER)
        return True
    verdict = match(v, row, v.i, v.n, row.follow_value | row.roles[VALUE_CLOSE] | row.roles[KEY_END], &k)
    if verdict == YES:
        role = row.literals[k].role
        if role == KEY_OPEN:
            verdict = look_pair(v, c, s, v.i, k, v.i, &key)
            if verdict == YES:
                take_key(s, c, v, &key)
                return True
        elif role == STOP:
            verdict = look_stop(v, row, v.i, k)
        if verdict == NO or role == CALL_OPEN:
            lost = look_lost_key(v, c, s, v.i, v.i, &key)
            if lost == MORE and not v.end:
                return False
            if lost == YES:
                take_key(s, c, v, &key)
                return True
        if verdict == NO:
            return step_noise(s, c, v, role == KEY_OPEN)
    if verdict == MORE:
        if v.end:
            end_in_part(s, c, v, row.closers | row.roles[STOP])
        return v.end
    if verdict == NO:
        if is_special(v, v.i):
            drop_special(s, c, v)
            return True
        if v.p[v.i] == c'{' and not s.tags.call.tagged.paired:
            note(s, D_OTHER_BODY, s.position)
            turn_raw(s)
            return True
        role = VALUE_CLOSE
        verdict = look_misspelt(v, row, v.i, v.i, VALUE_CLOSE, &stop)
        if verdict == NO:
            role = CALL_CLOSE
            verdict = look_call_closer(s, v, row, &stop)
        if verdict == NO:
            verdict = look_lost_key(v, c, s, v.i, v.i, &key)
            if verdict == YES:
                take_key(s, c, v, &key)
                return True
        if verdict == NO or (verdict == MORE and v.end):
            return step_noise(s, c, v, False)
        if verdict == YES:
            note(s, D_MISSPELT_CLOSER, s.position)
            if s.error:
                return True
            if role == CALL_CLOSE:
                end_call(s, c, s.position, True, True)
            consume(s, c, v, stop, IN_HEADER)
        return verdict == YES
    if role not in (VALUE_CLOSE, KEY_END, STOP) and not s.tags.call.tagged.paired:
        verdict = look_lost_pair(v, row, v.i + row.literals[k].n)
        if verdict == MORE and not v.end:
            return False
        s.tags.unread |= verdict == YES
    if role != CALL_CLOSE:
        note(s, D_STRAY_CLOSER if role == VALUE_CLOSE or role == KEY_END else D_MISSING_CLOSER, s.position)
        if s.error:
            return True
    if role != VALUE_CLOSE and role != KEY_END:
        end_call(s, c, s.position, True, True)
    if role == VALUE_CLOSE or role == KEY_END or role == CALL_CLOSE:
        consume(s, c, v, v.i + row.literals[k].n, IN_HEADER)
    return True
