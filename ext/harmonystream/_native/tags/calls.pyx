# A call begins: its name, its id, its tool.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.tools cimport find_name, tool_index
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.object_name cimport read_object_name, without_comma
from harmonystream._native.tags.pairs cimport open_key
from harmonystream._native.tags.transitions cimport end_call, open_call
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)


cdef Py_ssize_t name_in_id(const uint8_t* p, Py_ssize_t n, Py_ssize_t* size) noexcept nogil:
    """Where the function's name begins in a call's id, and its length: without `functions.` and `:3` around it."""
    cdef Py_ssize_t at = 10 if n >= 10 and memcmp(p, b"functions.", 10) == 0 else 0, end = n
    while end > at and c'0' <= p[end - 1] <= c'9':
        end -= 1
    if end == n or end <= at or p[end - 1] != c':':
        end = n + 1
    size[0] = end - 1 - at
    return at


cdef bint has_no_name(const ToolTable* t, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Is what is left of an id nothing, digits, `call_` and digits, or, where it is not a declared name, an id as APIs
    make them?"""
    cdef Py_ssize_t i
    cdef bint numbered = n > 5 and memcmp(p, b"call_", 5) == 0
    if t.n > 0:
        if tool_index(t, p, n) >= 0:
            return False
        if numbered or (n > 14 and memcmp(p, b"chatcmpl-tool-", 14) == 0):
            return True
    for i in range(5 if numbered else 0, n):
        if not c'0' <= p[i] <= c'9':
            return False
    return True


cdef void note_header(Stream* s, const Context* c, const CallHeader* h, bint misspelt) noexcept nogil:
    if h.repeated:
        note(s, D_REPEATED_OPENER, s.position)
    if h.bare or h.key_n or h.unended:
        note(s, D_MISSING_OPENER, s.position)
    if h.python:
        note(s, D_CALL_SYNTAX, s.position)
    if h.doubled:
        note(s, D_STRAY_CLOSER, s.position)
    if misspelt:
        note(s, D_MISSPELT_NAME, s.position)
    if s.tags.reasoning:
        note(s, D_CALL_IN_REASONING, s.position)


cdef void begin_call(Stream* s, const Context* c, View* v, const CallHeader* h) noexcept nogil:
    """The header h has been read: the call begins. Names the tool, and the call's id if the format has ids."""
    cdef Record* r = NULL
    cdef uint8_t[NAME_CAP + 16] decoded, own_id
    cdef const uint8_t* name = v.p + h.name_at
    cdef const uint8_t* id = v.p + h.id_at
    cdef int n = <int>h.name_n, n_id = <int>h.id_n, n_own, kind = FUNCTION
    cdef bint is_id = c.row.name_as == ID_NAME and h.body != WRAPPED, misspelt
    cdef Py_ssize_t at = 0, size
    cdef int64_t start, stop
    if h.body == WRAPPED:
        read_object_name(v, h.object_name, h.python, decoded, &n)
        if h.name_open:
            n = without_comma(decoded, n)
        name = decoded
        if h.object_id and read_object_name(v, h.object_id, h.python, own_id, &n_own):
            id = own_id
            n_id = n_own
    size = n
    if is_id:
        id = name
        n_id = n
        at = name_in_id(name, n, &size)
    misspelt = c.tools.n > 0 and tool_index(c.tools, name + at, size) < 0 and (
        find_name(c.tools, name, n, is_id, &at, &size))
    flush_pending(s, c.out)
    note_header(s, c, h, misspelt)
    if s.error:
        return
    if is_id and has_no_name(c.tools, name + at, size):
        if c.tools.n == 1:
            name = c.tools.names
            at = 0
            size = c.tools.offset[1]
        else:
            kind = OTHER_CALL
            at = 0
            size = n
    start = after(s, s.position)
    stop = after(s, position_at(s, v, h.stop - 1) + 1 if h.stop > v.i else start)
    if c.out.labels == NULL:
        r = out_record(c.out, R_CALL_START, start, stop)
        if r != NULL:
            r.index = s.calls
    s.kind = kind
    s.tags.tool = tool_index(c.tools, name + at, size)
    if r != NULL and out_room(c.out, size + n_id):
        put_name(c.out, r, name + at, size, id, n_id)
        r.flags = kind
    s.attributed = stop
    open_call(s, h, c.row.ends_reasoning)
    if h.body == WRAPPED:
        s.tags.call.wrapped.name_nth = h.name_nth
        s.tags.call.wrapped.name_inner = h.name_inner
        s.tags.call.wrapped.name_open = h.name_open
    if h.key_n:
        open_key(s, c, v, v.p + h.key_at, h.key_n, 0)
        consume_key_end(s, c, v, h)
        return
    consume(s, c, v, h.stop, IN_HEADER)
    if h.array and h.body == WRAPPED:
        consume(s, c, v, skip_ws(v, v.i + 1, v.n), IN_HEADER)
    if h.empty:
        end_call(s, c, s.position, True, False)


cdef void put_name(Out* out, Record* r, const uint8_t* name, Py_ssize_t n,
                   const uint8_t* id, Py_ssize_t n_id) noexcept nogil:
    """The call's name, and its id after it, into the record."""
    r.at = out.n_text
    memcpy(out.text + r.at, name, n)
    memcpy(out.text + r.at + n, id, n_id)
    out.n_text += n + n_id
    r.n = n
    r.n_id = <uint16_t>n_id


cdef void consume_key_end(Stream* s, const Context* c, View* v, const CallHeader* h) noexcept nogil:
    """Takes the end of a key whose opener is missing."""
    cdef Py_ssize_t i = h.stop
    cdef int k = -1
    if match(v, c.row, i, v.n, c.row.roles[KEY_END], &k) == YES:
        i += c.row.literals[k].n
    consume(s, c, v, i, IN_HEADER)
    s.tags.call.tagged.opener_due = c.row.value_opener
