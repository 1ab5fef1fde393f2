# The tag machine's memory as bytes. They follow the rest of the state (stream/snapshot.pyx). In a blob from outside,
# every index and every length is checked. Fields that follow from the state are not in the blob, but derived from it.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.fields cimport *
from harmonystream._native.tags.call_object cimport KEYS_ARE_NAMES, X_OVER
from harmonystream._native.tags.cdata cimport IN_CDATA, NO_CDATA
from harmonystream._native.tags.element_path cimport is_path
from harmonystream._native.tags.python_look cimport P_ARGUMENT, P_COLON, P_ITEM, P_KEY, P_NOISE, P_OBJECT, P_STRING
from harmonystream._native.core.utf8 cimport utf8_is_incomplete
from harmonystream._native.core.types cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    N_BYTES = 22
    SCAN_SIZE = 4 + 2 + 10
    CALL_SIZE = SCAN_SIZE + 2 + 14                         # of the largest CallState: WrappedCall
    FIXED_SIZE = 6 * 8 + 2 * 4 + SCAN_SIZE + 4 + N_BYTES + CALL_SIZE + 3 * 4


cdef void walk(Stream* s, uint8_t* special, uint32_t* n, Fields* f) noexcept:
    """The fields, and how many bytes there are of input, marks and value."""
    cdef Tags* g = &s.tags
    cdef int64_t** longs = [&g.newlines, &g.newline_at, &g.newline_stop, &g.value_at, &g.value_stop, &g.probed]
    cdef uint8_t** bytes_ = [
        &g.reasoning, &g.answer, &g.seam, &g.in_section, &s.trim, special,
        &g.mentions, &g.think_mentions, &g.fence, &g.ticks, &g.lead, &s.spoken, &s.parted,
        &g.code, &g.at_start, &g.line_start, &g.array, &g.pairs, &g.unread, &s.value_mode,
        &g.name_nth, &g.name_inner]
    cdef int i
    for i in range(6):
        long_field(f, longs[i])
    word_field(f, <uint32_t*>&g.name_at)
    word_field(f, <uint32_t*>&g.id_at)
    walk_scan(&g.probe, f)
    word_field(f, <uint32_t*>&g.tool)
    for i in range(N_BYTES):
        byte_field(f, bytes_[i])
    if s.state == PAIRS or s.state == VALUE:
        walk_tagged(&g.call.tagged, f)
    elif s.state == RAW:
        walk_raw(&g.call.raw, f)
    elif s.state == WRAPPED:
        walk_wrapped(&g.call.wrapped, f)
    elif s.state == PYTHON:
        walk_python(&g.call.python, f)
    for i in range(3):
        word_field(f, &n[i])


cdef void walk_tagged(TaggedCall* call, Fields* f) noexcept:
    cdef int i
    cdef uint8_t** bytes_ = [&call.types, &call.untyped_json, &call.may_wrap, &call.own_mode, &call.begun,
                             &call.opener_due, &call.fresh, &call.layout, &call.cdata, &call.quotes_pair, &call.paired]
    long_field(f, <int64_t*>&call.path)
    for i in range(11):
        byte_field(f, bytes_[i])


cdef void walk_raw(RawCall* call, Fields* f) noexcept:
    byte_field(f, &call.fence)
    byte_field(f, &call.begun)
    byte_field(f, &call.ends)
    byte_field(f, &call.quoted_call)


cdef void walk_wrapped(WrappedCall* call, Fields* f) noexcept:
    walk_scan(&call.object, f)
    short_field(f, &call.surrogate)
    byte_field(f, &call.passing)
    byte_field(f, &call.members)
    byte_field(f, &call.escape_n)
    bytes_field(f, call.escape, 5)
    byte_field(f, &call.name_nth)
    byte_field(f, &call.name_inner)
    byte_field(f, &call.name_open)
    byte_field(f, &call.arguments_found)
    byte_field(f, &call.ends)
    byte_field(f, &call.quoted_call)


cdef void walk_python(PythonCall* call, Fields* f) noexcept:
    cdef int i
    cdef uint8_t** bytes_ = [&call.expect, &call.spread, &call.named_only, &call.in_key, &call.quote, &call.n_quotes,
                             &call.raw, &call.quote_in_text, &call.after_bracket, &call.vague, &call.text_bracket,
                             &call.comma_due, &call.quoted_call]
    long_field(f, <int64_t*>&call.brackets)
    word_field(f, <uint32_t*>&call.depth)
    short_field(f, &call.arguments)
    word_field(f, &call.sets)
    for i in range(13):
        byte_field(f, bytes_[i])


cdef void walk_scan(ObjectScan* o, Fields* f) noexcept:
    cdef int i
    cdef uint8_t** bytes_ = [&o.in_string, &o.escape, &o.expect, &o.key, &o.key_n, &o.stray, &o.keys, &o.nth,
                             &o.inner, &o.python]
    word_field(f, <uint32_t*>&o.depth)
    short_field(f, &o.named)
    for i in range(10):
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
    """Is there a control id in what is held? The flag `special` is cleared later than the bytes are."""
    cdef Py_ssize_t i
    for i in range(marks.n):
        if marks.p[i] & (BEGINS_CONTROL | INERT_ID | NAMED_ID):
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
    memset(&s.tags.call, 0, sizeof(CallState))
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
    cdef const Span** parts = [&s.role, &s.channel, &s.recipient, &s.content_type]
    cdef uint8_t* flags = [
        g.reasoning, g.answer, g.in_section, s.trim, g.special, g.at_start, g.lead, g.array, g.pairs, g.unread]
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
    check_scan(&g.probe, s, held)
    if s.state == PAIRS or s.state == VALUE:
        check_tagged(&g.call.tagged, row)
    elif s.state == RAW:
        check_raw(&g.call.raw)
    elif s.state == WRAPPED:
        check_scan(&g.call.wrapped.object, s, held)
        check_wrapped(&g.call.wrapped)
    elif s.state == PYTHON:
        check_python(&g.call.python, row)
    if row.has_element and s.state != WRAPPED and not s.finished and not s.error and not is_path(s):
        refuse("its names are not those of open elements")
    if (s.value_mode > HELD or g.code > EXAMPLE or g.line_start > LINE_BLANK
            or s.spoken & ~((1 << R_REASONING) | (1 << R_CONTENT)) or s.parted & ~s.spoken or g.seam > SPLIT):
        refuse("a field is out of range")
    if not -1 <= g.tool < max(0, tools.n) or (g.code != NO_CODE) != (g.fence > 2):
        refuse("a field is out of range")
    for i in range(10):
        if flags[i] > 1:
            refuse("a flag is neither 0 nor 1")
    if in_call != (s.kind != NOT_A_CALL):
        refuse("it has an open call and none")
    in_value = s.state == VALUE or (s.state == WRAPPED and g.call.wrapped.passing in (PASS_MEMBER, PASS_PYTHON))
    if (s.value_mode != NO_VALUE) != in_value and not s.error and not s.finished:
        refuse("it has an open call and none")
    for i in range(4):
        if parts[i].at or parts[i].n:
            refuse("it has a message header")
    if s.channel_code:
        refuse("it has a message header")
    return 0


cdef int check_scan(const ObjectScan* scan, const Stream* s, const Held* held) except -1:
    if (scan.depth < 0 or scan.expect > X_OVER or scan.python > 1 or scan.stray > 1 or scan.keys > KEYS_ARE_NAMES
            or scan.in_string and scan.in_string != c'"' and not (scan.in_string == c"'" and scan.python)
            or scan.depth > s.position + held.input.n + (1 << 20)):
        refuse("its JSON scanner is in no possible state")
    return 0


cdef int check_tagged(const TaggedCall* call, const TagTable* row) except -1:
    if (call.types > 127 or call.own_mode > HELD or call.cdata > (IN_CDATA if row.roles[CDATA_OPEN] else NO_CDATA)
            or (call.may_wrap != 0) != (call.own_mode != NO_VALUE)):
        refuse("a field is out of range")
    if max(call.untyped_json, call.may_wrap, call.begun, call.opener_due, call.fresh, call.layout, call.quotes_pair,
           call.paired) > 1 or (call.path and not row.has_element):
        refuse("a flag is neither 0 nor 1")
    return 0


cdef int check_raw(const RawCall* call) except -1:
    if call.fence > FENCED or call.ends > NEWLINE + BRACKET + EXPECTS or max(call.begun, call.quoted_call) > 1:
        refuse("a field is out of range")
    return 0


cdef int check_wrapped(const WrappedCall* call) except -1:
    if (call.passing > PASS_PYTHON or call.members > TOO_MANY_MEMBERS
            or max(call.name_open, call.arguments_found, call.quoted_call) > 1
            or call.ends > NEWLINE + BRACKET + EXPECTS
            or call.escape_n > (4 if call.passing == PASS_SCALAR else 5)
            or (call.surrogate and not 0xD800 <= call.surrogate < 0xDC00)):
        refuse("a field is out of range")
    return 0


cdef int check_python(const PythonCall* call, const TagTable* row) except -1:
    """Brackets and quotes fit what is expected after them."""
    cdef uint64_t stack = call.brackets
    cdef uint32_t sets = call.sets
    cdef bint in_object = stack & 3 == P_OBJECT and not sets & 1, in_string = call.expect == P_STRING
    cdef bint last_is_object = False
    while stack & 3 and not (sets & 1 and (stack & 3 != P_OBJECT or row.bare_keys)):
        last_is_object = stack & 3 == P_OBJECT and not sets & 1
        stack >>= 2
        sets >>= 1
    if (stack or sets or call.spread > (last_is_object and not row.bare_keys) or call.depth < 0
            or call.expect > P_NOISE or (call.n_quotes != 0) != in_string or call.raw > in_string
            or max(call.in_key, call.named_only, call.quote_in_text, call.after_bracket, call.vague, call.text_bracket,
                   call.comma_due, call.quoted_call) > 1):
        refuse("its Python scanner is in no possible state")
    own = in_string and call.quote == 0 and row.roles[QUOTE] != 0 and call.n_quotes == 1 and not call.raw
    if in_string and not own and (
            (call.quote != c'"' and call.quote != c"'" and not (call.quote == c'`' and row.bare_keys))
            or (call.n_quotes != 1 and call.n_quotes != 3)):
        refuse("its Python scanner is in no possible state")
    if (call.expect == P_ARGUMENT and call.brackets) or (
            call.expect == P_ITEM and (in_object or not call.brackets)) or (
            call.expect in (P_KEY, P_COLON) and not in_object) or (call.in_key and not in_object):
        refuse("its Python scanner is in no possible state")
    return 0


cdef int check_held(Stream* s, const Held* held) except -1:
    """Marks are as many as bytes, and say only what a mark can."""
    cdef Py_ssize_t i
    if held.marks.n != (held.input.n if s.input_mode == ID_MODE else 0) or (held.input.n and not s.input_mode):
        refuse("its held input is in no possible state")
    for i in range(held.marks.n):
        if held.marks.p[i] > 31 or (held.marks.p[i] & (BEGINS_CONTROL | NAMED_ID)
                                    and held.marks.p[i] & ~BEGINS_TOKEN not in (BEGINS_CONTROL, NAMED_ID)):
            refuse("its held input is in no possible state")
    if s.tags.special != has_special(&held.marks):
        refuse("its held input is in no possible state")
    if held.value.n and s.value_mode == NO_VALUE and s.state != WRAPPED:
        refuse("it holds a value, and no value is open")
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
