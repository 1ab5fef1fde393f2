# Code and prose are full of tokens that end a line or quote something. They cannot take the first shortcut (stream/parser.pxd, plain_token), for
# something about them must be held, escaped or followed; but as no marker can begin in them, one look is enough. What is done here is
# exactly what the machine would do; whatever is not sure goes there.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset
from harmonystream._native.tags.bodies cimport open_run
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize, incref, single
from harmonystream._native.core.json_scan cimport J_OPEN, json_step
from harmonystream._native.tags.call_object cimport F_NOTHING, object_step
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.records cimport decoded
from harmonystream._native.tags.driver cimport set_tags_fast
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.values cimport json_escape

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST = 64                          # bytes of a token, and newlines before it


cdef tuple quick_token(Parser parser, Py_ssize_t tid):
    """The events of this token, or None: the machine must see it."""
    cdef Stream* s = &parser.s
    cdef const Tables* t = &parser.program.tables
    cdef const uint8_t* p = t.text + t.offset[tid]
    cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid]
    cdef tuple events = None
    if t.classes[tid] & (PLAIN | CONTROL | MARKS) != PLAIN or n > MOST:
        return None
    if s.text_mode != 1 or s.n_pending or s.announce or s.error or s.finished:
        return None
    try:
        if s.state == TEXT:
            events = quick_text(parser, p, n)
        elif s.state == VALUE:
            events = quick_value(parser, tid, p, n)
        elif s.state == WRAPPED or s.state == RAW:
            events = quick_body(parser, tid, p, n)
    except BaseException:                                                    # no memory: text is missing
        s.finished = 1
        raise
    if events is not None:
        set_tags_fast(s, &parser.held)
    return events


cdef inline void token_over(Stream* s) noexcept:
    s.usage[s.region] += 1
    s.position += 1


cdef inline tuple delta_from(Parser parser, uint8_t kind, str text, int64_t start):
    """A delta from `start` to the end of the token that is over."""
    cdef Stream* s = &parser.s
    if start < s.attributed:
        start = s.attributed
    s.attributed = s.position
    return single(&parser.last, incref(parser.delta(kind, s.calls, text, start, s.position)))


cdef tuple quick_text(Parser parser, const uint8_t* p, Py_ssize_t n):
    cdef Stream* s = &parser.s
    cdef Tags* g = &s.tags
    cdef uint8_t[2 * MOST] text
    cdef Py_ssize_t i = 0, e = n, k
    cdef int64_t start = s.position
    if parser.held.input.n or g.newlines > MOST:
        return None
    if g.seam:
        while i < n and p[i] == c'\n':
            i += 1
        if i == n:
            token_over(s)
            return ()
    if g.trim:
        while e > i and p[e - 1] == c'\n':
            e -= 1
    k = g.newlines
    if e == i:                                                               # nothing but newlines
        if k == 0:
            g.newline_at = start
        g.newlines += n - i
        g.newline_stop = start + 1
        token_over(s)
        return ()
    memset(text, c'\n', k)
    memcpy(text + k, p + i, e - i)
    if k:
        start = g.newline_at
    g.newlines = n - e
    g.newline_at = s.position
    g.newline_stop = s.position + 1
    g.seam = 0
    g.line_start = p[e - 1] == c'\n'
    token_over(s)
    return delta_from(parser, s.sink, decoded(text, k + e - i), start)


cdef tuple quick_value(Parser parser, Py_ssize_t tid, const uint8_t* p, Py_ssize_t n):
    """A string that is being written: escaped. A newline at the end of a token may be the value's last, and is held."""
    cdef Stream* s = &parser.s
    cdef Tags* g = &s.tags
    cdef Held* held = &parser.held
    cdef list known
    cdef str text
    cdef Py_ssize_t e = n, size
    cdef int64_t start = s.position
    cdef bint strip = parser.program.tags.strip
    if s.value_mode != STREAMED or not g.begun or held.value.n or held.input.n > 1 or (held.input.n and held.input.p[0] != c'\n'):
        return None
    if strip and p[n - 1] == c'\n':
        e = n - 1
        if e == 0 or held.marks.cap == 0:
            return None
    if held.input.n:                                                         # the newline before this token is text
        known = parser.program.continued if e == n else None
    else:
        known = parser.program.escaped if e == n else parser.program.trimmed
    text = <str>known[tid] if known is not None else None
    if text is None:
        text = escaped_text(p, e, held.input.n > 0)
        if known is not None:
            known[tid] = text
    if held.input.n:
        token_over(s)
        held.input.n = held.marks.n = 0
    g.line_start = p[e - 1] == c'\n'
    if e < n:                                                                # this token is not over
        held.input.p[0] = c'\n'
        held.marks.p[0] = 0
        held.input.n = held.marks.n = 1
        s.position += 1
        events = delta_from(parser, R_ARGUMENTS, text, start)
        s.position -= 1
    else:
        token_over(s)
        events = delta_from(parser, R_ARGUMENTS, text, start)
    PyUnicode_AsUTF8AndSize(text, &size)
    s.json.count += size                                                     # nothing in it ends the string
    return events


cdef str escaped_text(const uint8_t* p, Py_ssize_t n, bint continued):
    """Text as it stands in a JSON string; continued: with a newline before it."""
    cdef uint8_t[6 * MOST + 2] text
    memcpy(text, b"\\n", 2)
    return decoded(text, 2 + json_escape(p, n, text + 2)) if continued else decoded(text, json_escape(p, n, text))


cdef tuple quick_body(Parser parser, Py_ssize_t tid, const uint8_t* p, Py_ssize_t n):
    """JSON that is passed on and does not end here."""
    cdef Stream* s = &parser.s
    cdef Tags* g = &s.tags
    cdef ObjectScan object
    cdef Json json = s.json
    cdef Py_ssize_t i
    cdef str text
    if parser.held.input.n:
        return None
    if s.state == WRAPPED:
        if g.passing != PASS_RAW or g.object.depth < 2:
            return None
        object = g.object
        for i in range(n):
            if object_step(&object, p[i]) != F_NOTHING:
                return None
        g.object = object
        json_step(&json, p, n)
    else:
        if json.stage != J_OPEN or not g.begun or open_run(&json, p, n) != n:
            return None
        json_step(&json, p, n)
        if json.stage != J_OPEN:
            return None
    s.json = json
    s.wrote = 1
    text = <str>parser.strings[tid]
    if text is None:
        text = parser.strings[tid] = decoded(p, n)
    token_over(s)
    s.attributed = s.position
    return single(&parser.last, incref(parser.delta(R_ARGUMENTS, s.calls, text, s.position - 1, s.position)))
