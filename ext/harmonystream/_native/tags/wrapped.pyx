# The states WRAPPED and AFTER: the call is one object, {"name": …, "arguments": …}. Its header has found the name already. The value of
# `arguments` passes, everything else is dropped.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport has_quote_or_backslash, hex_digit, is_json_space
from harmonystream._native.core.json_scan cimport json_balanced
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_encode
from harmonystream._native.tags.call_object cimport *
from harmonystream._native.tags.calls cimport begin_call
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.transitions cimport end_wrapped, enter_text
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    NO_SURROGATE = 0


cdef void put_decoded(Stream* s, const Context* c, uint32_t code, int64_t at) noexcept nogil:
    cdef uint8_t[16] text
    put_text(s, c.out, text, utf8_encode(code, text), at, at + 1)


cdef void flush_surrogate(Stream* s, const Context* c) noexcept nogil:
    """The high half that waited stays alone."""
    if s.tags.surrogate != NO_SURROGATE:
        put_decoded(s, c, 0xFFFD, s.position)
        s.tags.surrogate = NO_SURROGATE


cdef void end_escape(Stream* s, const Context* c) noexcept nogil:
    """s.tags.escape holds a whole escape, without its backslash; its last byte is at s.position."""
    cdef Tags* g = &s.tags
    cdef int code = g.escape[0]
    if g.escape[0] == c'u':
        code = unicode_escape(g.escape + 1)
        if 0xDC00 <= code < 0xE000 and g.surrogate != NO_SURROGATE:
            put_decoded(s, c, <uint32_t>(0x10000 + ((g.surrogate - 0xD800) << 10) + (code - 0xDC00)), s.position)
            g.surrogate = NO_SURROGATE
            return
        flush_surrogate(s, c)
        if 0xD800 <= code < 0xDC00:
            g.surrogate = code
            return
    else:
        flush_surrogate(s, c)
        code = simple_escape(g.escape[0])
    put_decoded(s, c, <uint32_t>code, s.position)


cdef void pass_string(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The inside of an argument string, decoded one level."""
    cdef Tags* g = &s.tags
    cdef Py_ssize_t k
    while v.i < to:
        if g.escape_n == 1 and v.p[v.i] >= 0x80:                             # no escape; a backslash before any character is dropped
            g.escape_n = 0
        if g.escape_n:
            if g.escape_n > 1 and hex_digit(v.p[v.i]) < 0:                           # \u without its four digits: as much of it as there is
                g.escape_n = 0
                flush_surrogate(s, c)
                put_decoded(s, c, 0xFFFD, s.position)
                continue
            g.escape[g.escape_n - 1] = v.p[v.i]
            g.escape_n += 1
            if g.escape[0] != c'u' or g.escape_n == 6:
                flush_pending(s, c.out)
                end_escape(s, c)
                g.escape_n = 0
            consume(s, c, v, v.i + 1, IN_ARGUMENTS)
            continue
        k = v.i
        while k < to and v.p[k] != c'\\':
            k += 1
        if k > v.i:
            flush_surrogate(s, c)
            put_run(s, c, v, k)
        if k < to:
            consume(s, c, v, k + 1, IN_ARGUMENTS)
            g.escape_n = 1


cdef void pass_scalar(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """A bare value: `null` is nothing, so its letters wait."""
    cdef Tags* g = &s.tags
    while v.i < to and g.passing == PASS_SCALAR:
        if g.escape_n < 4 and v.p[v.i] == (<const char*>b"null")[g.escape_n]:
            if g.escape_n == 0:
                g.value_at = s.position
            g.escape_n += 1
            consume(s, c, v, v.i + 1, IN_ARGUMENTS)
            g.value_stop = s.position + (v.marks != NULL and v.i < v.n and not v.marks[v.i] & BEGINS_TOKEN)
        else:
            put_text(s, c.out, b"null", g.escape_n, g.value_at, g.value_stop)
            g.escape_n = 0
            g.passing = PASS_RAW
    if v.i < to:
        put_run(s, c, v, to)


cdef void pass_to(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The bytes up to `to`, all of one kind."""
    if to <= v.i:
        return
    if s.tags.passing == PASS_RAW:
        put_run(s, c, v, to)
    elif s.tags.passing == PASS_STRING:
        pass_string(s, c, v, to)
    elif s.tags.passing == PASS_SCALAR:
        pass_scalar(s, c, v, to)
    else:
        consume(s, c, v, to, IN_ARGUMENTS)


cdef void value_over(Stream* s, const Context* c) noexcept nogil:
    """The member's value has been passed."""
    cdef Tags* g = &s.tags
    if g.passing == PASS_SCALAR and g.escape_n < 4:
        put_text(s, c.out, b"null", g.escape_n, g.value_at, g.value_stop)
    if g.passing == PASS_STRING:
        flush_surrogate(s, c)
    flush_pending(s, c.out)
    g.passing = PASS_NOTHING
    g.escape_n = 0


cdef void object_found(Stream* s, const Context* c, View* v, Py_ssize_t x, int found) noexcept nogil:
    """What the byte at x did to the object."""
    cdef Tags* g = &s.tags
    cdef int64_t at
    if found == F_BEGINS:
        pass_to(s, c, v, x)
        if g.object.key == ARGUMENTS_MEMBER and not g.begun:
            g.begun = 1
            if v.p[x] == c'"':
                consume(s, c, v, x + 1, IN_ARGUMENTS)
                g.passing = PASS_STRING
            else:
                g.passing = PASS_RAW if v.p[x] == c'{' or v.p[x] == c'[' else PASS_SCALAR
    elif found == F_ENDS:
        if g.passing == PASS_STRING:
            pass_to(s, c, v, x)
            if s.tags.escape_n:                                              # \u without its digits, and the string is over
                put_decoded(s, c, 0xFFFD, s.position)
            value_over(s, c)
        else:
            pass_to(s, c, v, x + 1)
            value_over(s, c)
    elif found != F_NOTHING:
        pass_to(s, c, v, x)
        value_over(s, c)
        if found == F_OVER or found == F_ENDED_OVER:
            at = position_at(s, v, x)
            end_wrapped(s, c, at, True)
            consume(s, c, v, x + 1, IN_ARGUMENTS)


cdef bint step_wrapped(Stream* s, const Context* c, View* v) noexcept nogil:
    """As far as the object goes, or to the end of the view."""
    cdef const TagTable* row = c.row
    cdef Tags* g = &s.tags
    cdef uint64_t markers = row.roles[SECTION_OPEN] | (row.roles[SECTION_CLOSE] if row.has_section else row.roles[CALL_CLOSE] | row.roles[CALL_OPEN])
    cdef Py_ssize_t x = v.i
    cdef int k = -1, found, verdict
    while x < v.n:
        if is_special(v, x):
            pass_to(s, c, v, x)
            return step_special(s, c, v)
        if not g.object.in_string and row.first[v.p[x]] & markers:
            verdict = match(v, row, x, v.n, markers, &k)
            if verdict != NO:
                pass_to(s, c, v, x)
                if verdict == MORE and not v.end:
                    return False
                if verdict == MORE:
                    consume(s, c, v, v.n, IN_HEADER)
                    return True
                note(s, D_MISSING_CLOSER, s.position)
                if not s.error:
                    value_over(s, c)
                    end_wrapped(s, c, s.position, True)
                return True
        if g.object.in_string and not g.object.escape and g.object.expect != X_IN_KEY:
            while x + 8 <= v.n and not v.special and not has_quote_or_backslash(v.p + x):
                x += 8
            if x == v.n:
                break
        found = object_step(&g.object, v.p[x])
        if found != F_NOTHING:
            object_found(s, c, v, x, found)
            if s.state != WRAPPED:
                return True
            if v.i > x:
                x = v.i
                continue
        x += 1
    pass_to(s, c, v, v.n)
    return True


cdef bint step_special(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control or inert id inside the object."""
    cdef uint64_t ends = c.row.follow_call | c.row.roles[CALL_CLOSE]
    cdef int k = -1
    if match(v, c.row, v.i, v.n, ends, &k) == YES:
        note(s, D_MISSING_CLOSER, s.position)
        if not s.error:
            value_over(s, c)
            end_wrapped(s, c, s.position, c.row.literals[k].role != STOP or json_balanced(&s.json))
    elif v.marks[v.i] & BEGINS_CONTROL and match(v, c.row, v.i, v.n, c.row.by_id, &k) == YES:
        pass_to(s, c, v, v.i + c.row.literals[k].n)                          # what it marks elsewhere is text here
    else:
        drop_special(s, c, v)
    return True


# --- AFTER ------------------------------------------------------------------------------------------------------------------------

cdef bint step_after(Stream* s, const Context* c, View* v) noexcept nogil:
    """After a wrapped object: its closer, another object, or text."""
    cdef const TagTable* row = c.row
    cdef Tags* g = &s.tags
    cdef CallHeader h
    cdef uint8_t ch = v.p[v.i]
    cdef int k = -1, verdict = match(v, row, v.i, v.n, row.roles[SECTION_CLOSE] if row.has_section else row.roles[CALL_CLOSE], &k)
    if verdict == YES:
        consume(s, c, v, v.i + row.literals[k].n, IN_HEADER)
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
        memset(&h, 0, sizeof(CallHeader))
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
