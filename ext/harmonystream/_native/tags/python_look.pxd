# Looking ahead in written calls (docs/tags.md, 5): a quote, a number, an escape. Each of them is consumed when it is
# whole. So all that the state PYTHON remembers is where it is among open brackets and quotes: PythonCall.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr
from harmonystream._native.core.chars cimport hex_digit, is_json_space
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.lookahead cimport look_follow, look_stop
from harmonystream._native.core.tools cimport has_parameters, is_parameter, names_tool
from harmonystream._native.tags.python_number cimport SCALAR_CAP
from harmonystream._native.tags.names cimport is_blank, is_word_byte, look_key_end, look_written, skip_call_word
from harmonystream._native.tags.view cimport *

cdef enum PythonExpect:
    P_ARGUMENT                         # an argument, or the end of the call
    P_VALUE                            # the value of a key
    P_ITEM, P_KEY                      # an item of an array, a key of an object, or its end
    P_COLON                            # what comes after a key
    P_AFTER                            # what comes after a value
    P_STRING                           # inside of quotes
    P_EXPRESSION                       # inside of what is not a literal: its text is a string
    P_NOISE                            # inside of what is dropped

cdef enum PythonBracket:               # in the stack
    P_ARRAY = 1, P_OBJECT, P_TUPLE

cdef enum:
    MOST_BRACKETS = 31                 # open inside of each other
    ADJACENT = 8                       # a Verdict: another string goes on
    GOES_ON                            # a Verdict: the string does
    KEY_NEXT                           # a Verdict: an argument of the call follows
    LEFT                               # a Verdict: the call is over, and text follows that may be a part of it


cdef inline bint is_open(uint64_t stack, int bracket) noexcept nogil:
    while stack:
        if stack & 3 == <uint64_t>bracket:
            return True
        stack >>= 2
    return False


cdef inline bint is_closer(const TagTable* row, uint8_t c) noexcept nogil:
    return c == c']' or c == c'}' or c == row.call_closes


cdef inline bint is_opener(const TagTable* row, uint8_t c) noexcept nogil:
    return c == c'[' or c == c'{' or c == row.call_opens


cdef inline int look_python_end(const View* v, const TagTable* row, Py_ssize_t i, bint in_string,
                                int* hit) noexcept nogil:
    """Does the marker at i end the call, though its bracket is missing?"""
    cdef uint64_t markers = row.roles[SECTION_CLOSE] | row.roles[STOP]
    cdef int verdict
    if not in_string:
        markers |= row.roles[SECTION_OPEN]
    if not row.first[v.p[i]] & markers:
        return NO
    verdict = match(v, row, i, v.n, markers, hit)
    if verdict != YES:
        return verdict
    if row.literals[hit[0]].role == STOP:
        return look_stop(v, row, i, hit[0])
    if not in_string or is_special(v, i):
        return YES
    return look_follow(v, row, i + row.literals[hit[0]].n, i, row.follow_section)


cdef inline int or_end(const View* v, int verdict) noexcept nogil:
    """Half a marker at the end of the stream: the end is what follows."""
    return YES if verdict == MORE and v.end else verdict


cdef inline int look_quotes(const View* v, Py_ssize_t i, Py_ssize_t origin, uint8_t* size) noexcept nogil:
    """How many quotes at i open a string: one, or three."""
    cdef Py_ssize_t n = limit(v, origin), k = i + 1
    while k < n and k < i + 3 and v.p[k] == v.p[i] and not is_special(v, k):
        k += 1
    size[0] = 3 if k == i + 3 else 1
    return undecided(v, origin) if k == n and k < i + 3 and not v.end else YES


cdef inline int look_string(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t* at, uint8_t* size,
                            bint* raw) noexcept nogil:
    """Does a string begin at i? YES: its quotes are at *at, perhaps after letters. In an object call they may be
    backquotes."""
    cdef Py_ssize_t x = i
    cdef uint8_t c = 0
    raw[0] = False
    while x < v.n and x < i + 2 and not is_special(v, x):
        c = v.p[x] | 0x20
        if c != c'r' and c != c'b' and c != c'u' and c != c'f':
            break
        raw[0] |= c == c'r'
        x += 1
    if x == v.n:
        return MORE
    if is_special(v, x) or (v.p[x] != c'"' and v.p[x] != c"'" and not (row.bare_keys and v.p[x] == c'`')):
        return NO
    at[0] = x
    return look_quotes(v, x, i, size)


cdef inline int look_own_quotes(const View* v, const Stream* s, const TagTable* row, Py_ssize_t x, Py_ssize_t n,
                                Py_ssize_t* stop) noexcept nogil:
    """Is what closes the open string at x? *stop is after it."""
    cdef const PythonCall* call = &s.tags.call.python
    cdef int k = -1, verdict = NO
    if call.quote == 0:                                       # the row's own quote
        verdict = match(v, row, x, n, row.roles[QUOTE], &k)
        if verdict == YES:
            stop[0] = x + row.literals[k].n
        return verdict
    stop[0] = x
    while stop[0] < n and stop[0] < x + call.n_quotes and v.p[stop[0]] == call.quote and not is_special(v, stop[0]):
        stop[0] += 1
    return YES if stop[0] == x + call.n_quotes else MORE if stop[0] == n else NO


cdef inline int look_array(const View* v, const TagTable* row, const ToolTable* tools, Py_ssize_t x,
                           Py_ssize_t n) noexcept nogil:
    """Does an array of calls begin at x, after ws? Nothing else says so."""
    cdef Py_ssize_t size = 0, stop = 0
    x = skip_ws(v, x, n)
    if x == n:
        return MORE
    if v.p[x] != c'[' or is_special(v, x):
        return NO
    x = skip_ws(v, x + 1, n)
    return MORE if x == n else look_written(v, row, tools, x, v.i, True, &size, &stop)


cdef inline int look_argument(const View* v, const Stream* s, const Context* c, Py_ssize_t x, Py_ssize_t origin,
                              bint declared) noexcept nogil:
    """At x, after ws, and where no argument is expected: a key without quotes, and its end? declared: of a parameter
    that the tool has. In an object call it must be one if the parameters are known: text may have colons."""
    cdef bint known = has_parameters(c.tools, s.tags.tool)
    cdef Py_ssize_t at = 0, size = 0, stop = 0
    cdef uint8_t ch = v.p[x]
    cdef int verdict
    if is_special(v, x) or not (c'a' <= (ch | 0x20) <= c'z' or ch == c'_' or ch >= 0x80):
        return NO
    verdict = look_key_end(v, c.row, x, origin, &at, &size, &stop)
    if verdict == MORE and v.end:
        return NO
    if verdict == YES and (declared or (known and c.row.bare_keys)):
        return YES if known and is_parameter(c.tools, s.tags.tool, v.p + at, size) else NO
    return verdict


cdef inline int look_next_argument(const View* v, const Stream* s, const Context* c) noexcept nogil:
    """An argument of the call here, in place of an item or key, or of what comes after a value? Not in an object call
    where an object is open: it may be a member of that."""
    cdef const PythonCall* call = &s.tags.call.python
    if call.expect == P_VALUE or (c.row.bare_keys and (call.expect != P_ITEM or is_open(call.brackets, P_OBJECT))):
        return NO
    return look_argument(v, s, c, v.i, v.i, c.row.bare_keys)


cdef inline int look_value_begin(const View* v, const Context* c, Py_ssize_t x, Py_ssize_t n) noexcept nogil:
    """Does a number, a string or a bracket begin at x? An array of calls does not."""
    cdef uint8_t ch = v.p[x]
    cdef int k = -1, verdict = match(v, c.row, x, n, c.row.roles[QUOTE], &k)
    if verdict != NO or is_special(v, x):
        return verdict
    if ch == c'[':
        verdict = look_array(v, c.row, c.tools, x, n)
        return verdict if verdict == MORE else YES if verdict == NO else NO
    return YES if c'0' <= ch <= c'9' or ch == c'-' or ch == c'"' or ch == c"'" or is_opener(c.row, ch) else NO


cdef inline int look_next_call(const View* v, const Stream* s, const Context* c, Py_ssize_t x,
                               Py_ssize_t origin) noexcept nogil:
    """After what closes a call, at x: another call or array of calls, or what ends them?"""
    cdef Py_ssize_t n = limit(v, origin), size = 0, stop = 0
    cdef int k = -1, verdict = match(v, c.row, x, n, c.row.roles[QUOTE], &k)
    if verdict != NO:
        return MORE if verdict == MORE else NO
    if is_special(v, x) or is_closer(c.row, v.p[x]) or (c.row.between and v.p[x] == c.row.between):
        return YES
    verdict = look_python_end(v, c.row, x, False, &k)
    if verdict == NO:
        verdict = look_array(v, c.row, c.tools, x, n)
    if verdict == NO:
        x = skip_call_word(v, x, n) if c.row.name_as == CALL_NAME else x
        verdict = look_written(v, c.row, c.tools, x, origin, not s.tags.array, &size, &stop)
    return verdict


cdef inline int look_closed_again(const View* v, const TagTable* row, Py_ssize_t x, Py_ssize_t n) noexcept nogil:
    """Is another closing bracket in the rest of the line, before a marker that ends the call?"""
    cdef int k = -1, verdict
    while x < n and v.p[x] != c'\n':
        verdict = match(v, row, x, n, row.roles[QUOTE], &k)
        if verdict == YES:
            x += row.literals[k].n
            continue
        if verdict == MORE or is_special(v, x):
            return verdict
        if is_closer(row, v.p[x]):
            return YES
        verdict = look_python_end(v, row, x, False, &k)
        if verdict != NO:
            return MORE if verdict == MORE else NO
        x += 1
    return MORE if x == n else NO


cdef inline int look_call_on(const View* v, const Stream* s, const Context* c, Py_ssize_t i) noexcept nogil:
    """At i is what closes the call, or another closing bracket, and no bracket of its kind is open. Does the call go on
    after it? KEY_NEXT: with an argument; YES: with a value. LEFT: something else is there, and no other call."""
    cdef const TagTable* row = c.row
    cdef bint inside = s.tags.call.python.brackets != 0, comma
    cdef Py_ssize_t n = limit(v, i), x = i + 1, at = 0, size = 0, stop = 0
    cdef int verdict
    while x < n and not is_special(v, x) and (
            is_closer(row, v.p[x]) or is_blank(v.p[x]) or (is_json_space(v.p[x]) and (inside or s.tags.array))):
        if v.p[x] == c']' and s.tags.array and not inside:
            return NO                                      # of the array of calls
        x += 1
    comma = x < n and v.p[x] == c',' and not is_special(v, x)
    while comma and x < n and (is_json_space(v.p[x]) or v.p[x] == c',' or is_closer(row, v.p[x])) and not (
            is_special(v, x)):
        if v.p[x] == c']' and s.tags.array and not inside:
            return NO
        x += 1
    if x == n:
        return NO if v.end or capped(v, i) else MORE
    if is_json_space(v.p[x]):
        return NO
    verdict = look_argument(v, s, c, x, i, False) if comma or not row.bare_keys else NO
    if verdict != NO:
        return KEY_NEXT if verdict == YES else MORE
    if not (inside or s.tags.array or (s.tags.in_section and not row.lacks_closer)):
        return NO
    if comma:
        verdict = look_value_begin(v, c, x, n)
        if verdict == NO and row.bare_keys:
            verdict = look_key_end(v, row, x, i, &at, &size, &stop)
        if verdict == YES and not (inside or s.tags.array):
            return LEFT
    elif memchr(v.p + i, c'\n', x - i) == NULL:
        verdict = look_next_call(v, s, c, x, i)
        if verdict == NO:
            verdict = look_closed_again(v, row, x, n)
            if verdict == YES:
                return LEFT
        elif verdict == YES:
            return NO
    return NO if verdict == MORE and (v.end or capped(v, i)) else verdict


cdef inline int look_on(const View* v, const Stream* s, const TagTable* row, Py_ssize_t* x, Py_ssize_t n,
                        uint64_t markers, const ToolTable* lines, int* hit) noexcept nogil:
    """In the open string, from *x on: what comes first?

    GOES_ON  the string's closer, and after it what may follow a string; *x is after the closer then
    YES      one of these markers, and it counts; its number is in *hit
    NO       a newline and an array of calls of the tools in `lines`, so the string is over; not if `lines` is NULL
    MORE     the input up to n has none of these
    """
    cdef Py_ssize_t stop = 0, after
    cdef int verdict
    while x[0] < n:
        if lines != NULL and v.p[x[0]] == c'\n':
            verdict = look_array(v, row, lines, x[0] + 1, n)
            if verdict != NO:
                return NO if verdict == YES else MORE
        verdict = NO
        if row.first[v.p[x[0]]] & markers:
            verdict = match(v, row, x[0], n, markers, hit)
            if verdict == YES and row.literals[hit[0]].role == STOP:
                verdict = look_stop(v, row, x[0], hit[0])
            if verdict == YES:
                return YES
        if verdict != MORE:
            verdict = look_own_quotes(v, s, row, x[0], n, &stop)
        if verdict == MORE:                                # it begins with the last bytes that are seen
            return MORE
        if verdict == YES:
            after = skip_ws(v, stop, n)
            if after == n:
                return MORE
            x[0] = stop
            if not is_special(v, after) and (v.p[after] == c',' or v.p[after] == c':' or is_closer(row, v.p[after])):
                return GOES_ON
        else:
            x[0] += 2 if v.p[x[0]] == c'\\' and s.tags.call.python.quote and not is_special(v, x[0]) else 1
    return MORE


cdef inline int look_left_call(const View* v, const Stream* s, const TagTable* row, Py_ssize_t x, Py_ssize_t origin,
                               bint in_line) noexcept nogil:
    """At x is text, after a string and the call's closer. Is the call over? It is not if the string's closer comes
    before the closer of the section, because the string goes on then. in_line: no newline shows that the call is
    over."""
    cdef uint64_t markers = row.roles[STOP] | row.roles[SECTION_OPEN] | row.roles[SECTION_CLOSE]
    cdef int k = -1, verdict = GOES_ON
    cdef bint goes_on = False
    while verdict == GOES_ON:
        verdict = look_on(v, s, row, &x, limit(v, origin), markers, NULL, &k)
        goes_on |= verdict == GOES_ON
    if verdict == YES:
        return NO if goes_on and (in_line or row.literals[k].role == SECTION_CLOSE) else YES
    if capped(v, origin):
        return NO if goes_on or in_line else YES
    if not v.end:
        return MORE
    return NO if in_line and (goes_on or v.cut) else YES


cdef inline int look_call_end(const View* v, const Stream* s, const Context* c, Py_ssize_t i,
                              Py_ssize_t origin) noexcept nogil:
    """What closes the call is before i, after a string. Does what follows show that the call is over?"""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, origin), x = skip_ws(v, i, n), stop = 0, at = 0, size = 0
    cdef int k = -1, verdict
    cdef bint closed = False, in_line                      # so is the array of calls; no newline comes first
    while x < n and not is_special(v, x) and (is_closer(row, v.p[x]) or (v.p[x] == c',' and s.tags.array) or (
            row.between and v.p[x] == row.between)):
        if v.p[x] == c']' and s.tags.array:
            closed = True
        i = x + 1
        x = skip_ws(v, i, n)
    if x == n:
        return at_the_end(v, origin)
    in_line = (s.tags.array and not closed) or memchr(v.p + i, c'\n', x - i) == NULL
    if not in_line and row.lacks_closer:
        return YES
    if in_line and not closed:                             # is what closes the call one too many?
        at = x if v.p[i - 1] == c',' else skip_ws(v, x + 1, n) if v.p[x] == c',' and not is_special(v, x) else n
        verdict = look_argument(v, s, c, at, origin, True) if at < n else NO
        if verdict != NO:
            return verdict
    verdict = look_python_end(v, row, x, False, &k)
    if verdict != NO or is_special(v, x):
        return YES if not in_line and is_special(v, x) else or_end(v, verdict)
    i = x
    verdict = look_array(v, row, c.tools, x, n)
    if verdict != NO:
        return or_end(v, verdict)
    if not closed:
        if row.name_as == CALL_NAME:
            x = skip_call_word(v, x, n)
        verdict = look_written(v, row, c.tools, x, origin, not s.tags.array, &size, &stop)
        if verdict == YES and s.tags.array and not names_tool(c.tools, v.p + x, size):
            x = skip_ws(v, stop + 1, n)
            if x == n:
                return at_the_end(v, origin)
            if v.p[x] != row.call_closes or is_special(v, x):
                verdict = look_key_end(v, row, x, origin, &at, &size, &stop)
        if verdict != NO:
            return or_end(v, verdict)
    return look_left_call(v, s, row, i, origin, in_line)


cdef inline int look_next_key(const View* v, const TagTable* row, Py_ssize_t i, Py_ssize_t origin) noexcept nogil:
    """After a string and a comma, in an object: another key and its colon?"""
    cdef Py_ssize_t n = limit(v, origin), x = i + 1
    while x < n and v.p[x] != v.p[i] and not is_special(v, x):
        x += 1 + (v.p[x] == c'\\')
    x = skip_ws(v, x + 1, n) if x < n else n
    return at_the_end(v, origin) if x >= n else YES if v.p[x] == c':' and not is_special(v, x) else NO


cdef inline int look_after_string(const View* v, const Stream* s, const Context* c, Py_ssize_t x,
                                  Py_ssize_t origin) noexcept nogil:
    """At x is a comma, or what closes a bracket or the call, after the quote of a string that has a quote as Python's.
    Does it end the string? Then the call, the array or the object goes on after it."""
    cdef const TagTable* row = c.row
    cdef const PythonCall* call = &s.tags.call.python
    cdef Py_ssize_t n = limit(v, origin), at = 0, size = 0, stop = 0
    cdef uint8_t ch = v.p[x]
    cdef int k = -1
    if ch == row.call_closes and call.brackets == 0:
        return look_call_end(v, s, c, x + 1, origin)
    x = skip_ws(v, x + 1, n)
    if x == n:
        return at_the_end(v, origin)
    if ch != c',':                                         # what closes a bracket
        if not is_special(v, x) and (
                v.p[x] == c',' or is_closer(row, v.p[x]) or (v.p[x] == c':' and call.brackets >> 2)):
            return YES
        return or_end(v, look_python_end(v, row, x, False, &k))
    if is_special(v, x):
        return or_end(v, look_python_end(v, row, x, False, &k))
    if call.brackets == 0 and v.p[x] == row.call_closes:
        return look_call_end(v, s, c, x + 1, origin)
    if call.brackets == 0 and call.named_only:
        if v.p[x] == c'*' or not (is_word_byte(v.p[x]) or row.bare_keys) or v.p[x] == c'-':
            return YES if v.p[x] == c'*' else NO
        return or_end(v, look_key_end(v, row, x, origin, &at, &size, &stop))
    if call.brackets & 3 == P_OBJECT and not call.sets & 1 and not row.bare_keys and v.p[x] != c'}':
        if v.p[x] == c'"' or v.p[x] == c"'":
            return look_next_key(v, row, x, origin)
        return look_argument(v, s, c, x, origin, True)     # a bracket is missing
    return YES


cdef inline int look_string_close(const View* v, const Stream* s, const Context* c, Py_ssize_t i, Py_ssize_t* stop,
                                  uint8_t* size) noexcept nogil:
    """Does the quote at i close the string? ADJACENT: another string, which has `size` quotes before *stop, follows."""
    cdef const TagTable* row = c.row
    cdef const PythonCall* call = &s.tags.call.python
    cdef Py_ssize_t n = limit(v, i), x = i + 1
    cdef int k = -1, verdict
    if call.quote == 0:                                       # the row's own quote
        match(v, row, i, v.n, row.roles[QUOTE], &k)
        x = i + row.literals[k].n
    else:
        while x < n and x < i + call.n_quotes and v.p[x] == call.quote and not is_special(v, x):
            x += 1
        if x < i + call.n_quotes:
            return NO if x < n or v.end else MORE
    stop[0] = x
    x = skip_ws(v, x, n)
    if x == n:
        return at_the_end(v, i)
    if not is_special(v, x):
        if v.p[x] == c':' and call.in_key:
            return YES
        if v.p[x] == c',' or v.p[x] == row.call_closes or (
                v.p[x] == c']' and is_open(call.brackets, P_ARRAY)) or (
                v.p[x] == c'}' and is_open(call.brackets, P_OBJECT)):
            return look_after_string(v, s, c, x, i) if call.quote else YES
        if v.p[x] == c']' and s.tags.array:                # of the calls, if this one's bracket is missing
            x = skip_ws(v, x + 1, n)
            if x == n:
                return at_the_end(v, i)
        elif call.quote and x > stop[0] and (v.p[x] == c'"' or v.p[x] == c"'") and (
                memchr(v.p + stop[0], c'\n', x - stop[0]) != NULL or (v.p[x] != call.quote and not call.quote_in_text)):
            verdict = look_quotes(v, x, i, size)
            stop[0] = x + size[0]
            return ADJACENT if verdict == YES else verdict
    return or_end(v, look_python_end(v, row, x, False, &k))


cdef inline int look_first_item(const View* v, Py_ssize_t i, Py_ssize_t* at, Py_ssize_t* size,
                                Py_ssize_t* after) noexcept nogil:
    """After the brace at i: a string in single quotes of some kind, a number or a word, and at *after what follows it?
    A string is at *at, without its quotes; a backslash and what follows it are not looked at."""
    cdef Py_ssize_t n = limit(v, i), x = skip_ws(v, i + 1, n)
    cdef uint8_t quote = v.p[x] if x < n else 0
    cdef bint quoted = quote == c'"' or quote == c"'"
    at[0] = x + quoted
    if x < n and quoted and not is_special(v, x):
        x += 1
        while x < n and v.p[x] != quote and not is_special(v, x):
            x += 1 + (v.p[x] == c'\\')
    else:
        while x < n and (is_word_byte(v.p[x]) or v.p[x] == c'+') and not is_special(v, x):
            x += 1
    size[0] = x - at[0]
    if x < n and (is_special(v, x) or (not quoted and size[0] == 0)):
        return NO
    after[0] = skip_ws(v, x + quoted, n) if x < n else n
    return YES if after[0] < n else NO if v.end or capped(v, i) else MORE


cdef inline int look_set(const View* v, const TagTable* row, Py_ssize_t i) noexcept nogil:
    """Is the brace at i that of a set? After its first item comes no colon, but a comma or the brace's end."""
    cdef Py_ssize_t at = 0, size = 0, after = 0
    cdef int verdict = NO if row.bare_keys or v.p[i] != c'{' else look_first_item(v, i, &at, &size, &after)
    if verdict != YES:
        return verdict
    return YES if (v.p[after] == c',' or v.p[after] == c'}') and not is_special(v, after) else NO


cdef inline int look_spread(const View* v, const Stream* s, const Context* c, Py_ssize_t i,
                            Py_ssize_t* stop) noexcept nogil:
    """In place of an argument, at i: an object whose members are arguments? After `**`; or the first argument, without
    a key, if its first key is a parameter of the tool. *stop is after its brace."""
    cdef Py_ssize_t n = limit(v, i), x = i, at = 0, size = 0, after = 0
    cdef int verdict
    if c.row.bare_keys or (v.p[i] != c'*' and v.p[i] != c'{'):
        return NO
    if v.p[i] == c'*':
        if i + 1 < n and (v.p[i + 1] != c'*' or is_special(v, i + 1)):
            return NO
        x = skip_ws(v, i + 2, n) if i + 2 < n else n
        if x == n:
            return NO if v.end or capped(v, i) else MORE
        stop[0] = x + 1
        return YES if v.p[x] == c'{' and not is_special(v, x) else NO
    if s.tags.call.python.arguments or not has_parameters(c.tools, s.tags.tool):
        return NO
    stop[0] = i + 1
    verdict = look_first_item(v, i, &at, &size, &after)
    if verdict != YES or v.p[after] != c':' or is_special(v, after):
        return NO if verdict == YES else verdict
    return YES if is_parameter(c.tools, s.tags.tool, v.p + at, size) else NO


cdef inline int look_lost_from(const View* v, const Stream* s, const TagTable* row, Py_ssize_t x,
                               const ToolTable* lines) noexcept nogil:
    """In a string, at x, after what could end the call: is the string's end missing?

    NO   from x on the string's closer comes, and after it what may follow a string
    YES  a marker comes first, or an array of calls in its own line; or the input ends and is not cut
    MORE not known yet; if the look-ahead is full, YES at a closer and NO at a newline

    lines: NULL at a closer; the tools at a newline."""
    cdef int k = -1, verdict
    verdict = look_on(v, s, row, &x, limit(v, v.i), row.roles[STOP] | row.roles[SECTION_OPEN], lines, &k)
    if verdict != MORE:
        return NO if verdict == GOES_ON else YES
    return (YES if lines == NULL else NO) if capped(v, v.i) else MORE if not v.end else NO if v.cut else YES


cdef inline bint shows_end(const Stream* s, const TagTable* row) noexcept nogil:
    """May a newline show that the call is over? No closer need follow the array of calls."""
    return s.tags.array and (row.lacks_closer or not s.tags.in_section)


cdef inline int look_lost_string(const View* v, Stream* s, const TagTable* row, int* hit) noexcept nogil:
    """In a string, at a marker of a call in the text: does the section's closer here end the call, because the
    string's end is missing? Remembers openers: a string that quotes a call quotes its closer, too."""
    cdef int verdict = match(v, row, v.i, v.n, row.roles[SECTION_OPEN] | row.roles[SECTION_CLOSE], hit)
    if verdict != YES or s.tags.call.python.quoted_call:
        return MORE if verdict == MORE and not v.end and not s.tags.call.python.quoted_call else NO
    if row.literals[hit[0]].role == SECTION_OPEN:
        s.tags.call.python.quoted_call = 1
        return NO
    return look_lost_from(v, s, row, v.i + row.literals[hit[0]].n, NULL)


cdef inline int look_scalar(const View* v, const Stream* s, const Context* c, Py_ssize_t i,
                            Py_ssize_t* stop) noexcept nogil:
    """Is a word or number at i all that there is of a value?"""
    cdef const TagTable* row = c.row
    cdef Py_ssize_t n = limit(v, i), x = i
    cdef int k = -1, verdict
    while x < n and (is_word_byte(v.p[x]) or v.p[x] == c'+') and not is_special(v, x) and x - i <= SCALAR_CAP:
        x += 1
    if x - i > SCALAR_CAP or (x == i and x < n):
        return NO
    stop[0] = x
    x = skip_ws(v, x, n)
    if x == n:
        return undecided(v, i)
    if not is_special(v, x) and (
            v.p[x] == c',' or is_closer(row, v.p[x]) or (v.p[x] == c':' and s.tags.call.python.in_key)):
        return YES
    verdict = NO if row.bare_keys or x == stop[0] else look_argument(v, s, c, x, i, False)
    return look_python_end(v, row, x, False, &k) if verdict == NO else verdict


cdef inline int look_hex(const View* v, Py_ssize_t i, int digits, int64_t* code) noexcept nogil:
    cdef int k, digit
    code[0] = 0
    for k in range(digits):
        if i + k >= v.n:
            return NO if v.end else MORE
        digit = -1 if is_special(v, i + k) else hex_digit(v.p[i + k])
        if digit < 0:
            return NO
        code[0] = code[0] << 4 | digit
    return YES if code[0] <= 0x10FFFF else NO


cdef inline int look_unicode(const View* v, Py_ssize_t i, int64_t* code, Py_ssize_t* stop) noexcept nogil:
    """After `\\u`: four digits, or the two halves of a surrogate pair. Half a pair is U+FFFD."""
    cdef int64_t low = 0
    cdef Py_ssize_t k
    cdef int verdict = look_hex(v, i, 4, code)
    stop[0] = i + 4
    if verdict != YES or not 0xD800 <= code[0] < 0xE000:
        return verdict
    if code[0] < 0xDC00:
        verdict = YES
        for k in range(i + 4, i + 6):
            if k >= v.n:
                verdict = NO if v.end else MORE
            elif verdict == YES and (is_special(v, k) or v.p[k] != (c'\\' if k == i + 4 else c'u')):
                verdict = NO
        if verdict == YES:
            verdict = look_hex(v, i + 6, 4, &low)
        if verdict == MORE:
            return MORE
        if verdict == YES and 0xDC00 <= low < 0xE000:
            code[0] = 0x10000 + ((code[0] - 0xD800) << 10) + (low - 0xDC00)
            stop[0] = i + 10
            return YES
    code[0] = 0xFFFD
    return YES


cdef inline int look_octal(const View* v, Py_ssize_t i, int64_t* code, Py_ssize_t* stop) noexcept nogil:
    cdef Py_ssize_t x = i
    code[0] = 0
    while x < v.n and x < i + 3 and c'0' <= v.p[x] <= c'7' and not is_special(v, x):
        code[0] = code[0] * 8 + v.p[x] - c'0'
        x += 1
    stop[0] = x
    return MORE if x == v.n and x < i + 3 and not v.end else YES


cdef inline int look_escape(const View* v, Py_ssize_t i, int64_t* code, Py_ssize_t* stop) noexcept nogil:
    """The escape whose backslash is at i. NO: the backslash is text. *code is -1 where the escape joins two lines."""
    cdef const char* letters = b"\\'\"abfnrtv"
    cdef const char* meant = b"\\'\"\a\b\f\n\r\t\v"
    cdef uint8_t c
    cdef int k
    if i + 1 >= v.n:
        return NO if v.end else MORE
    if is_special(v, i + 1):
        return NO
    c = v.p[i + 1]
    stop[0] = i + 2
    for k in range(10):
        if c == <uint8_t>letters[k]:
            code[0] = meant[k]
            return YES
    if c == c'\n':
        code[0] = -1
        return YES
    if c'0' <= c <= c'7':
        return look_octal(v, i + 1, code, stop)
    if c == c'u':
        return look_unicode(v, i + 2, code, stop)
    if c == c'x' or c == c'U':
        k = 2 if c == c'x' else 8
        stop[0] = i + 2 + k
        k = look_hex(v, i + 2, k, code)
        if k == YES and 0xD800 <= code[0] < 0xE000:
            code[0] = 0xFFFD
        return k
    return NO
