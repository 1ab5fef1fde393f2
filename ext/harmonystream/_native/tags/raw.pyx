# The state RAW: the body of a call is its arguments, as JSON.

from libc.stdint cimport uint8_t, uint64_t
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.json_scan cimport *
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.call_names cimport backquotes
from harmonystream._native.tags.json_ends cimport end_of_text, left_at, look_lost_end
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.transitions cimport end_call
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)


cdef inline bint is_closed(const Stream* s) noexcept nogil:
    """Is the JSON over? An incomplete character after it will break it."""
    return s.json.stage == J_CLOSED and not s.json.broken and s.n_pending == 0


cdef inline bint may_be_json(const Literal* marker) noexcept nogil:
    """Can JSON have all of its bytes outside of strings?"""
    cdef int i
    for i in range(marker.n):
        if marker.text[i] not in b' \t\r\n{}[],:"0123456789+-.Etruefalsn':
            return False
    return True


cdef int look_raw_end(const View* v, Stream* s, const TagTable* row, Py_ssize_t i, Py_ssize_t origin, bint closed,
                      int* hit) noexcept nogil:
    """Does a marker at i end a raw body? closed: its JSON is over."""
    cdef Py_ssize_t n = limit(v, origin), stop
    cdef int k = -1, role, verdict = match(v, row, i, n, row.follow_call | row.roles[CALL_CLOSE], &k)
    if verdict != YES:
        return MORE if verdict == MORE and not capped(v, origin) else NO
    hit[0] = k
    role = row.literals[k].role
    if closed or is_special(v, i):
        return YES
    stop = i + row.literals[k].n
    if role == STOP:
        return look_follow(v, row, stop, origin, row.follow_stop)
    if not s.json.in_string:
        return YES if role in (CALL_CLOSE, SECTION_CLOSE) or not may_be_json(&row.literals[k]) else NO
    if role != CALL_CLOSE and role != SECTION_CLOSE:
        verdict = NO
        if row.open_end and not s.tags.call.raw.quoted_call and s.json.escape != E_BACKSLASH and (
                s.tags.call.raw.ends & BRACKET):
            verdict = look_lost_end(v, row, stop, c'"', False)
        s.tags.call.raw.quoted_call |= verdict == NO
        return verdict
    verdict = look_follow(v, row, stop, origin, row.follow_call if role == CALL_CLOSE else row.follow_section)
    if verdict == NO and not s.tags.call.raw.quoted_call and s.json.escape != E_BACKSLASH:
        verdict = look_lost_end(v, row, stop, c'"', s.tags.call.raw.ends & BRACKET != 0)
    return verdict


cdef bint step_raw_begin(Stream* s, const Context* c, View* v) noexcept nogil:
    """ws, a fence, and further ends of the name before the body are not part of it."""
    cdef Tags* g = &s.tags
    cdef RawCall* call = &s.tags.call.raw
    cdef uint8_t ch = v.p[v.i]
    cdef int k = -1, verdict
    if call.fence == FENCE_NAME:
        if c'a' <= (ch | 0x20) <= c'z':
            consume(s, c, v, v.i + 1, IN_ARGUMENTS)
            return True
        call.fence = FENCED
    if is_json_space(ch):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_ARGUMENTS)
        return True
    if ch == c'`' and not call.fence and not c.row.open_end:
        verdict = backquotes(v, v.i, v.n)
        if verdict == MORE and not v.end:
            return False
        if verdict == YES:
            call.fence = FENCE_NAME
            consume(s, c, v, v.i + 3, IN_ARGUMENTS)
            return True
    verdict = match(v, c.row, v.i, v.n, c.row.roles[NAME_END], &k)
    if verdict == YES:
        note(s, D_STRAY_CLOSER, s.position)
        if not s.error:
            consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
        return True
    if verdict == MORE and not v.end:
        return False
    verdict = look_raw_end(v, s, c.row, v.i, v.i, True, &k)                     # nothing has been quoted yet
    if verdict == YES:
        return step_raw_end(s, c, v, k)
    if verdict == MORE and not v.end:
        return False
    if is_special(v, v.i):
        drop_special(s, c, v)
        return True
    call.begun = 1
    return True


cdef bint step_raw_end(Stream* s, const Context* c, View* v, int k) noexcept nogil:
    """The marker k here ends the body."""
    cdef int role = c.row.literals[k].role
    if role != CALL_CLOSE:
        note(s, D_MISSING_CLOSER, s.position)
        if s.error:
            return True
    flush_pending(s, c.out)
    end_call(s, c, s.position, (role != STOP and not s.json.in_string) or json_balanced(&s.json), False)
    if role == CALL_CLOSE:
        consume(s, c, v, v.i + c.row.literals[k].n, IN_HEADER)
    return True


cdef void put_raw(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The bytes up to `to` are arguments."""
    s.tags.call.raw.ends = end_of_text(s.tags.call.raw.ends, v.p + v.i, to - v.i)
    put_run(s, c, v, to)


cdef int look_raw_tail(const View* v, Stream* s, const TagTable* row, bint fenced, bint closed,
                       Py_ssize_t* stop) noexcept nogil:
    """ws, perhaps with the closing fence, at the end of a raw body? YES: the body ends at *stop.

    NO: text up to *stop.
    """
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
    verdict = look_raw_end(v, s, row, x, v.i, closed, &k)
    if verdict == YES or (verdict == MORE and v.end and closed):
        stop[0] = x
        return YES
    return MORE if verdict == MORE and not v.end else NO


cdef int look_raw_noise(Stream* s, const View* v, const TagTable* row, Py_ssize_t* stop) noexcept nogil:
    """There is text after the JSON. YES: the call is closed after it, at *stop. NO: the call is over.

    Continues where the last look stopped.
    """
    cdef Py_ssize_t i = v.i + (1 if s.tags.probed == 0 else s.tags.probed), n = limit(v, v.i)
    cdef uint64_t mask = row.follow_call | row.roles[CALL_CLOSE]
    cdef int k = -1, verdict
    while i < n:
        if row.first[v.p[i]] & mask:
            verdict = match(v, row, i, n, mask, &k)
            if verdict == YES:
                stop[0] = i
                return YES if row.literals[k].role in (CALL_CLOSE, SECTION_CLOSE) else NO
            if verdict == MORE:
                break
        i += 1
    s.tags.probed = i - v.i
    return NO if v.end or capped(v, v.i) else MORE


cdef bint says_more(const View* v, const TagTable* row, Py_ssize_t to) noexcept nogil:
    """May what is here, up to `to`, hold arguments?"""
    cdef uint64_t markers = row.roles[KEY_OPEN] | row.roles[ELEMENT_OPEN]
    cdef Py_ssize_t i
    cdef int k = -1
    for i in range(v.i, to):
        if not is_special(v, i) and (v.p[i] in b'"{[=:' or match(v, row, i, to, markers, &k) == YES):
            return True
    return False


cdef bint step_raw_noise(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef Py_ssize_t stop = 0
    cdef int verdict = look_raw_noise(s, v, c.row, &stop)
    if verdict == MORE:
        return False
    s.tags.probed = 0
    note(s, D_IGNORED_TEXT if verdict == YES else D_MISSING_CLOSER, s.position)
    if s.error:
        return True
    if verdict == YES:
        s.tags.unread |= says_more(v, c.row, stop)
        consume(s, c, v, stop, IN_HEADER)
    else:
        end_call(s, c, s.position, True, False)
    return True


cdef bint is_noise(const Stream* s, const View* v, const TagTable* row) noexcept nogil:
    """No marker that counts is here. Is the JSON over, and no other value follows it?"""
    cdef Py_ssize_t n = limit(v, v.i), x = skip_ws(v, v.i, n)
    if row.open_end or not is_closed(s) or s.json.scalar:
        return False
    return x == n or is_special(v, x) or (v.p[x] != c'{' and v.p[x] != c'[' and v.p[x] != c'"')


cdef bint leave_raw(Stream* s, const Context* c) noexcept nogil:
    """What is here is not JSON, and the row has no closer: a bracket is missing."""
    note(s, D_MISSING_CLOSER, s.position)
    if not s.error:
        end_call(s, c, s.position, False, False)
    return True


cdef bint step_raw(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const RawCall* call = &s.tags.call.raw
    cdef const TagTable* row = c.row
    cdef uint64_t marks = row.follow_call | row.roles[CALL_CLOSE]
    cdef bint closed = is_closed(s), opened = s.json.stage == J_OPEN and call.begun
    cdef Py_ssize_t q = v.i, stop = 0
    cdef int k = -1, verdict
    if not call.begun:
        return step_raw_begin(s, c, v)
    if opened:
        if row.open_end and v.p[q] == c'\n' and s.tags.call.raw.ends & BRACKET and (
                s.json.in_string and s.json.escape != E_BACKSLASH and not s.tags.call.raw.quoted_call):
            verdict = look_lost_end(v, row, q, c'"', False)
            if verdict == MORE:
                return False
            if verdict == YES:
                return leave_raw(s, c)
        while q < v.n and not (row.first[v.p[q]] & marks or is_special(v, q) or (
                row.open_end and v.p[q] == c'\n' and q > v.i)):
            q += 1
        if q > v.i:
            q = v.i + open_run(&s.json, v.p + v.i, q - v.i)
            if row.open_end:
                stop = v.i + left_at(call.ends, &s.json, v.p + v.i, q - v.i)
                if stop == v.i:
                    return leave_raw(s, c)
                q = stop
            put_raw(s, c, v, q)
            if row.open_end and is_closed(s):
                end_call(s, c, s.position, True, False)
            return True
    elif is_json_space(v.p[q]) or (v.p[q] == c'`' and call.fence):
        closed = closed or (is_json_space(v.p[q]) and s.n_pending == 0 and json_balanced(&s.json))
        if row.open_end and closed:                                                  # a bare scalar
            end_call(s, c, s.position, True, False)
            return True
        verdict = look_raw_tail(v, s, row, call.fence, closed, &stop)
        if verdict == MORE:
            return False
        if verdict == YES:
            if is_json_space(v.p[q]):                                                # a bare scalar is over now
                json_step(&s.json, b" ", 1)
            consume(s, c, v, stop, IN_ARGUMENTS)
        elif is_noise(s, v, row):
            return step_raw_noise(s, c, v)
        else:
            put_raw(s, c, v, stop)
        return True
    verdict = look_raw_end(v, s, row, q, q, closed, &k)
    if verdict == YES:
        return step_raw_end(s, c, v, k)
    if verdict == MORE:
        if not v.end:
            return False
        if closed:
            consume(s, c, v, v.n, IN_HEADER)                                 # a partial closer
            return True
    if is_special(v, q):
        s.tags.call.raw.ends = 0
        drop_special(s, c, v)
        return True
    if is_noise(s, v, row):
        return step_raw_noise(s, c, v)
    if row.open_end and opened and left_at(call.ends, &s.json, v.p + q, 1) == 0:
        return leave_raw(s, c)
    q += 1
    while q < v.n and not opened and not (
            row.first[v.p[q]] & marks or is_special(v, q) or is_json_space(v.p[q]) or v.p[q] == c'`'
            or v.p[q - 1] == c'{' or v.p[q - 1] == c'[' or v.p[q - 1] == c'"'):
        q += 1
    put_raw(s, c, v, q)
    return True
