# The state PYTHON: the arguments of a written call, such as f(a=1, b="x") or f{a:1}, as JSON while they come. The row
# says what opens and closes a call, and what ends a key. Nothing is evaluated. Anything else is a string, so
# that the JSON is valid and no text is lost. tags/python_look.pxd says what is remembered.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy, strlen
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.tools cimport has_parameters
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_encode
from harmonystream._native.tags.call_object cimport MOST_DEPTH
from harmonystream._native.tags.pairs cimport write_escaped, write_key
from harmonystream._native.tags.python_look cimport *
from harmonystream._native.tags.python_number cimport SCALAR_CAP, number_json
from harmonystream._native.tags.transitions cimport end_call, end_wrapped
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)


# --- writing JSON -----------------------------------------------------------------------------------------------------

cdef void write_at(Stream* s, const Context* c, const char* text, int64_t at) noexcept nogil:
    """JSON that stands for no byte of the input."""
    at = after(s, at)
    put_text(s, c.out, <const uint8_t*>text, strlen(text), at, at)


cdef void put_string_text(Stream* s, const Context* c, View* v, Py_ssize_t to) noexcept nogil:
    """The bytes up to `to` are text of the open string."""
    cdef Buffer* text = &c.out.held.value
    cdef Py_ssize_t k = to
    if shows_end(s, c.row):
        while k > v.i and is_json_space(v.p[k - 1]):
            k -= 1
        if k > v.i:
            s.tags.call.python.text_bracket = v.p[k - 1] == c']'
    s.value_mode = STREAMED
    put_run(s, c, v, to)
    s.value_mode = NO_VALUE
    write_escaped(s, c.out, text.p, text.n, s.tags.value_at, s.tags.value_stop)
    text.n = 0


cdef void begin_item(Stream* s, const Context* c) noexcept nogil:
    """The comma before an item of an array or a key of an object, unless it is the first. A key of the object whose
    members are arguments begins an argument."""
    cdef PythonCall* call = &s.tags.call.python
    if call.spread and call.expect == P_KEY and call.brackets >> 2 == 0:
        write_at(s, c, b", " if s.tags.pairs else b"{", s.position)
        s.tags.pairs = 1
        call.arguments += call.arguments < 0xFFFF
    elif call.expect != P_VALUE and call.comma_due:
        write_at(s, c, b", ", s.position)


cdef void item_over(PythonCall* call) noexcept nogil:
    call.n_quotes = call.raw = call.after_bracket = 0
    call.expect = P_COLON if call.in_key else P_AFTER
    call.in_key = 0


cdef void write_null(Stream* s, const Context* c) noexcept nogil:
    """The value of a key that has none."""
    cdef PythonCall* call = &s.tags.call.python
    write_at(s, c, b": null" if call.expect == P_COLON else b"null", s.position)
    call.expect = P_AFTER
    call.after_bracket = 0


cdef void open_string(Stream* s, const Context* c, uint8_t expect) noexcept nogil:
    """A string begins: P_STRING, or, of what is not a literal, P_EXPRESSION."""
    cdef PythonCall* call = &s.tags.call.python
    begin_item(s, c)
    write_at(s, c, b'"', s.position)
    call.in_key = call.expect == P_KEY
    call.expect = expect
    call.depth = call.quote_in_text = call.text_bracket = 0


cdef void close_string(Stream* s, const Context* c) noexcept nogil:
    flush_pending(s, c.out)
    write_at(s, c, b'"', s.position)
    item_over(&s.tags.call.python)


cdef inline bint is_in_object(const PythonCall* call) noexcept nogil:
    """Is an object the innermost thing that is open? The braces of a set are an array's."""
    return call.brackets & 3 == P_OBJECT and not call.sets & 1


cdef inline void push(PythonCall* call, int bracket, bint is_set) noexcept nogil:
    """A bracket opens."""
    call.brackets = call.brackets << 2 | bracket
    call.sets = call.sets << 1 | is_set
    call.expect = P_KEY if is_in_object(call) else P_ITEM


cdef void pop(Stream* s, const Context* c) noexcept nogil:
    """The innermost bracket closes."""
    cdef PythonCall* call = &s.tags.call.python
    if call.spread and call.brackets >> 2 == 0:
        call.spread = 0
    else:
        write_at(s, c, b"}" if is_in_object(call) else b"]", s.position)
    call.brackets >>= 2
    call.sets >>= 1
    call.expect = P_AFTER
    call.after_bracket = 1


# --- ends -------------------------------------------------------------------------------------------------------------

cdef bint is_between(const Tags* g) noexcept nogil:
    """Are all arguments so far complete?"""
    cdef const PythonCall* call = &g.call.python
    return call.expect == P_ARGUMENT or (call.expect in (P_AFTER, P_NOISE) and call.brackets == 0)


cdef void close_all(Stream* s, const Context* c) noexcept nogil:
    """A marker ends the call: what is open is closed."""
    cdef PythonCall* call = &s.tags.call.python
    if call.expect == P_EXPRESSION:
        close_string(s, c)
    if call.expect == P_VALUE or call.expect == P_COLON:
        note(s, D_MISSING_VALUE, s.position)
        s.tags.unread = 1
        write_null(s, c)
    while call.brackets:
        pop(s, c)


cdef void end_at_marker(Stream* s, const Context* c, View* v, int k) noexcept nogil:
    """The marker k here ends the call. A stop cuts the value that it is in. Any marker cuts an open string, because the
    string's end is unknown."""
    cdef bint complete = s.tags.call.python.expect != P_STRING and (
        c.row.literals[k].role != STOP or is_between(&s.tags))
    flush_pending(s, c.out)
    note(s, D_MISSING_CLOSER, s.position)
    if s.error:
        return
    s.tags.unread |= s.tags.call.python.vague
    if complete:
        close_all(s, c)
    if not s.error:
        end_wrapped(s, c, s.position, complete, True)


cdef void end_at_line(Stream* s, const Context* c) noexcept nogil:
    """The array of calls ended before the newline here, but the string lacks its end."""
    flush_pending(s, c.out)
    note(s, D_MISSING_CLOSER, s.position)
    if s.error:
        return
    s.tags.array = 0
    end_wrapped(s, c, s.position, False, True)


cdef void finish_python(Stream* s, const Context* c, bint stopped) noexcept nogil:
    """The stream ends in the call."""
    s.tags.unread |= s.tags.call.python.vague
    end_call(s, c, s.position, stopped and not s.tags.unread and is_between(&s.tags), True)


# --- steps ------------------------------------------------------------------------------------------------------------

cdef void drop_quote(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    """The row's own quote, where it opens and closes nothing."""
    flush_pending(s, c.out)
    s.tags.call.python.text_bracket = 0
    note(s, D_IGNORED_TEXT, s.position)
    if not s.error:
        consume(s, c, v, v.i + n, IN_ARGUMENTS)


cdef void drop_byte(Stream* s, const Context* c, View* v, uint8_t code) noexcept nogil:
    note(s, code, s.position)
    if not s.error:
        consume(s, c, v, v.i + 1, IN_ARGUMENTS)


cdef bint step_closer(Stream* s, const Context* c, View* v) noexcept nogil:
    """A bracket closes what it belongs to; what is open inside of that closes before. If nothing of its kind is open,
    it is extra, or a typo for another bracket."""
    cdef PythonCall* call = &s.tags.call.python
    cdef uint8_t ch = v.p[v.i]
    cdef int bracket = P_TUPLE if ch == c')' else P_ARRAY if ch == c']' else P_OBJECT, on
    cdef bint closes = ch == c.row.call_closes, ends
    if call.brackets & 3 == bracket:
        pop(s, c)
        consume(s, c, v, v.i + 1, IN_ARGUMENTS)
        return True
    if is_open(call.brackets, bracket):
        note(s, D_CALL_SYNTAX, s.position)
        if not s.error:
            pop(s, c)
        return True
    on = look_call_on(v, s, c, v.i)
    if on == MORE:
        return False
    ends = closes and (on == NO or on == LEFT)
    if not ends or on == LEFT or call.brackets:
        note(s, D_IGNORED_TEXT if call.brackets == 0 and not ends else D_CALL_SYNTAX, s.position)
        if s.error:
            return True
    # if a value follows, or what is not in a bracket ends with one, the place of that bracket is unknown
    s.tags.unread |= on == YES or on == LEFT or (on == KEY_NEXT and not (closes or call.brackets or call.after_bracket))
    if ends and call.brackets == 0:
        end_wrapped(s, c, s.position, True, True)
    elif call.brackets:
        pop(s, c)
        if ends:
            return True
    consume(s, c, v, v.i + 1, IN_ARGUMENTS)
    return True


cdef bint step_next_argument(Stream* s, const Context* c) noexcept nogil:
    """An argument of the call, where an item or a comma should be: what is open was not closed."""
    note(s, D_CALL_SYNTAX, s.position)
    if not s.error:
        while s.tags.call.python.brackets:
            pop(s, c)
        s.tags.call.python.expect = P_ARGUMENT
    return True


cdef void open_argument(Stream* s, const Context* c, const uint8_t* key, Py_ssize_t n, bint named,
                        int64_t at) noexcept nogil:
    """named: it has the name of a parameter, so that no argument without a name follows it."""
    cdef PythonCall* call = &s.tags.call.python
    memcpy(s.header, key, n)
    s.header_n = <uint16_t>n
    write_key(s, c.out, at)
    call.expect = P_VALUE
    call.named_only = named
    call.arguments += call.arguments < 0xFFFF


cdef void open_positional(Stream* s, const Context* c, uint8_t first) noexcept nogil:
    """An argument without a key. It has its number as one, or the name of the only parameter that the tool has."""
    cdef const PythonCall* call = &s.tags.call.python
    cdef const ToolTable* t = c.tools
    cdef char[8] number
    cdef int n, tool = s.tags.tool
    cdef uint32_t one
    note(s, D_CALL_SYNTAX, s.position)
    if s.error:
        return
    if call.arguments == 0 and first != c'{' and has_parameters(t, tool):
        one = t.parameters[tool]
        n = <int>(t.parameter_offset[one + 1] - t.parameter_offset[one])
        if t.parameters[tool + 1] == one + 1 and n <= HEADER_CAP:
            open_argument(s, c, t.parameter_names + t.parameter_offset[one], n, True, s.position)
            return
    s.tags.unread |= c.row.bare_keys | call.named_only     # where each argument has a key
    n = snprintf(number, 8, b"%d", call.arguments)
    open_argument(s, c, <const uint8_t*>number, n, False, s.position)


cdef void open_spread(Stream* s, const Context* c, View* v, Py_ssize_t stop) noexcept nogil:
    """An object, whose brace is before `stop`: its members are arguments."""
    cdef PythonCall* call = &s.tags.call.python
    if v.p[v.i] == c'{':
        note(s, D_WRAPPED_ARGUMENTS, s.position)
        if s.error:
            return
    push(call, P_OBJECT, False)
    call.spread = call.named_only = 1
    call.comma_due = 0
    consume(s, c, v, stop, IN_ARGUMENTS)


cdef bint step_argument(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef uint8_t ch = v.p[v.i]
    cdef Py_ssize_t at = 0, size = 0, stop = 0
    cdef int verdict
    if is_closer(c.row, ch):
        return step_closer(s, c, v)
    if ch == c',':
        drop_byte(s, c, v, D_IGNORED_TEXT)
        return True
    if ch == c.row.call_opens and s.tags.call.python.arguments == 0:       # the call's once more?
        at = skip_ws(v, v.i + 1, limit(v, v.i))
        verdict = look_argument(v, s, c, at, v.i, False) if at < limit(v, v.i) else undecided(v, v.i)
        if verdict == MORE and not v.end:
            return False
        if verdict == YES:
            drop_byte(s, c, v, D_IGNORED_TEXT)
            return True
    verdict = look_spread(v, s, c, v.i, &stop)
    if verdict == YES:
        open_spread(s, c, v, stop)
        return True
    if verdict == NO:
        verdict = look_key_end(v, c.row, v.i, v.i, &at, &size, &stop)
    if verdict == MORE:
        if v.end:
            s.tags.unread = 1
            consume(s, c, v, v.n, IN_ARGUMENTS)
        return v.end
    if verdict == NO:
        open_positional(s, c, ch)
    else:
        open_argument(s, c, v.p + at, size, True, position_at(s, v, stop - 1))
        consume(s, c, v, stop, IN_ARGUMENTS)
    return True


cdef bint step_item(Stream* s, const Context* c, View* v) noexcept nogil:
    """A value, or an object's key, or the end of what has them."""
    cdef PythonCall* call = &s.tags.call.python
    cdef uint8_t ch = v.p[v.i]
    cdef int is_set, verdict
    if ch == c',' or is_closer(c.row, ch):
        if call.expect == P_VALUE:
            note(s, D_MISSING_VALUE, s.position)
            s.tags.unread = 1
            if not s.error:
                write_null(s, c)
        elif ch == c',':
            drop_byte(s, c, v, D_IGNORED_TEXT)
        else:
            return step_closer(s, c, v)
        return True
    verdict = look_next_argument(v, s, c)
    if verdict == MORE:
        return False
    if verdict == YES:
        return step_next_argument(s, c)
    if call.expect != P_KEY and is_opener(c.row, ch) and call.brackets >> (2 * MOST_BRACKETS - 2) == 0:
        is_set = look_set(v, c.row, v.i)
        if is_set == MORE:
            return False
        begin_item(s, c)
        push(call, P_OBJECT if ch == c'{' else P_ARRAY if ch == c'[' else P_TUPLE, is_set == YES)
        call.vague |= c.row.bare_keys & is_in_object(call)
        write_at(s, c, b"{" if is_in_object(call) else b"[", s.position)
        call.comma_due = 0
        consume(s, c, v, v.i + 1, IN_ARGUMENTS)
        return True
    return step_literal(s, c, v)


cdef bint step_literal(Stream* s, const Context* c, View* v) noexcept nogil:
    """A string, a number or a word; anything else is an expression."""
    cdef PythonCall* call = &s.tags.call.python
    cdef uint8_t[SCALAR_CAP + 32] json
    cdef Py_ssize_t at = 0, stop = 0
    cdef int64_t last
    cdef uint8_t size = 0
    cdef bint raw = False
    cdef bint bare = c.row.bare_keys and call.expect == P_KEY                   # its text, whatever it is
    cdef int n = 0, verdict = look_string(v, c.row, v.i, &at, &size, &raw)
    if verdict == YES:
        if v.p[at] == c'`' or (at > v.i and not (raw and at == v.i + 1)):
            note(s, D_CALL_SYNTAX, s.position)
            if s.error:
                return True
        open_string(s, c, P_STRING)
        call.quote = v.p[at]
        call.n_quotes = size
        call.raw = raw
        consume(s, c, v, at + size, IN_ARGUMENTS)
        return True
    if verdict == NO:
        call.in_key = call.expect == P_KEY
        verdict = NO if bare else look_scalar(v, s, c, v.i, &stop)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_ARGUMENTS)
        return v.end
    if verdict == YES:
        n = number_json(v.p + v.i, stop - v.i, json, call.in_key)
    if n:
        begin_item(s, c)
        last = position_at(s, v, stop - 1) + 1
        put_text(s, c.out, json, n, s.position, last)
        consume(s, c, v, stop, IN_ARGUMENTS)
        item_over(call)
        return True
    if not bare:
        note(s, D_CALL_SYNTAX, s.position)
    if not s.error:
        open_string(s, c, P_EXPRESSION)
    return True


cdef bint step_own_quote(Stream* s, const Context* c, View* v, Py_ssize_t n) noexcept nogil:
    """The row's own quote, of n bytes: it opens or closes a string, or is dropped where no string may be."""
    cdef PythonCall* call = &s.tags.call.python
    cdef uint8_t expect = call.expect
    if expect == P_ARGUMENT:
        return step_argument(s, c, v)
    if expect == P_VALUE or expect == P_ITEM or expect == P_KEY:
        open_string(s, c, P_STRING)
        call.quote = call.raw = 0
        call.n_quotes = 1
        consume(s, c, v, v.i + n, IN_ARGUMENTS)
    elif expect == P_STRING and call.quote == 0:
        return step_quote(s, c, v)
    elif expect == P_STRING and not is_special(v, v.i):
        put_string_text(s, c, v, v.i + n)                  # with the quotes that it has in it
    elif expect == P_STRING or expect == P_EXPRESSION or expect == P_NOISE:
        drop_quote(s, c, v, n)
    else:
        return step_colon(s, c, v) if expect == P_COLON else step_after_value(s, c, v)
    return True


cdef bint step_after_value(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef PythonCall* call = &s.tags.call.python
    cdef uint8_t ch = v.p[v.i]
    cdef int verdict
    if is_closer(c.row, ch):
        return step_closer(s, c, v)
    if ch == c',':
        call.expect = P_ARGUMENT if call.brackets == 0 else P_KEY if is_in_object(call) else P_ITEM
        call.comma_due = 1
        consume(s, c, v, v.i + 1, IN_ARGUMENTS)
        return True
    verdict = look_next_argument(v, s, c)
    if verdict == MORE:
        return False
    if verdict == YES:
        return step_next_argument(s, c)
    note(s, D_IGNORED_TEXT, s.position)
    s.tags.unread = 1
    call.expect = P_NOISE
    call.depth = 0
    return True


cdef bint step_colon(Stream* s, const Context* c, View* v) noexcept nogil:
    """After an object's key. Without a colon the key's value is unknown."""
    if v.p[v.i] == c':':
        write_at(s, c, b": ", s.position)
        s.tags.call.python.expect = P_VALUE
        consume(s, c, v, v.i + 1, IN_ARGUMENTS)
        return True
    note(s, D_CALL_SYNTAX, s.position)
    s.tags.unread = 1
    if not s.error:
        write_null(s, c)
    return True


cdef inline bint ends_expression(const TagTable* row, const PythonCall* call, int32_t depth, uint8_t c) noexcept nogil:
    return depth == 0 and (c == c',' or is_closer(row, c) or (c == c':' and call.in_key))


cdef int look_trailing(const View* v, const Stream* s, const Context* c, Py_ssize_t* stop) noexcept nogil:
    """Is the whitespace here, up to *stop, the last of an expression? KEY_NEXT: only a key shows it."""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, v.i)
    cdef int k = -1, verdict
    stop[0] = skip_ws(v, v.i, n)
    if stop[0] == n:
        return at_the_end(v, v.i)
    if not is_special(v, stop[0]) and ends_expression(row, &s.tags.call.python, s.tags.call.python.depth, v.p[stop[0]]):
        return YES
    if s.tags.call.python.depth == 0 and not row.bare_keys:
        verdict = look_argument(v, s, c, stop[0], v.i, False)
        if verdict != NO:
            return KEY_NEXT if verdict == YES else MORE
    return or_end(v, look_python_end(v, row, stop[0], False, &k))


cdef void end_expression(Stream* s, const Context* c) noexcept nogil:
    if s.tags.call.python.expect == P_NOISE:
        s.tags.call.python.expect = P_AFTER
    else:
        close_string(s, c)


cdef bint step_expression(Stream* s, const Context* c, View* v) noexcept nogil:
    """Text up to a comma or bracket that is not inside of brackets of its own."""
    cdef PythonCall* call = &s.tags.call.python
    cdef uint64_t markers = c.row.calls | c.row.roles[STOP] | c.row.roles[QUOTE]
    cdef int32_t depth = call.depth
    cdef Py_ssize_t x = v.i, stop = 0
    cdef bint opened = False
    cdef int verdict
    cdef uint8_t ch
    if is_json_space(v.p[x]):
        verdict = look_trailing(v, s, c, &stop)
        if verdict == MORE:
            return False
        if verdict != NO or call.expect == P_NOISE:
            consume(s, c, v, stop, IN_ARGUMENTS)
        else:
            put_string_text(s, c, v, stop)
        if verdict == KEY_NEXT:
            end_expression(s, c)
        return True
    while x < v.n and not is_special(v, x):
        ch = v.p[x]
        if is_json_space(ch) or ends_expression(c.row, call, depth, ch) or (x > v.i and c.row.first[ch] & markers):
            break
        if is_opener(c.row, ch):
            depth += depth < MOST_DEPTH
            opened = True
        elif depth and is_closer(c.row, ch):
            depth -= 1
        x += 1
    call.depth = depth
    call.vague |= opened
    if x > v.i and call.expect == P_NOISE:
        consume(s, c, v, x, IN_ARGUMENTS)
    elif x > v.i:
        put_string_text(s, c, v, x)
    else:
        end_expression(s, c)
    return True


cdef bint step_escape(Stream* s, const Context* c, View* v) noexcept nogil:
    """A backslash in a string."""
    cdef const PythonCall* call = &s.tags.call.python
    cdef uint8_t[16] text
    cdef Py_ssize_t stop = v.i + 1
    cdef int64_t code = 0, last
    cdef int verdict = NO
    if call.raw:                               # a raw string: the next byte closes nothing
        verdict = MORE if stop == v.n and not v.end else NO
        if stop < v.n and (v.p[stop] == call.quote or v.p[stop] == c'\\') and not is_special(v, stop):
            stop += 1
    else:
        verdict = look_escape(v, v.i, &code, &stop)
        stop = stop if verdict == YES else v.i + 1
    if verdict == MORE:
        return False
    if verdict == NO:
        put_string_text(s, c, v, stop)
        return True
    flush_pending(s, c.out)
    s.tags.call.python.text_bracket = 0
    last = position_at(s, v, stop - 1) + 1
    if code >= 0:
        write_escaped(s, c.out, text, utf8_encode(<uint32_t>code, text), s.position, last)
    consume(s, c, v, stop, IN_ARGUMENTS)
    return True


cdef bint step_quote(Stream* s, const Context* c, View* v) noexcept nogil:
    """The string's quote, in the string: it closes the string if something follows that may."""
    cdef PythonCall* call = &s.tags.call.python
    cdef Py_ssize_t stop = 0
    cdef uint8_t size = 0
    cdef int k = -1, verdict = look_string_close(v, s, c, v.i, &stop, &size)
    if verdict == MORE:
        return False
    if verdict == NO and is_special(v, v.i):
        match(v, c.row, v.i, v.n, c.row.roles[QUOTE], &k)
        drop_quote(s, c, v, c.row.literals[k].n)
        return True
    if verdict == NO:
        if call.n_quotes == 1:
            note(s, D_CALL_SYNTAX, s.position)
        call.quote_in_text = 1
        if not s.error:
            put_string_text(s, c, v, v.i + 1)
        return True
    if verdict == ADJACENT:
        flush_pending(s, c.out)
        call.text_bracket = 0
        call.quote = v.p[stop - 1]
        call.n_quotes = size
        call.raw = 0
    else:
        close_string(s, c)
    consume(s, c, v, stop, IN_ARGUMENTS)
    return True


cdef bint step_string(Stream* s, const Context* c, View* v) noexcept nogil:
    cdef const PythonCall* call = &s.tags.call.python
    cdef uint64_t markers = c.row.calls | c.row.roles[STOP] | c.row.roles[QUOTE]
    cdef uint8_t quote = call.quote, slash = c'\\' if call.quote else 0  # between the row's own quotes all is text
    cdef bint lines = shows_end(s, c.row)
    cdef Py_ssize_t x = v.i
    cdef int verdict
    if quote and v.p[x] == slash:
        return step_escape(s, c, v)
    if quote and v.p[x] == quote:
        return step_quote(s, c, v)
    if v.p[x] == c'\n' and call.text_bracket and not call.quoted_call:
        verdict = look_lost_from(v, s, c.row, x, c.tools)
        if verdict == YES:
            end_at_line(s, c)
        if verdict != NO:
            return verdict == YES
    x += 1
    while x < v.n and not (quote and (v.p[x] == slash or v.p[x] == quote)) and not (
            c.row.first[v.p[x]] & markers or is_special(v, x) or (lines and v.p[x] == c'\n')):
        x += 1
    put_string_text(s, c, v, x)
    return True


cdef bint step_python(Stream* s, const Context* c, View* v) noexcept nogil:
    """One part of the arguments; or nothing, if more input is needed."""
    cdef const PythonCall* call = &s.tags.call.python
    cdef uint8_t expect = call.expect
    cdef int k = -1, verdict = look_python_end(v, c.row, v.i, expect == P_STRING, &k)
    if verdict == NO and expect == P_STRING and c.row.first[v.p[v.i]] & c.row.calls:
        verdict = look_lost_string(v, s, c.row, &k)
    if verdict == YES:
        end_at_marker(s, c, v, k)
        return True
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)               # a partial marker
        return v.end
    verdict = match(v, c.row, v.i, v.n, c.row.roles[QUOTE], &k)
    if verdict == YES:
        return step_own_quote(s, c, v, c.row.literals[k].n)
    if verdict == MORE:
        if v.end:
            consume(s, c, v, v.n, IN_HEADER)
        return v.end
    if is_special(v, v.i):
        s.tags.call.python.text_bracket = 0
        drop_special(s, c, v)
        return True
    if expect == P_STRING:
        return step_string(s, c, v)
    if expect == P_EXPRESSION or expect == P_NOISE:
        return step_expression(s, c, v)
    if is_json_space(v.p[v.i]):
        consume(s, c, v, skip_ws(v, v.i, v.n), IN_ARGUMENTS)
        return True
    if expect == P_ARGUMENT:
        return step_argument(s, c, v)
    if expect == P_COLON:
        return step_colon(s, c, v)
    return step_after_value(s, c, v) if expect == P_AFTER else step_item(s, c, v)
