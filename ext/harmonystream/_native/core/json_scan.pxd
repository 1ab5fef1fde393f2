# The incremental JSON scanner: is the value complete, where did it end, and is it an object that any reader of JSON
# takes? A few small variables; it never looks back. `stage` follows strings and nesting only: a value may be balanced
# and still not be valid JSON. `expect` follows the grammar.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from harmonystream._native.core.chars cimport hex_digit, is_json_space, lowest_bit, quotes_and_backslashes
from harmonystream._native.core.json_number cimport N_DIGITS, N_EXPONENT, N_FRACTION, N_START, number_ends, number_next
from harmonystream._native.core.types cimport Json

cdef enum JsonStage:
    # before, inside a bare scalar, inside a string or container, after the value
    J_NOTHING, J_SCALAR, J_OPEN, J_CLOSED

cdef enum:
    JSON_LEVELS = 32                             # an object that is nested deeper is not checked, so it is not valid

cdef enum JsonEscape:
    # in a string: after a backslash; after \u, from one digit left to four
    E_NONE, E_BACKSLASH, E_DIGIT, E_DIGITS = 5

cdef enum JsonExpect:
    # What comes next. A number is at E_NUMBER + its stage, and a word at E_WORD + its next letter in the words of
    # goes_on().
    E_OBJECT, E_FIRST_KEY, E_KEY, E_IN_KEY, E_COLON, E_VALUE, E_FIRST_ITEM, E_IN_STRING, E_AFTER, E_END, E_INVALID
    E_NUMBER = 16
    E_WORD = 32
    E_LAST = 44

cdef inline void json_reset(Json* j) noexcept nogil:
    j.depth = 0
    j.count = 0
    j.end = -1
    j.in_string = j.escape = j.broken = j.scalar = j.matched = 0
    j.stage = J_NOTHING
    j.expect = E_OBJECT
    j.objects = 0


cdef inline bint json_is_object(const Json* j) noexcept nogil:
    """One whole object so far, as JSON's grammar has it, and nothing but whitespace around it."""
    return j.expect == E_END


cdef inline bint scalar_whole(const Json* j) noexcept nogil:
    """A number that ends in a digit, or all of true, false, null."""
    return j.matched == (1 if j.scalar == c'0' else 5 if j.scalar == c'f' else 4)


cdef inline bint json_balanced(const Json* j) noexcept nogil:
    """One whole value so far, and nothing but whitespace around it. A bare scalar counts: it may be over."""
    return not j.broken and (j.stage == J_CLOSED or (j.stage == J_SCALAR and scalar_whole(j)))


cdef inline void json_close(Json* j, Py_ssize_t i) noexcept nogil:
    j.stage = J_CLOSED
    j.end = j.count + i


cdef inline void scalar_step(Json* j, uint8_t c) noexcept nogil:
    cdef const char* word
    if j.stage == J_NOTHING:
        j.stage = J_SCALAR
        j.scalar = c'0' if c == c'-' or c'0' <= c <= c'9' else c
        j.matched = c != c'-'
        j.broken |= j.scalar != c'0' and c != c't' and c != c'f' and c != c'n'
    elif j.scalar == c'0':
        j.matched = c'0' <= c <= c'9'
        j.broken |= not j.matched and c != c'.' and c != c'e' and c != c'E' and c != c'+' and c != c'-'
    else:
        word = b"true" if j.scalar == c't' else b"false" if j.scalar == c'f' else b"null"
        if j.matched < 5 and c == <uint8_t>word[j.matched]:
            j.matched += 1
        else:
            j.broken = 1


cdef inline void open_level(Json* j, bint is_object) noexcept nogil:
    """An opening bracket."""
    cdef bint fits = j.expect == E_VALUE or j.expect == E_FIRST_ITEM or (is_object and j.expect == E_OBJECT)
    if not fits or j.depth >= JSON_LEVELS:
        j.expect = E_INVALID
        return
    j.objects |= <uint32_t>is_object << j.depth
    j.expect = E_FIRST_KEY if is_object else E_FIRST_ITEM


cdef inline void close_level(Json* j, bint is_object) noexcept nogil:
    """A closing bracket, before it changes the depth."""
    cdef uint32_t level
    if j.expect == E_AFTER or j.expect == (E_FIRST_KEY if is_object else E_FIRST_ITEM):
        level = <uint32_t>1 << (j.depth - 1)
        if (j.objects & level != 0) == is_object:
            j.objects &= ~level
            j.expect = E_AFTER if j.depth > 1 else E_END
            return
    j.expect = E_INVALID


cdef inline bint goes_on(Json* j, uint8_t c) noexcept nogil:
    """In a number or word: is the byte the next of it? Otherwise it is over, or broken."""
    cdef const char* words = b"rue\0alse\0ull"
    cdef int at = j.expect - E_WORD, stage
    if at >= 0:
        if c == <uint8_t>words[at]:
            j.expect = <uint8_t>(j.expect + 1) if words[at + 1] else E_AFTER
            return True
        j.expect = E_INVALID
        return False
    stage = number_next(j.expect - E_NUMBER, c)
    if stage >= 0:
        j.expect = <uint8_t>(E_NUMBER + stage)
        return True
    j.expect = E_AFTER if number_ends(j.expect - E_NUMBER) else E_INVALID
    return False


cdef inline void begin_scalar(Json* j, uint8_t c) noexcept nogil:
    """The first byte of a number or word, or one that JSON does not know."""
    cdef int stage
    if j.expect != E_VALUE and j.expect != E_FIRST_ITEM:
        j.expect = E_INVALID
    elif c == c't' or c == c'f' or c == c'n':
        j.expect = E_WORD + (0 if c == c't' else 4 if c == c'f' else 9)
    else:
        stage = number_next(N_START, c)
        j.expect = <uint8_t>(E_NUMBER + stage) if stage >= 0 else E_INVALID


cdef inline bint escape_step(Json* j, uint8_t c) noexcept nogil:
    """A byte in an open escape. False: it is not part of it."""
    if j.escape == E_BACKSLASH:
        j.escape = E_DIGITS if c == c'u' else E_NONE
        if c not in b'"\\/bfnrtu':
            j.expect = E_INVALID
        return True
    if hex_digit(c) < 0:
        j.expect = E_INVALID
        j.escape = E_NONE
        return False
    j.escape = E_NONE if j.escape == E_DIGIT else j.escape - 1
    return True


cdef inline void json_step(Json* j, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Reads these bytes."""
    cdef Py_ssize_t i = 0
    cdef uint64_t found
    cdef uint8_t c
    while i < n:
        c = p[i]
        i += 1
        if j.in_string:
            if j.escape and escape_step(j, c):
                continue
            while i + 8 <= n:
                found = quotes_and_backslashes(p + i - 1)
                if found:
                    i += lowest_bit(found) >> 3
                    break
                i += 8
            c = p[i - 1]
            if c == c'\\':
                j.escape = E_BACKSLASH
            elif c == c'"':
                j.in_string = 0
                j.expect = E_COLON if j.expect == E_IN_KEY else E_AFTER if j.expect == E_IN_STRING else E_INVALID
                if j.depth == 0:
                    json_close(j, i)
            continue
        if j.expect >= E_NUMBER and goes_on(j, c):
            if j.expect in (E_NUMBER + N_DIGITS, E_NUMBER + N_FRACTION, E_NUMBER + N_EXPONENT):
                while i < n and c'0' <= p[i] <= c'9':
                    i += 1
            continue
        if is_json_space(c):
            if j.stage == J_SCALAR:
                j.broken |= not scalar_whole(j)
                json_close(j, i - 1)
            while i < n and p[i] == c' ':                                    # indentation
                i += 1
            continue
        if c == c'}' or c == c']':
            close_level(j, c == c'}')
            if j.depth > 0:
                j.depth -= 1
                if j.depth == 0:
                    json_close(j, i)
            else:
                j.broken = 1
                if j.stage == J_NOTHING:
                    j.stage = J_SCALAR
            continue
        elif c == c'{' or c == c'[':
            open_level(j, c == c'{')
            if j.stage != J_CLOSED:
                j.broken |= j.stage == J_SCALAR
                j.stage = J_OPEN
                j.depth += 1
                continue
        elif c == c'"':
            j.expect = E_IN_KEY if j.expect == E_KEY or j.expect == E_FIRST_KEY else (
                E_IN_STRING if j.expect == E_VALUE or j.expect == E_FIRST_ITEM else E_INVALID)
            if j.stage != J_CLOSED:
                j.broken |= j.stage == J_SCALAR
                j.stage = J_OPEN
                j.in_string = 1
                continue
        elif c == c',':
            j.expect = E_INVALID if j.expect != E_AFTER else E_KEY if j.objects >> (j.depth - 1) & 1 else E_VALUE
        elif c == c':':
            j.expect = E_VALUE if j.expect == E_COLON else E_INVALID
        else:
            begin_scalar(j, c)
        if j.stage == J_CLOSED:
            j.broken = 1
        elif j.stage != J_OPEN:
            scalar_step(j, c)
    j.count += n


cdef inline Py_ssize_t open_run(const Json* j, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """How many of these bytes belong to the string or container that is open. Changes nothing."""
    cdef Json copy = j[0]
    json_step(&copy, p, n)
    return copy.end - j.count if copy.stage == J_CLOSED else n
