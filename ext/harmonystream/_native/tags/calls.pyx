# A call begins: its name, its id, its tool.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.tools cimport tool_index
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.lookahead cimport *
from harmonystream._native.tags.object_name cimport read_object_name
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


cdef inline bint is_digit(uint8_t c) noexcept nogil:
    return c'0' <= c <= c'9'


cdef inline bint is_joint(uint8_t c) noexcept nogil:
    return c == c'.' or c == c'_' or c == c':' or c == c'-'


cdef bint misspelt_id(const ToolTable* tools, const uint8_t* p, Py_ssize_t n,
                      Py_ssize_t* at, Py_ssize_t* size) noexcept nogil:
    """The name of a declared tool in an id such as functions_f_2 or f2, whose usual parts name none."""
    cdef Py_ssize_t i = 0, end = n
    if tool_index(tools, p + at[0], size[0]) >= 0:
        return False
    if n >= 9 and memcmp(p, b"functions", 9) == 0:
        i = 9 + (n > 9 and is_joint(p[9]))
    while True:
        if end > i and tool_index(tools, p + i, end - i) >= 0:
            at[0] = i
            size[0] = end - i
            return True
        if end == n and end > i and is_digit(p[end - 1]):
            while end > i and is_digit(p[end - 1]):
                end -= 1
        elif end > i and is_joint(p[end - 1]) and (end == n or is_digit(p[end])):
            end -= 1
        else:
            return False


cdef bint is_number(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """Nothing, digits, or `call_` and digits: an id that has no name in it."""
    cdef Py_ssize_t i
    for i in range(5 if n > 5 and memcmp(p, b"call_", 5) == 0 else 0, n):
        if not c'0' <= p[i] <= c'9':
            return False
    return True


cdef void name_call(Stream* s, const Context* c, Record* r, const uint8_t* p, Py_ssize_t n,
                    const uint8_t* id, Py_ssize_t n_id, bint wrapped) noexcept nogil:
    """The call's name, and its id if the format has ids, into the record. Names the tool. id: NULL if it is not told
    beside the name. wrapped: the name is a member of an object."""
    cdef Py_ssize_t size = n, at = 0
    cdef const uint8_t* name = p
    s.kind = FUNCTION
    if c.row.name_as == ID_NAME and not wrapped:
        id = p
        n_id = n
        at = name_in_id(p, n, &size)
        misspelt_id(c.tools, p, n, &at, &size)
        name = p + at
        if is_number(name, size):
            if c.tools.n == 1:
                name = c.tools.names
                size = c.tools.offset[1]
            else:
                s.kind = OTHER_CALL
                name = p
                size = n
    s.tags.tool = tool_index(c.tools, name, size)
    if r == NULL or not out_room(c.out, size + n_id):
        return
    r.at = c.out.n_text
    memcpy(c.out.text + c.out.n_text, name, size)
    c.out.n_text += size
    r.n = size
    if id != NULL:
        memcpy(c.out.text + c.out.n_text, id, n_id)
        c.out.n_text += n_id
        r.n_id = <uint16_t>n_id
    r.flags = s.kind


cdef void note_header(Stream* s, const Context* c, const View* v, const CallHeader* h) noexcept nogil:
    cdef Py_ssize_t at, size = 0
    if h.repeated:
        note(s, D_REPEATED_OPENER, s.position)
    if h.bare or h.key_n:
        note(s, D_MISSING_OPENER, s.position)
    if h.doubled:
        note(s, D_STRAY_CLOSER, s.position)
    if c.row.name_as == ID_NAME and h.body != WRAPPED:
        at = name_in_id(v.p + h.name_at, h.name_n, &size)
        if misspelt_id(c.tools, v.p + h.name_at, h.name_n, &at, &size):
            note(s, D_MISSPELT_ID, s.position)
    if s.tags.reasoning:
        note(s, D_CALL_IN_REASONING, s.position)


cdef void begin_call(Stream* s, const Context* c, View* v, const CallHeader* h) noexcept nogil:
    """The header h has been read: the call begins."""
    cdef Record* r = NULL
    cdef uint8_t[NAME_CAP + 16] decoded, id
    cdef const uint8_t* name = v.p + h.name_at
    cdef const uint8_t* its_id = v.p + h.id_at if h.id_n else NULL
    cdef int n = <int>h.name_n, n_id = <int>h.id_n
    cdef int64_t start, stop
    flush_pending(s, c.out)
    note_header(s, c, v, h)
    if s.error:
        return
    if h.body == WRAPPED:
        read_object_name(v, h.object_name, decoded, &n)
        name = decoded
        if h.object_id and read_object_name(v, h.object_id, id, &n_id):
            its_id = id
    start = after(s, s.position)
    stop = after(s, position_at(s, v, h.stop - 1) + 1 if h.stop > v.i else start)
    if c.out.labels == NULL:
        r = out_record(c.out, R_CALL_START, start, stop)
        if r != NULL:
            r.index = s.calls
    name_call(s, c, r, name, n, its_id, n_id, h.body == WRAPPED)
    s.attributed = stop
    open_call(s, h, c.row.ends_reasoning)
    if h.key_n:
        open_key(s, c, v, v.p + h.key_at, h.key_n, 0)
        consume_key_end(s, c, v, h)
        return
    consume(s, c, v, h.stop, IN_HEADER)
    if h.array and h.body == WRAPPED:
        consume(s, c, v, skip_ws(v, v.i + 1, v.n), IN_HEADER)
    if h.empty:
        end_call(s, c, s.position, True, False)


cdef void consume_key_end(Stream* s, const Context* c, View* v, const CallHeader* h) noexcept nogil:
    """Takes the end of a key whose opener is missing."""
    cdef Py_ssize_t i = h.stop
    cdef int k = -1
    if match(v, c.row, i, v.n, c.row.roles[KEY_END], &k) == YES:
        i += c.row.literals[k].n
    consume(s, c, v, i, IN_HEADER)
    s.tags.call.tagged.opener_due = c.row.value_opener
