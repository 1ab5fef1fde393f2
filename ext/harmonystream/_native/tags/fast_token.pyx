# Code and prose are full of tokens that end a line or quote something. They cannot take the first shortcut
# (core/bulk_tokens.pxd), because something about them must be held, escaped or followed. No marker can begin in them,
# so one look is enough. What is done here is exactly what the machine would do. A token that is not certain goes
# there.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcpy, memset
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.chars cimport is_literal
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize, Py_XDECREF, incref
from harmonystream._native.core.json_scan cimport J_OPEN, json_step
from harmonystream._native.tags.call_object cimport F_NOTHING, object_step
from harmonystream._native.tags.driver cimport set_tags_fast
from harmonystream._native.tags.json_ends cimport end_of_text, is_foreign, leaves_json, left_at
from harmonystream._native.tags.text cimport follow_backquotes, is_text_open, line_after, note_spoken
from harmonystream._native.core.types cimport *
from harmonystream._native.core.json_text cimport json_escape
from harmonystream._native.core.out cimport first_control
from harmonystream._native.core.utf8 cimport decoded

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST = 64                          # bytes of a token or of a piece of text, and newlines before it


@cython.final
cdef class TokenTexts:
    """The texts of ids as str. Shared by all streams of a program."""

    # The system gives memory of calloc() page by page, when it is first written. So nothing is paid where only emitters
    # run, which need no str. One thread at a time reads or writes a text: only the shortcuts come here, and they need
    # is_free() (stream/open_stream.pxd), so a GIL.
    def __cinit__(self, Py_ssize_t n, bint pairs):
        self.n = 6 * n if pairs else 3 * n
        self.plain = <PyObject**>calloc(self.n, sizeof(PyObject*))
        if self.plain == NULL:
            raise MemoryError()
        self.ended, self.begun = self.plain + n, self.plain + 2 * n
        if pairs:
            self.escaped, self.trimmed, self.continued = self.plain + 3 * n, self.plain + 4 * n, self.plain + 5 * n

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.plain != NULL:
            for i in range(self.n):
                Py_XDECREF(self.plain[i])
            free(self.plain)

    cdef str keep(self, PyObject** place, str text):
        place[0] = incref(text)
        return text


cdef str quick_token(Stream* s, Held* held, const Tables* t, const TagTable* row, TokenTexts texts, Py_ssize_t tid,
                     QuickDelta* delta):
    """The text that this token adds, and its delta; or None: the machine must see it, and nothing has changed.

    Raises MemoryError: then text is missing, and the stream is over.
    """
    cdef const uint8_t* p = t.text + t.offset[tid]
    cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid]
    cdef str text = None
    delta.kind = R_NONE
    if t.classes[tid] & (PLAIN | CONTROL | MARKS) != PLAIN or n > MOST:
        return None
    if s.input_mode != ID_MODE or s.n_pending or s.announce or s.error or s.finished:
        return None
    if s.state == TEXT:
        if row.open_end and (s.tags.line_start or s.tags.newlines or s.tags.seam):
            return None                                    # a line may begin with the name of a call
        text = quick_text(s, held, texts, tid, p, n, delta)
    elif s.state == VALUE:
        text = quick_value(s, held, row.strip, texts, tid, p, n, delta)
    elif s.state == WRAPPED or s.state == RAW:
        text = quick_body(s, held, row, texts, tid, p, n, t.classes[tid] & ESCAPES, delta)
    if text is not None:
        set_tags_fast(s, held)
    return text


cdef inline void token_over(Stream* s) noexcept:
    s.usage[s.region] += 1
    s.position += 1


cdef inline void delta_from(Stream* s, QuickDelta* delta, uint8_t kind, int64_t start) noexcept:
    """The delta goes from `start` to the end of the token that is over."""
    delta.kind = kind
    delta.start = start if start > s.attributed else s.attributed
    delta.stop = s.attributed = s.position


cdef inline str known_text(TokenTexts texts, PyObject** known, const uint8_t* p, Py_ssize_t n):
    return <str>known[0] if known[0] != NULL else texts.keep(known, decoded(p, n))


cdef str quick_text(Stream* s, const Held* held, TokenTexts texts, Py_ssize_t tid, const uint8_t* p, Py_ssize_t n,
                    QuickDelta* delta):
    cdef Tags* g = &s.tags
    cdef uint8_t[2 * MOST] text
    cdef Py_ssize_t i = 0, e = n, k
    cdef int64_t start = s.position
    if not is_text_open(s, held) or g.newlines > MOST:
        return None
    if g.seam:
        if p[0] == c'\n' and g.seam == SPLIT:
            return None                                    # it parts texts
        while i < n and p[i] == c'\n':
            i += 1
        if i == n:
            token_over(s)
            return ""
    follow_backquotes(g, p + i, n - i)
    if s.trim:
        while e > i and p[e - 1] == c'\n':
            e -= 1
    k = g.newlines
    if e == i:                                                               # nothing but newlines
        if k == 0:
            g.newline_at = start
        g.newlines += n - i
        g.newline_stop = start + 1
        token_over(s)
        return ""
    if k:
        start = g.newline_at
    g.newlines = n - e
    g.newline_at = s.position
    g.newline_stop = s.position + 1
    g.seam = 0
    note_spoken(s, p + i, e - i)
    g.line_start = line_after(LINE_BEGINS if k else g.line_start, p + i, e - i)
    token_over(s)
    delta_from(s, delta, s.sink, start)
    if i == 0 and k == 0:
        return known_text(texts, (texts.plain if e == n else texts.ended) + tid, p, e)
    memset(text, c'\n', k)
    memcpy(text + k, p + i, e - i)
    if i == 0 and k == 1 and e == n:
        return known_text(texts, texts.begun + tid, text, n + 1)
    return decoded(text, k + e - i)


cdef str quick_value(Stream* s, Held* held, bint strip, TokenTexts texts, Py_ssize_t tid,
                     const uint8_t* p, Py_ssize_t n, QuickDelta* delta):
    """A string that is being written: escaped. A newline at the end of a token may be the value's last, and is held."""
    cdef Tags* g = &s.tags
    cdef PyObject** known
    cdef str text
    cdef Py_ssize_t e = n, size
    cdef int64_t start = s.position
    if s.value_mode != STREAMED or not g.call.tagged.begun or held.value.n:
        return None
    if held.input.n > 1 or (held.input.n and held.input.p[0] != c'\n'):
        return None
    if strip and p[n - 1] == c'\n':
        e = n - 1
        if e == 0 or held.marks.cap == 0:
            return None
    if held.input.n:                                                         # the newline before this token is text
        known = texts.continued + tid if e == n else NULL
    else:
        known = (texts.escaped if e == n else texts.trimmed) + tid
    if known != NULL and known[0] != NULL:
        text = <str>known[0]
    else:
        text = escaped_text(p, e, held.input.n > 0)
        if known != NULL:
            texts.keep(known, text)
    if held.input.n:
        token_over(s)
        held.input.n = held.marks.n = 0
    g.line_start = p[e - 1] == c'\n'
    if e < n:                                                                # this token is not over
        held.input.p[0] = c'\n'
        held.marks.p[0] = 0
        held.input.n = held.marks.n = 1
        s.position += 1
        delta_from(s, delta, R_ARGUMENTS, start)
        s.position -= 1
    else:
        token_over(s)
        delta_from(s, delta, R_ARGUMENTS, start)
    PyUnicode_AsUTF8AndSize(text, &size)
    s.json.count += size                                                     # nothing in it ends the string
    return text


cdef str escaped_text(const uint8_t* p, Py_ssize_t n, bint continued):
    """Text as a JSON string holds it. continued: with a newline before it."""
    cdef uint8_t[6 * MOST + 2] text
    memcpy(text, b"\\n", 2)
    return decoded(text, 2 + json_escape(p, n, text + 2)) if continued else decoded(text, json_escape(p, n, text))


cdef str quick_body(Stream* s, const Held* held, const TagTable* row, TokenTexts texts, Py_ssize_t tid,
                    const uint8_t* p, Py_ssize_t n, bint escapes, QuickDelta* delta):
    cdef Body body
    cdef str text
    if held.input.n or not body_goes_on(s, row, p, n, escapes, &body):
        return None
    take_body(s, &body, p, n)
    text = known_text(texts, texts.plain + tid, p, n)
    token_over(s)
    delta_from(s, delta, R_ARGUMENTS, s.position - 1)
    return text


# --- a few bytes, of a token or of text -------------------------------------------------------------------------------

cdef bint body_goes_on(const Stream* s, const TagTable* row, const uint8_t* p, Py_ssize_t n, bint escapes,
                       Body* body) noexcept nogil:
    """JSON that is passed on and does not end here? Then `body` is what follows it after these bytes.

    escapes: there may be something in them that JSON strings escape.
    """
    cdef const WrappedCall* call = &s.tags.call.wrapped
    cdef Py_ssize_t i = first_control(p, n) if escapes else n
    body.json = s.json
    if i < n and (body.json.in_string or memchr(p, c'"', n) != NULL):
        return False                                       # in a string it is escaped
    if s.state == WRAPPED:
        if call.passing != PASS_RAW or call.object.depth < 2 or call.object.python:
            return False
        body.object = call.object
        for i in range(n):
            if row.lacks_closer and not body.object.in_string and is_foreign(p[i]) and leaves_json(
                    end_of_text(call.ends, p, i)):
                return False
            if object_step(&body.object, row, p[i]) != F_NOTHING:
                return False
        json_step(&body.json, p, n)
        return True
    if s.state != RAW or body.json.stage != J_OPEN or not s.tags.call.raw.begun or (
            row.open_end and left_at(s.tags.call.raw.ends, &s.json, p, n) < n):
        return False
    json_step(&body.json, p, n)
    return body.json.stage == J_OPEN


cdef void take_body(Stream* s, const Body* body, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The n bytes at p, which `body` has followed, have been written."""
    s.json = body.json
    s.wrote = 1
    if s.state == WRAPPED:
        s.tags.call.wrapped.object = body.object
        s.tags.call.wrapped.ends = end_of_text(s.tags.call.wrapped.ends, p, n)
    elif s.state == RAW:
        s.tags.call.raw.ends = end_of_text(s.tags.call.raw.ends, p, n)


cdef bint value_goes_on(const Stream* s, const Held* held, const uint8_t* p, Py_ssize_t n, Body* body) noexcept nogil:
    """A string that is being written, and bytes that a JSON string holds as they are?"""
    cdef Py_ssize_t i
    if s.value_mode != STREAMED or not s.tags.call.tagged.begun or s.tags.line_start or held.value.n:
        return False
    for i in range(n):
        if not is_literal(p[i]):
            return False
    body.json = s.json
    body.json.count += n
    return True


cdef bint is_plain_body(const Stream* s, const TagTable* row, const Held* held, const uint8_t* p, Py_ssize_t n,
                        Body* body) noexcept nogil:
    """Whole characters of arguments that pass unchanged, in which no marker begins? Changes nothing but `body`."""
    if n > MOST or held.input.n or row.only_first < 0 or memchr(p, row.only_first, n) != NULL:
        return False
    return value_goes_on(s, held, p, n, body) if s.state == VALUE else body_goes_on(s, row, p, n, True, body)
