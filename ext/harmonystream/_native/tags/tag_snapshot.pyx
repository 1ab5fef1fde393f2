# The tag machine's memory as bytes. They follow the rest of the state (stream/snapshot.pyx). In a blob from outside,
# every index and every length is checked. Fields that follow from the state are not in the blob, but derived from it.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.fields cimport *
from harmonystream._native.tags.call_object cimport KEYS_ARE_NAMES, X_OVER
from harmonystream._native.tags.cdata cimport IN_CDATA
from harmonystream._native.tags.element_path cimport is_path
from harmonystream._native.tags.python_look cimport P_ARGUMENT, P_COLON, P_ITEM, P_KEY, P_OBJECT, P_STRING
from harmonystream._native.core.utf8 cimport utf8_is_incomplete
from harmonystream._native.core.types cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    N_BYTES = 30
    FIXED_SIZE = 6 * 8 + 2 * 4 + 2 * (8 + 8) + 2 * 4 + N_BYTES + 6 + 3 * 4


cdef void walk(Stream* s, uint8_t* special, uint32_t* n, Fields* f) noexcept:
    """The fields, and how many bytes there are of input, marks and value."""
    cdef Tags* g = &s.tags
    cdef int64_t** longs = [&g.newlines, &g.newline_at, &g.newline_stop, &g.value_at, &g.value_stop, &g.probed]
    cdef uint8_t** bytes_ = [
        &g.reasoning, &g.answer, &g.seam, &g.in_section, &s.trim, special,
        &g.mentions, &g.think_mentions, &g.fence, &g.ticks, &g.lead, &s.spoken, &s.parted,
        &g.code, &g.fresh, &g.layout, &g.quotes, &g.wraps, &g.opening, &g.line_start, &g.begun,
        &g.types, &g.untyped_json, &g.pairs, &g.unread, &g.fenced, &g.array, &g.passing, &g.escape_n, &s.value_mode]
    cdef int i
    for i in range(6):
        long_field(f, longs[i])
    word_field(f, <uint32_t*>&g.name_at)
    word_field(f, <uint32_t*>&g.id_at)
    walk_scan(&g.probe, f)
    walk_scan(&g.object, f)
    word_field(f, <uint32_t*>&g.tool)
    word_field(f, <uint32_t*>&g.surrogate)
    for i in range(N_BYTES):
        byte_field(f, bytes_[i])
    bytes_field(f, g.escape, 6)
    for i in range(3):
        word_field(f, &n[i])


cdef void walk_scan(ObjectScan* o, Fields* f) noexcept:
    cdef int i
    cdef uint8_t** bytes_ = [&o.in_string, &o.escape, &o.expect, &o.key, &o.key_n, &o.named, &o.stray, &o.keys]
    long_field(f, &o.depth)
    for i in range(8):
        byte_field(f, bytes_[i])


cdef bint tags_pack(Stream* s, const Held* held, Buffer* to) noexcept:
    """Appends the tag part. False without memory."""
    cdef uint32_t* n = [<uint32_t>held.input.n, <uint32_t>held.marks.n, <uint32_t>held.value.n]
    cdef uint8_t special = has_special(&held.marks)
    cdef Fields f
    if not buffer_room(to, FIXED_SIZE + held.input.n + held.marks.n + held.value.n):
        return False
    f.p, f.n, f.at, f.writing, f.truncated = to.p + to.n, FIXED_SIZE, 0, True, False
    walk(s, &special, n, &f)
    to.n += f.at
    return (buffer_put(to, held.input.p, held.input.n) and buffer_put(to, held.marks.p, held.marks.n)
            and buffer_put(to, held.value.p, held.value.n))


cdef bint has_special(const Buffer* marks) noexcept:
    """Is there a control or inert id in what is held? The flag `special` is cleared later than the bytes are."""
    cdef Py_ssize_t i
    for i in range(marks.n):
        if marks.p[i] & (BEGINS_CONTROL | INERT_ID):
            return True
    return False


cdef int refuse(what) except -1:
    raise ValueError(f"not a usable parser state: {what}")


cdef int fill(Buffer* b, const uint8_t* p, Py_ssize_t n) except -1:
    b.n = 0
    if not buffer_put(b, p, n):
        raise MemoryError()
    return 0


cdef int tags_unpack(Stream* s, Held* held, const TagTable* row, const ToolTable* tools, Fields* f) except -1:
    """Fills the tag part of a stream whose other fields are read and in their ranges, from all that is left."""
    cdef uint32_t[3] n
    cdef const uint8_t* p
    walk(s, &s.tags.special, n, f)
    if f.truncated:
        refuse("it is truncated")
    if f.n - f.at != <Py_ssize_t>n[0] + n[1] + n[2]:
        refuse("its length does not fit its content")
    p = f.p + f.at
    fill(&held.input, p, n[0])
    fill(&held.marks, p + n[0], n[1])
    fill(&held.value, p + n[0] + n[1], n[2])
    check_numbers(s, held, row, tools)
    check_held(s, held)
    restore(s)
    return 0


cdef int check_numbers(const Stream* s, const Held* held, const TagTable* row, const ToolTable* tools) except -1:
    cdef const Tags* g = &s.tags
    cdef bint in_call = s.state in (PAIRS, VALUE, RAW, WRAPPED, PYTHON), in_value
    cdef const ObjectScan* scan
    cdef const Span** parts = [&s.role, &s.channel, &s.recipient, &s.content_type]
    cdef uint8_t* flags = [
        g.reasoning, g.answer, g.seam, g.in_section, s.trim, g.special, g.fresh, g.layout, g.quotes, g.opening,
        g.lead, g.begun, g.untyped_json, g.pairs, g.unread, g.array]
    cdef int i
    if s.state < DONE or s.state >= N_STATES:
        refuse("a field is out of range")
    if not 0 <= g.newlines <= NEWLINE_CAP or not 0 <= g.newline_at <= g.newline_stop <= s.position + 1:
        refuse("a position lies outside the stream")
    if g.newlines and s.state != TEXT:
        refuse("it has newlines where no text is")
    if not 0 <= g.value_at <= g.value_stop <= s.position + 1:
        refuse("a position lies outside the stream")
    if not 0 <= g.name_at <= g.probed <= held.input.n or (g.name_at and g.name_at == g.probed):
        refuse("it has looked further than it has read")
    if not 0 <= g.id_at <= g.probed:
        refuse("it has looked further than it has read")
    for i in range(2):
        scan = &g.object if i else &g.probe
        if (scan.depth < 0 or scan.expect > X_OVER or scan.in_string > 1 or scan.stray > 1
                or scan.keys > KEYS_ARE_NAMES or (
                scan.depth > s.position + held.input.n + (1 << 20) and s.state != PYTHON and not row.has_element)):
            refuse("its JSON scanner is in no possible state")
    if s.state == PYTHON:
        check_python(g, row)
    if row.has_element and not s.finished and not s.error and not is_path(s):
        refuse("its names are not those of open elements")
    if (s.value_mode > HELD or g.passing > PASS_MEMBER or g.fenced > FENCED or g.types > 127 or g.wraps > HELD
            or g.code > EXAMPLE or g.line_start > (7 if s.state in (RAW, WRAPPED) else LINE_BLANK)
            or s.spoken & ~((1 << R_REASONING) | (1 << R_CONTENT)) or s.parted & ~s.spoken):
        refuse("a field is out of range")
    if not -1 <= g.tool < max(0, tools.n) or g.escape_n > (4 if g.passing == PASS_SCALAR else 5):
        refuse("a field is out of range")
    if s.state == VALUE and g.passing and (g.passing > IN_CDATA or row.roles[CDATA_OPEN] == 0):
        refuse("a field is out of range")
    if (g.code != NO_CODE) != (g.fence > 2):
        refuse("a field is out of range")
    if g.surrogate and not 0xD800 <= g.surrogate < 0xDC00:
        refuse("a field is out of range")
    for i in range(16):
        if flags[i] > 1:
            refuse("a flag is neither 0 nor 1")
    if in_call != (s.kind != NOT_A_CALL):
        refuse("it has an open call and none")
    in_value = s.state == VALUE or (s.state == WRAPPED and g.passing == PASS_MEMBER)
    if (s.value_mode != NO_VALUE) != in_value and not s.error and not s.finished:
        refuse("it has an open call and none")
    for i in range(4):
        if parts[i].at or parts[i].n:
            refuse("it has a message header")
    if s.channel_code:
        refuse("it has a message header")
    return 0


cdef int check_python(const Tags* g, const TagTable* row) except -1:
    """Brackets and quotes fit what is expected after them."""
    cdef const ObjectScan* o = &g.object
    cdef uint64_t stack = <uint64_t>o.depth
    cdef bint in_object = stack & 3 == P_OBJECT, in_string = o.expect == P_STRING
    while stack & 3:
        stack >>= 2
    if stack or o.in_string != in_string or o.escape > in_string or o.key > 1 or g.probe.key > 1 or g.probe.escape > 1:
        refuse("its Python scanner is in no possible state")
    own = in_string and o.named == 0 and row.roles[QUOTE] != 0 and o.key_n == 1 and not o.escape
    if in_string and not own and ((o.named != c'"' and o.named != c"'") or (o.key_n != 1 and o.key_n != 3)):
        refuse("its Python scanner is in no possible state")
    if (o.expect == P_ARGUMENT and o.depth) or (o.expect == P_ITEM and (in_object or not o.depth)) or (
            o.expect in (P_KEY, P_COLON) and not in_object) or (o.key and not in_object):
        refuse("its Python scanner is in no possible state")
    return 0


cdef int check_held(Stream* s, const Held* held) except -1:
    """Marks are as many as bytes, and say only what a mark can."""
    cdef Py_ssize_t i
    if held.marks.n != (held.input.n if s.input_mode == ID_MODE else 0) or (held.input.n and not s.input_mode):
        refuse("its held input is in no possible state")
    for i in range(held.marks.n):
        if held.marks.p[i] > 15 or (held.marks.p[i] & BEGINS_CONTROL and held.marks.p[i] & (INSIDE_CONTROL | INERT_ID)):
            refuse("its held input is in no possible state")
    if s.tags.special != has_special(&held.marks):
        refuse("its held input is in no possible state")
    if held.value.n and s.value_mode == NO_VALUE and s.state != WRAPPED:
        refuse("it holds a value and has none")
    if held.value.n:
        try:
            (<const char*>held.value.p)[:held.value.n].decode()
        except UnicodeDecodeError:
            refuse("its held value is not text")
    if s.n_pending and not utf8_is_incomplete(s.pending, s.n_pending):
        refuse("its incomplete character is not the beginning of one")
    return 0


cdef void restore(Stream* s) noexcept:
    s.sink = R_ARGUMENTS if s.kind != NOT_A_CALL else R_REASONING if s.tags.reasoning else R_CONTENT
    if s.state == TEXT:
        s.region = IN_REASONING if s.tags.reasoning else IN_CONTENT
    elif s.state == VALUE or s.state == RAW or s.state == WRAPPED or s.state == PYTHON:
        s.region = IN_ARGUMENTS
    elif s.state == DONE:
        s.region = IN_DONE
        s.sink = R_NONE
    else:
        s.region = IN_HEADER
