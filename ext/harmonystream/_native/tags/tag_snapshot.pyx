# The tag machine's memory as bytes. They follow the rest of the state (stream/snapshot.pyx). In a blob from outside,
# every index and every length is checked. Fields that follow from the state are not in the blob, but derived from it.

import struct

from harmonystream._native.core.buffer cimport buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from libc.stdint cimport uint64_t
from harmonystream._native.tags.call_object cimport X_OVER
from harmonystream._native.tags.cdata cimport IN_CDATA
from harmonystream._native.tags.element_path cimport is_path
from harmonystream._native.tags.python_look cimport P_ARGUMENT, P_COLON, P_ITEM, P_KEY, P_OBJECT, P_STRING
from harmonystream._native.core.utf8 cimport utf8_is_incomplete
from harmonystream._native.core.types cimport *

DEBUG = bool(DEBUG_BUILD)

_FIXED = struct.Struct("<6q 2i q6B q6B 2i 28B 6s 3I")


cdef bytes tags_pack(const Stream* s, const Held* held):
    cdef const Tags* g = &s.tags
    cdef const ObjectScan* a = &g.probe
    cdef const ObjectScan* b = &g.object
    fixed = _FIXED.pack(
        g.newlines, g.newline_at, g.newline_stop, g.value_at, g.value_stop, g.probed, g.name_at, g.id_at,
        a.depth, a.in_string, a.escape, a.expect, a.key, a.key_n, a.named,
        b.depth, b.in_string, b.escape, b.expect, b.key, b.key_n, b.named,
        g.tool, g.surrogate,
        g.reasoning, g.answer, g.seam, g.in_section, g.trim, has_special(&held.marks),
        g.mentions, g.think_mentions, g.fence, g.ticks, g.lead,
        g.code, g.fresh, g.layout, g.quotes, g.wraps, g.opening, g.line_start, g.begun,
        g.types, g.untyped_json, g.pairs, g.fenced, g.array, g.passing, g.escape_n, s.value_mode, g.cdata,
        (<const char*>g.escape)[:6], held.input.n, held.marks.n, held.value.n)
    return b"".join((fixed, piece(&held.input), piece(&held.marks), piece(&held.value)))


cdef bint has_special(const Buffer* marks) noexcept:
    """Is there a control or inert id in what is held? The flag `special` is cleared later than the bytes are."""
    cdef Py_ssize_t i
    for i in range(marks.n):
        if marks.p[i] & (BEGINS_CONTROL | INERT_ID):
            return True
    return False


cdef bytes piece(const Buffer* b):
    return (<const char*>b.p)[:b.n] if b.n else b""


cdef int refuse(what) except -1:
    raise ValueError(f"not a usable parser state: {what}")


cdef int fill(Buffer* b, bytes data) except -1:
    b.n = 0
    if not buffer_put(b, data, len(data)):
        raise MemoryError()
    return 0


cdef int tags_unpack(Stream* s, Held* held, const TagTable* row, const ToolTable* tools, bytes data) except -1:
    """Fills the tag part of a stream whose other fields are read and in their ranges."""
    cdef Tags* g = &s.tags
    cdef ObjectScan* a = &g.probe
    cdef ObjectScan* b = &g.object
    cdef Py_ssize_t at = _FIXED.size
    if len(data) < at:
        refuse("it is truncated")
    (g.newlines, g.newline_at, g.newline_stop, g.value_at, g.value_stop, g.probed, g.name_at, g.id_at,
     a.depth, a.in_string, a.escape, a.expect, a.key, a.key_n, a.named,
     b.depth, b.in_string, b.escape, b.expect, b.key, b.key_n, b.named,
     g.tool, g.surrogate,
     g.reasoning, g.answer, g.seam, g.in_section, g.trim, g.special,
     g.mentions, g.think_mentions, g.fence, g.ticks, g.lead,
     g.code, g.fresh, g.layout, g.quotes, g.wraps, g.opening, g.line_start, g.begun,
     g.types, g.untyped_json, g.pairs, g.fenced, g.array, g.passing, g.escape_n, s.value_mode, g.cdata,
     escape, n_input, n_marks, n_value) = _FIXED.unpack_from(data)
    for i in range(6):
        g.escape[i] = escape[i]
    if len(data) != at + n_input + n_marks + n_value:
        refuse("its length does not fit its content")
    fill(&held.input, data[at:at + n_input])
    fill(&held.marks, data[at + n_input:at + n_input + n_marks])
    fill(&held.value, data[at + n_input + n_marks:])
    check_numbers(s, held, row, tools)
    check_held(s, held)
    restore(s)
    return 0


cdef int check_numbers(const Stream* s, const Held* held, const TagTable* row, const ToolTable* tools) except -1:
    cdef const Tags* g = &s.tags
    cdef bint in_call = s.state in (PAIRS, VALUE, RAW, WRAPPED, PYTHON)
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
    for scan in (g.probe, g.object):
        if (scan["depth"] < 0 or scan["expect"] > X_OVER or scan["in_string"] > 1 or (
                scan["depth"] > s.position + held.input.n + (1 << 20) and s.state != PYTHON and not row.has_element)):
            refuse("its JSON scanner is in no possible state")
    if s.state == PYTHON:
        check_python(g, row)
    if row.has_element and not s.finished and not s.error and not is_path(s):
        refuse("its names are not those of open elements")
    if (s.value_mode > HELD or g.passing > PASS_SCALAR or g.fenced > FENCED or g.types > 127 or g.wraps > HELD
            or g.code > EXAMPLE):
        refuse("a field is out of range")
    if not -1 <= g.tool < max(0, tools.n) or g.escape_n > (4 if g.passing == PASS_SCALAR else 5):
        refuse("a field is out of range")
    if g.cdata > IN_CDATA or (g.cdata and row.roles[CDATA_OPEN] == 0):
        refuse("a field is out of range")
    if (g.code != NO_CODE) != (g.fence > 2):
        refuse("a field is out of range")
    if g.surrogate and not 0xD800 <= g.surrogate < 0xDC00:
        refuse("a field is out of range")
    if max(g.reasoning, g.answer, g.seam, g.in_section, g.trim, g.special, g.fresh, g.layout, g.quotes,
           g.opening, g.line_start, g.lead, g.begun, g.untyped_json, g.pairs, g.array) > 1:
        refuse("a flag is neither 0 nor 1")
    if in_call != (s.kind != NOT_A_CALL):
        refuse("it has an open call and none")
    if (s.value_mode != NO_VALUE) != (s.state == VALUE) and not s.error and not s.finished:
        refuse("it has an open call and none")
    for part in (s.role, s.channel, s.recipient, s.content_type):
        if part["at"] or part["n"]:
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
    if stack or o.in_string != in_string or o.escape > in_string or o.key > 1:
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
    if held.value.n and s.value_mode == NO_VALUE:
        refuse("it holds a value and has none")
    if held.value.n:
        try:
            piece(&held.value).decode()
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
