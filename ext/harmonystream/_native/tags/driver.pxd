# The tag machine (docs/tags.md): the only place that advances a stream of a tag format.

from libc.stdint cimport uint8_t, uint32_t
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.call_object cimport X_IN_KEY
from harmonystream._native.tags.text cimport is_text_open

cdef void tags_init(Stream* s, bint trim) noexcept nogil
cdef void tags_open(Stream* s, bint reasoning, bint answer, bint seam) noexcept nogil
cdef void tags_ids(Stream* s, const Context* c, const uint32_t* ids, Py_ssize_t n) noexcept nogil
cdef void tags_text(Stream* s, const Context* c, const uint8_t* p, Py_ssize_t n) noexcept nogil
cdef void tags_finish(Stream* s, const Context* c, bint stopped, bint known) noexcept nogil


cdef inline void set_tags_fast(Stream* s, const Held* held) noexcept nogil:
    """May a plain token take the shortcut, and what must its class be? Only where it can be nothing but text of the
    sink."""
    cdef const Tags* g = &s.tags
    cdef const WrappedCall* wrapped
    cdef const PythonCall* python
    s.fast = 0
    if s.input_mode != ID_MODE or s.n_pending or s.announce or s.error or s.finished or held.input.n:
        return
    if s.state == TEXT:
        if is_text_open(s, held) and g.newlines == 0 and not g.seam and g.ticks == 0 and not g.lead and (
                g.code != FENCE_INFO and g.code != FENCE_BLANK):
            s.fast = s.sink
            s.shortcut_look = PLAIN | MARKS | EDGE | (TICKS if g.fence else 0)   # in a line, backquotes open no fence
            s.shortcut_want = PLAIN
    elif s.state == VALUE:
        if s.value_mode == STREAMED and g.call.tagged.begun and not g.line_start and held.value.n == 0:
            s.fast = R_ARGUMENTS
            s.shortcut_look = PLAIN | MARKS | EDGE | ESCAPES
            s.shortcut_want = PLAIN
    elif s.state == RAW:
        if g.call.raw.begun and s.json.in_string and not s.json.escape and not g.call.raw.ends & ~EXPECTS:
            s.fast = R_ARGUMENTS
            s.shortcut_look = PLAIN | MARKS | QUIET | ESCAPES
            s.shortcut_want = PLAIN | QUIET
    elif s.state == WRAPPED:
        wrapped = &g.call.wrapped
        if wrapped.object.in_string == c'"' and not wrapped.object.escape and wrapped.object.expect != X_IN_KEY and (
                not wrapped.ends & ~EXPECTS) and (wrapped.passing == PASS_RAW or (
                wrapped.passing == PASS_STRING and wrapped.escape_n == 0 and wrapped.surrogate == 0)):
            s.fast = R_ARGUMENTS
            s.shortcut_look = PLAIN | MARKS | EDGE | QUIET | ESCAPES
            s.shortcut_want = PLAIN | QUIET
    elif s.state == PYTHON:
        python = &g.call.python
        # JSON's quotes, or the row's own
        if python.n_quotes and not python.text_bracket and (python.quote == c'"' or python.quote == 0):
            s.fast = R_ARGUMENTS
            s.shortcut_look = PLAIN | MARKS | ESCAPES
            s.shortcut_want = PLAIN
