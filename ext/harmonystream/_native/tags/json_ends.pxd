# Where JSON that is passed on ends, though a quote or bracket in it is missing or doubled (docs/tags.md, 5).

from libc.stdint cimport uint8_t
from harmonystream._native.core.chars cimport is_json_space
from harmonystream._native.core.json_scan cimport E_BACKSLASH, J_NOTHING, json_balanced
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.lookahead cimport look_stop
from harmonystream._native.tags.view cimport *


cdef inline uint8_t end_of_text(uint8_t before, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The JsonEnds after these bytes. before: the ones before them."""
    cdef Py_ssize_t k = n
    if n == 0:
        return before
    while k > 0 and is_json_space(p[k - 1]):
        k -= 1
    if k > 0:
        before = BRACKET if p[k - 1] in b"}]" else EXPECTS if p[k - 1] in b"{[,:" else 0
    return before & (BRACKET | EXPECTS) | (NEWLINE if p[n - 1] == c'\n' else 0)


cdef inline bint is_foreign(uint8_t c) noexcept nogil:
    """Is it part of a number or word, or of nothing in JSON?"""
    return not is_json_space(c) and c not in b'{}[]",:'


cdef inline bint leaves_json(uint8_t before) noexcept nogil:
    """Outside of strings, before such a byte: could no number or word stand there? before: the JsonEnds."""
    return before & BRACKET or (before & NEWLINE and not before & EXPECTS)


cdef inline Py_ssize_t left_at(uint8_t before, const Json* j, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """How many of these bytes come before one that leaves the JSON, which is open."""
    cdef bint in_string = j.in_string, escape = j.escape == E_BACKSLASH
    cdef Py_ssize_t i
    for i in range(n):
        if in_string:
            in_string = escape or p[i] != c'"'
            escape = p[i] == c'\\' and not escape
            before = 0
        elif is_foreign(p[i]) and leaves_json(before):
            return i
        else:
            in_string = p[i] == c'"'
            before = end_of_text(before, p + i, 1)
    return n


cdef inline int look_lost_end(const View* v, const TagTable* row, Py_ssize_t i, uint8_t quote,
                              bint far) noexcept nogil:
    """In a string that a quote opened, after what could end the call: is the string's own end missing? The next quote
    shows it, or a stop or the end that comes before a quote. far: the answer if nothing is seen within the look-ahead.
    """
    cdef Py_ssize_t n = limit(v, i), x = i
    cdef int k = -1, verdict
    while x < n:
        if row.first[v.p[x]] & row.roles[STOP]:
            verdict = match(v, row, x, n, row.roles[STOP], &k)
            if verdict == YES:
                verdict = look_stop(v, row, x, k)
            if verdict == YES or (verdict == MORE and not v.end and not capped(v, i)):
                return verdict
        if is_special(v, x):
            x += 1
        elif v.p[x] == quote:
            x = skip_ws(v, x + 1, n)
            if x < n:
                return NO if v.p[x] in b",:]}" and not is_special(v, x) else YES
            return far if capped(v, i) else NO if v.end else MORE
        else:
            x += 2 if v.p[x] == c'\\' else 1
    return far if capped(v, i) else MORE if not v.end else NO if v.cut else YES


cdef inline bint is_whole_at_end(const Stream* s, bint stopped, bint known) noexcept nogil:
    """The stream ends in JSON: is the call complete? stopped, known: as in tags_finish()."""
    return (stopped or not known) and json_balanced(&s.json) or (stopped and s.json.stage == J_NOTHING)
