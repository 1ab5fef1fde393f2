# The states WRAPPED and AFTER: the call is one object, {"name": …, "arguments": …}. Its header has found the name
# already. The value of `arguments` is passed on, everything else is dropped. AFTER also follows a Python call.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memset
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport has_quote_or_backslash, hex_digit, is_json_space
from harmonystream._native.core.json_scan cimport json_balanced
from harmonystream._native.core.tools cimport has_parameters, is_parameter
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_encode, utf8_repair
from harmonystream._native.tags.call_object cimport *
from harmonystream._native.tags.call_names cimport backquotes
from harmonystream._native.tags.calls cimport begin_call
from harmonystream._native.tags.json_ends cimport end_of_text, is_foreign, is_whole_at_end, leaves_json, look_lost_end
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.object_name cimport simple_escape, unicode_escape
from harmonystream._native.tags.python_literal cimport read_literal
from harmonystream._native.tags.transitions cimport end_call, end_wrapped, enter_section, enter_text
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    NO_SURROGATE = 0


cdef void put_decoded(Stream* s, const Context* c, uint32_t code, int64_t at) noexcept nogil:
    cdef uint8_t[16] text
    put_text(s, c.out, text, utf8_encode(code, text), at, at + 1)


cdef void flush_surrogate(Stream* s, const Context* c) noexcept nogil:
    """The held high surrogate has no low one."""
    cdef WrappedCall* call = &s.tags.call.wrapped
    if call.surrogate != NO_SURROGATE:
        put_decoded(s, c, 0xFFFD, s.position)
        call.surrogate = NO_SURROGATE


cdef void end_escape(Stream* s, const Context* c) noexcept nogil:
    """s.tags.call.wrapped.escape holds a whole escape, without its backslash; its last byte is at s.position."""
    cdef WrappedCall* call = &s.tags.call.wrapped
    cdef int code = call.escape[0]
    if call.escape[0] == c'u':
        code = unicode_escape(call.escape + 1)
        if 0xDC00 <= code < 0xE000 and call.surrogate != NO_SURROGATE:
            put_decoded(s, c, <uint32_t>(0x10000 + ((call.surrogate - 0xD800) << 10) + (code - 0xDC00)), s.position)
            call.surrogate = NO_SURROGATE
            return
        flush_surrogate(s, c)
        if 0xD800 <= code < 0xDC00:
            call.surrogate = <uint16_t>code
            return
    else:
        flush_surrogate(s, c)
        code = simple_escape(call.escape[0])
    put_decoded(s, c, <uint32_t>code, s.position)


cdef void pass_string(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The inside of an argument string, decoded one level."""
    cdef WrappedCall* call = &s.tags.call.wrapped
    cdef Py_ssize_t k
    while v.i < to:
        if call.escape_n == 1 and v.p[v.i] >= 0x80:           # no escape; a backslash before any character is dropped
            call.escape_n = 0
        if call.escape_n:
            if call.escape_n > 1 and hex_digit(v.p[v.i]) < 0: # \u with fewer than four digits ends here
                call.escape_n = 0
                flush_surrogate(s, c)
                put_decoded(s, c, 0xFFFD, s.position)
                continue
            call.escape[call.escape_n - 1] = v.p[v.i]
            call.escape_n += 1
            if call.escape[0] != c'u' or call.escape_n == 6:
                flush_pending(s, c.out)
                end_escape(s, c)
                call.escape_n = 0
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
            call.escape_n = 1


cdef void pass_scalar(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """A bare value. `null` is not written, so its letters are held."""
    cdef Tags* g = &s.tags
    cdef WrappedCall* call = &s.tags.call.wrapped
    while v.i < to and call.passing == PASS_SCALAR:
        if call.escape_n < 4 and v.p[v.i] == (<const char*>b"null")[call.escape_n]:
            if call.escape_n == 0:
                g.value_at = s.position
            call.escape_n += 1
            consume(s, c, v, v.i + 1, IN_ARGUMENTS)
            g.value_stop = s.position + (v.marks != NULL and v.i < v.n and not v.marks[v.i] & BEGINS_TOKEN)
        else:
            put_text(s, c.out, b"null", call.escape_n, g.value_at, g.value_stop)
            call.escape_n = 0
            call.passing = PASS_RAW
    if v.i < to:
        put_run(s, c, v, to)


cdef void pass_to(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The bytes up to `to`, all of one kind."""
    cdef const WrappedCall* call = &s.tags.call.wrapped
    if to <= v.i:
        return
    if call.passing == PASS_RAW:
        put_run(s, c, v, to)
    elif call.passing == PASS_STRING:
        pass_string(s, c, v, to)
    elif call.passing == PASS_SCALAR:
        pass_scalar(s, c, v, to)
    elif call.passing == PASS_MEMBER or call.passing == PASS_PYTHON:
        put_run(s, c, v, to)
        bound_held(s, c)
    else:
        consume(s, c, v, to, IN_ARGUMENTS)


cdef void value_over(Stream* s, const Context* c) noexcept nogil:
    """The member's value has been passed."""
    cdef Tags* g = &s.tags
    cdef WrappedCall* call = &s.tags.call.wrapped
    if call.passing == PASS_SCALAR and call.escape_n < 4:
        put_text(s, c.out, b"null", call.escape_n, g.value_at, g.value_stop)
    if call.passing == PASS_STRING:
        flush_surrogate(s, c)
    flush_pending(s, c.out)
    bound_held(s, c)
    s.value_mode = NO_VALUE
    if call.passing == PASS_PYTHON:
        put_literal(s, c)
    call.passing = PASS_NOTHING
    call.escape_n = 0


cdef void put_literal(Stream* s, const Context* c) noexcept nogil:
    """The arguments that were held: a Python literal is written as JSON, `null` is left out, other text stays as it is.
    """
    cdef Buffer* held = &c.out.held.value
    cdef Buffer* text = held
    cdef Buffer json
    cdef int done
    memset(&json, 0, sizeof(Buffer))
    done = read_literal(held.p, held.n, &json)
    if done < 0:
        c.out.no_memory = True
    elif done > 0:
        text = &json
    if text.n != 4 or memcmp(text.p, b"null", 4) != 0:
        put_text(s, c.out, text.p, text.n, s.tags.value_at, s.tags.value_stop)
    buffer_free(&json)
    held.n = 0


# --- members that may be arguments ------------------------------------------------------------------------------------

cdef void drop_members(Stream* s, const Context* c) noexcept nogil:
    """Drops the held value, which is not read."""
    s.tags.unread = 1
    c.out.held.value.n = 0


cdef void bound_held(Stream* s, const Context* c) noexcept nogil:
    """The value is longer than may be held. A member is dropped; arguments pass as they are."""
    cdef WrappedCall* call = &s.tags.call.wrapped
    cdef Buffer* held = &c.out.held.value
    if s.value_mode != HELD or held.n <= c.out.held.cap:
        return
    s.value_mode = NO_VALUE
    note(s, D_HELD_TOO_LONG, s.tags.value_at)
    if call.passing == PASS_MEMBER:
        drop_members(s, c)
        call.members = TOO_MANY_MEMBERS
        call.passing = PASS_NOTHING
    elif not s.error:
        put_text(s, c.out, held.p, held.n, s.tags.value_at, s.tags.value_stop)
        held.n = 0
        call.passing = PASS_RAW


cdef bint is_declared(const Stream* s, const Context* c) noexcept nogil:
    """Is the member's key a parameter of the tool?"""
    return has_parameters(c.tools, s.tags.tool) and is_parameter(c.tools, s.tags.tool, s.header, s.header_n)


cdef bint may_be_argument(const Stream* s, const Context* c) noexcept nogil:
    """Is the member's key a parameter of the tool, or are its parameters unknown?"""
    return not has_parameters(c.tools, s.tags.tool) or is_declared(s, c) or s.header_n == HEADER_CAP


cdef void open_member(Stream* s, const Context* c, int64_t at, bint known) noexcept nogil:
    """A member's value begins at `at`. It is an argument if no `arguments` come. known: the row has its key."""
    cdef Tags* g = &s.tags
    cdef WrappedCall* call = &s.tags.call.wrapped
    cdef Buffer* held = &c.out.held.value
    cdef uint8_t[3 * HEADER_CAP] key
    cdef Py_ssize_t n = utf8_repair(s.header, s.header_n, key)
    if call.members == TOO_MANY_MEMBERS or call.object.stray or s.header_n == HEADER_CAP:
        if not known:
            note(s, D_IGNORED_MEMBER, at)
            g.unread |= may_be_argument(s, c)
        return
    if call.members == NO_MEMBERS:
        g.value_at = g.value_stop = at
    if not (buffer_put(held, b', "' if call.members else b'{"', 3 if call.members else 2) and buffer_put(held, key, n)
            and buffer_put(held, b'": ', 3)):
        c.out.no_memory = True
    call.members = max(call.members, <int>(
        KNOWN_MEMBERS if known else SOME_MEMBERS if may_be_argument(s, c) else FOREIGN_MEMBERS))
    call.passing = PASS_MEMBER
    s.value_mode = HELD


cdef void write_members(Stream* s, const Context* c, bint closed) noexcept nogil:
    """The call is over. If no `arguments` came, the other members are the arguments. closed: the last one is whole."""
    cdef Tags* g = &s.tags
    cdef Buffer* held = &c.out.held.value
    if held.n == 0:
        return
    if not closed:
        g.unread = 1
    note(s, D_OTHER_BODY, g.value_at)
    if s.error:
        return
    if closed and s.tags.call.wrapped.object.python:
        if buffer_put(held, b"}", 1):
            put_literal(s, c)
        else:
            c.out.no_memory = True
        return
    put_text(s, c.out, held.p, held.n, g.value_at, g.value_stop)
    if closed:
        put_text(s, c.out, b"}", 1, after(s, s.position), after(s, s.position))
    held.n = 0


cdef bint is_part_unread(const Stream* s) noexcept nogil:
    """At the object's end: does it have a part that is not read, or is a member missing?"""
    cdef const ObjectScan* o = &s.tags.call.wrapped.object
    return o.stray or o.expect in (X_IN_KEY, X_COLON, X_VALUE) or (
        o.expect == X_KEY and not s.tags.call.wrapped.arguments_found)


cdef void end_object(Stream* s, const Context* c, int64_t at, bint stopped) noexcept nogil:
    """The call ends before the byte at `at`. stopped: a stop ended it, or it ended in a string without an end."""
    cdef ObjectScan* o = &s.tags.call.wrapped.object
    s.tags.unread |= is_part_unread(s)
    write_members(s, c, o.expect in (X_KEY, X_COMMA, X_OVER))
    if not s.error:
        end_wrapped(s, c, at, not stopped or json_balanced(&s.json), False)


cdef void finish_wrapped(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil:
    """The stream ends in the object."""
    if s.tags.call.wrapped.passing == PASS_PYTHON:
        value_over(s, c)
    s.value_mode = NO_VALUE
    s.tags.unread |= is_part_unread(s)
    write_members(s, c, False)
    if not s.error:
        end_call(s, c, s.position, is_whole_at_end(s, stopped, known), False)


cdef void note_stray(Stream* s, const Context* c, View* v, Py_ssize_t x, uint8_t expect) noexcept nogil:
    """The byte at x is not part of an object, or it comes where a value was expected."""
    pass_to(s, c, v, x)
    note(s, D_MISSING_VALUE if expect == X_COLON or expect == X_VALUE else D_IGNORED_TEXT, position_at(s, v, x))


cdef int alias_member(WrappedCall* call, uint8_t ch) noexcept nogil:
    """Decides what the member is: its value begins with ch, and may be the name, or an object with the call."""
    cdef ObjectScan* o = &call.object
    if o.nth != call.name_nth:
        return OTHER_MEMBER
    if ch == c'{' and not o.inner and call.name_inner:
        enter_inner(o)
        return NAME_MEMBER
    return NAME_MEMBER if o.inner == call.name_inner else OTHER_MEMBER


cdef void object_found(Stream* s, const Context* c, View* v, Py_ssize_t x, int found, uint8_t expect) noexcept nogil:
    """Handles the change of the object by the byte at x. expect: what was expected there."""
    cdef Tags* g = &s.tags
    cdef WrappedCall* call = &s.tags.call.wrapped
    cdef int64_t at
    cdef int member
    if found == F_BEGINS:
        pass_to(s, c, v, x)
        at = position_at(s, v, x)
        member = call.object.key
        if member == ALIAS_MEMBER:
            member = alias_member(call, v.p[x])
        if member == NAME_MEMBER:
            return
        if member == ARGUMENTS_MEMBER and v.p[x] != c'{' and call.object.keys != KEYS_ARE_NAMES and is_declared(s, c):
            member = OTHER_MEMBER
        if call.arguments_found:
            if member == OTHER_MEMBER or member == ARGUMENTS_MEMBER:
                note(s, D_IGNORED_MEMBER, at)
                g.unread |= member == ARGUMENTS_MEMBER or may_be_argument(s, c)
        elif member == OTHER_MEMBER:
            open_member(s, c, at, False)
        elif member != ARGUMENTS_MEMBER:
            if is_declared(s, c):
                open_member(s, c, at, True)
        else:
            call.arguments_found = 1
            if call.members == SOME_MEMBERS or call.members == FOREIGN_MEMBERS:
                note(s, D_IGNORED_MEMBER, g.value_at)
                g.unread |= call.members == SOME_MEMBERS
            c.out.held.value.n = 0
            if s.error:
                return
            if is_quote(&call.object, v.p[x]):
                consume(s, c, v, x + 1, IN_ARGUMENTS)
                call.passing = PASS_STRING
            elif call.object.python:
                g.value_at = g.value_stop = at
                call.passing = PASS_PYTHON
                s.value_mode = HELD
            else:
                call.passing = PASS_RAW if v.p[x] == c'{' or v.p[x] == c'[' else PASS_SCALAR
    elif found == F_ENDS:
        if call.passing == PASS_STRING:
            pass_to(s, c, v, x)
            if call.escape_n:                            # \u without its digits, and the string is over
                put_decoded(s, c, 0xFFFD, s.position)
            value_over(s, c)
        else:
            pass_to(s, c, v, x + 1)
            value_over(s, c)
        if call.name_open and (call.object.key in (NAME_MEMBER, ALIAS_MEMBER) and is_quote(&call.object, v.p[x]) and
                               call.object.nth == call.name_nth and call.object.inner == call.name_inner):
            begin_key(&call.object, v.p[x])
            s.header_n = 0
    elif found == F_STRAY:
        note_stray(s, c, v, x, expect if v.p[x] == c',' or v.p[x] == c'}' else <uint8_t>X_KEY)
    elif found != F_NOTHING:
        pass_to(s, c, v, x)
        value_over(s, c)
        if found == F_OVER and (expect == X_COLON or expect == X_VALUE):
            note_stray(s, c, v, x, expect)
            if s.error:
                return
        if found == F_OVER or found == F_ENDED_OVER:
            g.unread |= expect == X_KEY and not call.arguments_found and call.members == NO_MEMBERS   # after a comma
            at = position_at(s, v, x)
            end_object(s, c, at, False)
            if s.error:
                return
            consume(s, c, v, x + 1, IN_ARGUMENTS)


cdef int look_string_end(const View* v, const TagTable* row, Py_ssize_t i, uint8_t quote) noexcept nogil:
    """In a string that a quote opened, after an outer closer: a stop, the end, or an opener and an object whose quotes
    are not escaped?"""
    cdef Py_ssize_t n = limit(v, i)
    cdef int k = -1, verdict
    i = skip_ws(v, i, n)
    verdict = match(v, row, i, n, row.follow_section, &k)
    if verdict == YES and row.literals[k].role == STOP:
        return look_stop(v, row, i, k)
    if verdict == YES:
        i = skip_ws(v, i + row.literals[k].n, n)
        if i < n and v.p[i] == c'[':
            i = skip_ws(v, i + 1, n)
        if i < n and v.p[i] != c'{':
            return NO
        i = skip_ws(v, i + (i < n), n)
        verdict = MORE if i >= n else YES if v.p[i] == quote else NO
    return verdict if verdict != MORE else NO if n < v.n else YES if v.end else MORE


cdef int look_object_end(const View* v, Stream* s, const TagTable* row, Py_ssize_t x, uint8_t before,
                         int* hit) noexcept nogil:
    """Does the marker at x end the object, though its closing brace is missing?

    A marker in a string is data, with two exceptions. It is at the start of a line, because JSON's strings have no line
    ends. Or the text after it shows that the string ended there. before: the JsonEnds before x.
    """
    cdef const WrappedCall* call = &s.tags.call.wrapped
    cdef uint64_t markers = row.around_closes | row.roles[STOP]
    cdef int verdict
    if not call.object.in_string:
        markers |= row.around_opens
    if not row.first[v.p[x]] & markers or (call.object.in_string and call.object.escape):
        return NO
    verdict = match(v, row, x, v.n, markers, hit)
    if verdict != YES:
        return verdict
    if row.literals[hit[0]].role == STOP:
        return look_stop(v, row, x, hit[0])
    if not call.object.in_string or before & NEWLINE:
        return YES
    verdict = look_string_end(v, row, x + row.literals[hit[0]].n, call.object.in_string)
    if verdict == NO and not call.quoted_call:
        verdict = look_lost_end(v, row, x + row.literals[hit[0]].n, call.object.in_string, before & BRACKET != 0)
    return verdict


cdef int look_quoted_opener(const View* v, Stream* s, const TagTable* row, Py_ssize_t x) noexcept nogil:
    """Notes an outer opener in a string, so that a closer in the string is text. The caller uses only MORE."""
    cdef const WrappedCall* call = &s.tags.call.wrapped
    cdef int k = -1, verdict = NO
    if call.object.in_string and not call.object.escape and not call.quoted_call:
        verdict = match(v, row, x, v.n, row.around_opens, &k)
        if verdict == YES:
            s.tags.call.wrapped.quoted_call = 1
    return MORE if verdict == MORE and not v.end else NO


cdef bint step_wrapped(Stream* s, const Context* c, View* v) noexcept nogil:
    """Reads to the end of the object, or of the view."""
    cdef WrappedCall* call = &s.tags.call.wrapped
    cdef const TagTable* row = c.row
    cdef Tags* g = &s.tags
    cdef uint64_t markers = row.calls | row.roles[STOP]
    cdef Py_ssize_t x = v.i, begin = v.i, mark = v.i - 1                     # mark: where the next marker may begin
    cdef int k = -1, found, verdict
    cdef uint8_t before, expect
    while x < v.n:
        if is_special(v, x):
            pass_to(s, c, v, x)
            return step_special(s, c, v)
        if row.first[v.p[x]] & markers:
            before = end_of_text(call.ends, v.p + begin, x - begin)
            verdict = look_object_end(v, s, row, x, before, &k)
            if verdict == NO:
                verdict = look_quoted_opener(v, s, row, x)
            if verdict != NO:
                call.ends = before
                pass_to(s, c, v, x)
                if verdict == MORE and not v.end:
                    return False
                if verdict == MORE:
                    consume(s, c, v, v.n, IN_HEADER)
                    return True
                note(s, D_MISSING_CLOSER, s.position)
                if not s.error:
                    value_over(s, c)
                    end_object(s, c, s.position, row.literals[k].role == STOP or call.object.in_string)
                return True
        elif row.lacks_closer and v.p[x] == c'\n':
            before = end_of_text(call.ends, v.p + begin, x - begin)
            if before & BRACKET and call.object.in_string and not call.object.escape and not call.quoted_call:
                verdict = look_lost_end(v, row, x, call.object.in_string, False)
                if verdict != NO:
                    call.ends = before
                    pass_to(s, c, v, x)
                    if verdict == MORE:
                        return False
                    note(s, D_MISSING_CLOSER, s.position)
                    if not s.error:
                        value_over(s, c)
                        end_object(s, c, s.position, True)
                    return True
        elif call.object.in_string == c'"' and not call.object.escape and call.object.expect != X_IN_KEY:
            if mark < x:
                mark = next_first(v, row, x, markers)
            while x + 8 <= mark and not v.special and not has_quote_or_backslash(v.p + x):
                x += 8
            if x == v.n:
                break
            if x == mark:
                continue
        if row.lacks_closer and not call.object.in_string and is_foreign(v.p[x]) and not (
                call.object.python and v.p[x] in b"()'"):
            before = end_of_text(call.ends, v.p + begin, x - begin)
            if leaves_json(before):
                call.ends = before
                pass_to(s, c, v, x)
                note(s, D_MISSING_CLOSER, s.position)
                if not s.error:
                    value_over(s, c)
                    end_object(s, c, s.position, True)
                return True
        expect = call.object.expect
        found = object_step(&call.object, row, v.p[x])
        if call.object.expect == X_IN_KEY:
            if expect != X_IN_KEY:
                s.header_n = 0
            elif s.header_n < HEADER_CAP:
                s.header[s.header_n] = v.p[x]
                s.header_n += 1
        if found != F_NOTHING:
            object_found(s, c, v, x, found, expect)
            if s.state != WRAPPED or s.error:
                return True
            if v.i > x:
                x = v.i
                continue
        x += 1
    call.ends = end_of_text(call.ends, v.p + begin, v.n - begin)
    pass_to(s, c, v, v.n)
    return True


cdef Py_ssize_t next_first(const View* v, const TagTable* row, Py_ssize_t x, uint64_t markers) noexcept nogil:
    """The first place, from x on, with the first byte of a marker, or with a newline where that matters."""
    cdef const void* found
    cdef Py_ssize_t n = v.n
    if row.lacks_closer:
        found = memchr(v.p + x, c'\n', n - x)
        n = n if found == NULL else <const uint8_t*>found - v.p
    if row.only_first >= 0:
        found = memchr(v.p + x, row.only_first, n - x)
        return n if found == NULL else <const uint8_t*>found - v.p
    while x < n and not row.first[v.p[x]] & markers:
        x += 1
    return x


cdef bint step_special(Stream* s, const Context* c, View* v) noexcept nogil:
    """A control or inert id inside the object."""
    cdef const ObjectScan* o = &s.tags.call.wrapped.object
    cdef uint64_t ends = c.row.follow_call | c.row.roles[CALL_CLOSE]
    cdef int k = -1
    s.tags.call.wrapped.ends = 0
    if match(v, c.row, v.i, v.n, ends, &k) == YES:
        note(s, D_MISSING_CLOSER, s.position)
        if not s.error:
            value_over(s, c)
            end_object(s, c, s.position, c.row.literals[k].role == STOP or o.in_string)
    elif o.in_string and o.depth > 1 and v.marks[v.i] & BEGINS_CONTROL and (
            match(v, c.row, v.i, v.n, c.row.by_id, &k) == YES and (
            c.row.literals[k].role in (THINK_OPEN, THINK_CLOSE, DROP))):
        pass_to(s, c, v, v.i + c.row.literals[k].n)                          # a file may contain it
    else:
        drop_special(s, c, v)
    return True


# --- AFTER ------------------------------------------------------------------------------------------------------------

cdef bint step_next_call(Stream* s, const Context* c, View* v) noexcept nogil:
    """After a call: does another one begin here, directly, in an array of its own, or after a comma?"""
    cdef Tags* g = &s.tags
    cdef CallHeader h
    cdef bint apart = v.p[v.i] == c',' or v.p[v.i] == c'['
    cdef Py_ssize_t n = limit(v, v.i), x = skip_ws(v, v.i + 1, n) if v.p[v.i] == c',' else v.i
    cdef bint alone = (x == n or v.p[x] != c'{') and not (g.array and v.p[v.i] != c'[')  # no array announces it
    cdef int verdict = NO
    memset(&h, 0, sizeof(CallHeader))
    h.in_section = g.in_section
    if x == n:
        verdict = undecided(v, v.i)
    elif not is_special(v, x):
        verdict = look_listed(v, c, s, x, x, alone, &h)
    if verdict == MORE and not v.end:
        return False
    if verdict == MORE and not apart and (g.in_section or not alone):
        note(s, D_UNFINISHED_HEADER, s.position)
    g.probed = g.name_at = g.id_at = 0
    if verdict == YES and apart:
        note(s, D_IGNORED_TEXT, s.position)
        if s.error:
            return True
        consume(s, c, v, x, IN_HEADER)
        g.array |= h.array
    if verdict == YES:
        begin_call(s, c, v, &h)
    else:
        enter_text(s)
    return True


cdef int look_fence_end(const View* v, const TagTable* row) noexcept nogil:
    """Does a Markdown fence end here, with the closer after an object?"""
    cdef int verdict = NO if row.lacks_closer or is_special(v, v.i) else backquotes(v, v.i, v.n)
    return look_follow(v, row, v.i + 3, v.i, row.around_closes) if verdict == YES else verdict


cdef bint step_after(Stream* s, const Context* c, View* v) noexcept nogil:
    """After a wrapped object or a Python call: the outer closer, another one, or text."""
    cdef const TagTable* row = c.row
    cdef Tags* g = &s.tags
    cdef uint8_t ch = v.p[v.i]
    cdef Py_ssize_t stop = 0
    cdef int outer = SECTION_CLOSE if row.has_section and not row.holds_objects else CALL_CLOSE
    cdef int k = -1, verdict = match(v, row, v.i, v.n, row.around_closes, &k)
    if verdict == YES:
        outer = row.literals[k].role
        stop = v.i + row.literals[k].n
    elif verdict == NO and not is_special(v, v.i):
        verdict = look_misspelt(v, row, v.i, v.i, outer, &stop)
        if verdict == YES:
            note(s, D_MISSPELT_CLOSER, s.position)
            if s.error:
                return True
    if verdict == YES:
        consume(s, c, v, stop, IN_HEADER)
        if outer == CALL_CLOSE and g.in_section:
            enter_section(s)
        else:
            enter_text(s)
    elif verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)
        return v.end
    elif ch == c'`':
        verdict = look_fence_end(v, row)
        if verdict == MORE and not v.end:
            return False
        if verdict == YES:
            note(s, D_IGNORED_TEXT, s.position)
            if not s.error:
                consume(s, c, v, v.i + 3, IN_HEADER)
        elif row.call_opens and not is_special(v, v.i):
            return step_next_call(s, c, v)
        else:
            enter_text(s)
    elif is_json_space(ch) or ch == c'}' or ch == c']' or (ch == c',' and g.array) or (
            row.between and ch == row.between) or (row.call_opens and ch == row.call_closes):
        if ch == c'}' or ch == row.call_closes or (ch == c']' and not g.array):
            note(s, D_IGNORED_TEXT, s.position)
        if ch == c']':
            g.array = 0
        if not s.error:
            consume(s, c, v, v.i + 1, IN_HEADER)
    elif not is_special(v, v.i) and (ch == c'{' or (row.call_opens and ch != c'[') or (
            ch == c'[' or (ch == c',' and not g.array))):
        return step_next_call(s, c, v)
    elif is_special(v, v.i) and v.marks[v.i] & INERT_ID:
        drop_special(s, c, v)
    else:
        enter_text(s)
    return True
