# A stream's state as bytes (Parser.to_bytes). A blob comes from outside: every field is checked against its range and
# against the others as far as memory and the counts depend on them, and what follows from others (sink, region, the
# shortcut) is not stored.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy, memset
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.fields cimport *
from harmonystream._native.core.json_scan cimport *
from harmonystream._native.harmony.header_words cimport span_begins
from harmonystream._native.harmony.message_transitions cimport route
from harmonystream._native.stream.program cimport Program
from harmonystream._native.tags.tag_snapshot cimport tags_pack, tags_unpack
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_incomplete

DEBUG = bool(DEBUG_BUILD)

cdef uint32_t MOST = 0x7FFFFFFF               # counts stop there
cdef int32_t MOST_CALLS = 1 << 30            # no stream has so many; leaves room for more
cdef int64_t HIGHEST = <int64_t>1 << 62      # no stream is longer; leaves room for sums

cdef enum:
    DEVIATION_SIZE = 9
    # bytes of a stream's fields, and of all that follows them at most
    FIELDS_SIZE = 15 * 8 + 2 * 4 + 7 + 8 * 2 + 17 + 2 * 4 + 3 * 2 + 8 + 1
    MOST_STATE = FIELDS_SIZE + DEVIATION_CAP * DEVIATION_SIZE + 3 + HOLD_CAP + HEADER_CAP + 32


cdef void walk(Stream* s, Fields* f) noexcept:
    """The fields of every stream."""
    cdef uint32_t calls = <uint32_t>s.calls
    cdef int64_t** longs = [&s.position, &s.attributed, &s.header_at, &s.header_text_at, &s.pending_at,
                            &s.pending_stop]
    cdef Span** spans = [&s.role, &s.channel, &s.recipient, &s.content_type]
    cdef uint8_t** bytes_ = [
        &s.state, &s.channel_code, &s.kind, &s.role_state, &s.marked, &s.phase, &s.extra, &s.announce, &s.terminated,
        &s.cut, &s.wrote, &s.input_mode, &s.finished, &s.strict, &s.n_pending, &s.n_held, &s.error]
    cdef int i
    for i in range(6):
        long_field(f, longs[i])
    for i in range(N_REGIONS):
        long_field(f, &s.usage[i])
    walk_json(&s.json, f)
    for i in range(4):
        short_field(f, &spans[i].at)
        short_field(f, &spans[i].n)
    for i in range(17):
        byte_field(f, bytes_[i])
    word_field(f, &s.deviations)
    word_field(f, &calls)
    s.calls = <int32_t>calls                                                 # check_numbers() refuses what is negative
    short_field(f, &s.header_n)
    short_field(f, &s.word_at)
    short_field(f, &s.prompt_n)
    long_field(f, &s.error_at)
    byte_field(f, &s.error_state)


cdef void walk_json(Json* j, Fields* f) noexcept:
    cdef int i
    cdef uint8_t** bytes_ = [&j.in_string, &j.escape, &j.stage, &j.broken, &j.scalar, &j.matched, &j.expect]
    word_field(f, <uint32_t*>&j.depth)
    long_field(f, &j.count)
    long_field(f, &j.end)
    word_field(f, &j.objects)
    for i in range(7):
        byte_field(f, bytes_[i])


cdef void walk_parts(Stream* s, Fields* f) noexcept:
    """The parts whose numbers are in other fields: deviations, and held bytes."""
    cdef int i
    for i in range(min(<int>s.deviations, DEVIATION_CAP)):
        byte_field(f, &s.deviation[i])
        long_field(f, &s.deviation_at[i])
    bytes_field(f, s.pending, s.n_pending)
    bytes_field(f, s.held, s.n_held)
    bytes_field(f, s.header, s.header_n)
    bytes_field(f, s.token_starts, (s.header_n + 7) // 8)


cdef bint state_put(Stream* s, const Held* held, bint tagged, Buffer* to) noexcept:
    """Appends the state. False without memory."""
    cdef Fields f
    if not buffer_room(to, MOST_STATE):
        return False
    f.p, f.n, f.at, f.writing, f.truncated = to.p + to.n, MOST_STATE, 0, True, False
    walk(s, &f)
    walk_parts(s, &f)
    to.n += f.at
    return not tagged or tags_pack(s, held, to)


cdef bytes state_pack(Stream* s, const Held* held, bint tagged):
    cdef Buffer made
    memset(&made, 0, sizeof(Buffer))
    try:
        if not state_put(s, held, tagged, &made):
            raise MemoryError()
        return PyBytes_FromStringAndSize(<const char*>made.p, made.n)
    finally:
        buffer_free(&made)


cdef int refuse(what) except -1:
    raise ValueError(f"not a usable parser state: {what}")


cdef int state_unpack(Stream* s, Held* held, Program program, const ToolTable* tools, const uint8_t* p,
                      Py_ssize_t n) except -1:
    """Fills a zeroed Stream; raises ValueError for anything that state_put() could not have written."""
    cdef Fields f
    cdef int i
    f.p, f.n, f.at, f.writing, f.truncated = <uint8_t*>p, n, 0, False, False
    walk(s, &f)
    if f.truncated:
        refuse("it is truncated")
    if not 0 <= s.calls < MOST_CALLS or s.deviations > MOST:
        refuse("a count is out of range")
    if s.n_pending > 3 or s.n_held > HOLD_CAP or s.header_n > HEADER_CAP:
        refuse("a buffer is larger than it can be")
    walk_parts(s, &f)
    if f.truncated or (f.at < f.n and program.tags == NULL):
        refuse("its length does not fit its content")
    for i in range(min(<int>s.deviations, DEVIATION_CAP)):
        if not 0 < s.deviation[i] < N_DEVIATIONS or not 0 <= s.deviation_at[i] <= s.position + f.n:
            refuse("a deviation is unknown")
    check_numbers(s, program.tags != NULL)
    check_flags(s)
    if program.tags != NULL:
        tags_unpack(s, held, program.tags, tools, &f)
        return 0
    check_messages(s)
    check_buffers(s, &program.tables)
    restore_derived(s)
    return 0


cdef int check_numbers(const Stream* s, bint slack) except -1:
    """slack: the events of a token may be incomplete."""
    cdef int64_t total = 0
    cdef int i
    if not 0 <= s.position < HIGHEST:
        refuse("its position is out of range")
    for i in range(N_REGIONS):
        if not 0 <= s.usage[i] <= s.position:
            refuse("its counts do not fit its position")
        total += s.usage[i]
    if total != s.position and not s.error:
        refuse("its counts do not add up to its position")
    if not 0 <= s.attributed <= s.position + slack or not 0 <= s.header_at <= s.header_text_at <= s.position:
        refuse("a position lies outside the stream")
    if s.n_pending and not 0 <= s.pending_at <= s.pending_stop <= s.position + slack:
        refuse("a position lies outside the stream")
    if not 0 <= s.json.depth <= s.json.count < HIGHEST or not -1 <= s.json.end <= s.json.count:
        refuse("its JSON scanner is in no possible state")
    return 0


cdef bint is_possible(const Json* j) noexcept:
    """Does what the grammar expects fit the brackets that are open, and the string?"""
    cdef uint32_t top
    if j.expect == E_INVALID:
        return True
    if j.in_string != (j.expect == E_IN_KEY or j.expect == E_IN_STRING) or j.depth > JSON_LEVELS:
        return False
    if j.depth == 0:
        return j.objects == 0 and (j.expect == E_OBJECT or j.expect == E_END)
    top = j.objects >> (j.depth - 1)
    if top > 1 or j.expect in (E_OBJECT, E_END) or E_INVALID < j.expect < E_NUMBER or j.expect > E_LAST:
        return False
    if j.expect in (E_FIRST_KEY, E_KEY, E_IN_KEY, E_COLON):
        return top == 1
    return j.expect != E_FIRST_ITEM or top == 0


cdef int check_flags(const Stream* s) except -1:
    if (s.json.in_string > 1 or s.json.escape > E_DIGITS * s.json.in_string or s.json.stage > 3 or s.json.broken > 1
            or s.json.matched > 5 or not is_possible(&s.json)):
        refuse("its JSON scanner is in no possible state")
    if (s.state >= N_STATES or s.channel_code > OTHER_CHANNEL or s.kind > OTHER_CALL
            or s.role_state > ROLE_IMPLIED or s.phase > 4 or s.input_mode > TEXT_MODE):
        refuse("a field is out of range")
    if max(s.marked, s.announce, s.wrote, s.finished, s.strict) > 1 or s.cut > s.finished or s.terminated > 2:
        refuse("a flag is neither 0 nor 1")
    if (s.error and (not s.strict or s.error > D_LAST_STRICT or s.error_state >= N_STATES
            or not 0 <= s.error_at < HIGHEST)):
        refuse("it has failed in a way that is not possible")
    return 0


cdef int check_messages(const Stream* s) except -1:
    """Harmony's states and messages."""
    if s.state > DONE:
        refuse("a field is out of range")
    if s.state != BODY and (s.announce or s.kind != NOT_A_CALL or s.n_pending):
        refuse("it has an open message and none")
    if s.kind != NOT_A_CALL and (s.role.n or s.recipient.n == 0):
        refuse("it has a call without a name")
    return 0


cdef int tokens_in_header(const Stream* s) noexcept:
    """Positions that the header takes at least."""
    cdef int i, n = 0
    for i in range(s.prompt_n, s.header_n):
        n += s.input_mode == TEXT_MODE or (s.token_starts[i >> 3] >> (i & 7)) & 1
    return n


cdef int check_buffers(const Stream* s, const Tables* t) except -1:
    cdef int k
    cdef bint found
    cdef const Span** spans = [&s.role, &s.channel, &s.recipient, &s.content_type]
    for k in range(4):
        if spans[k].at + spans[k].n > s.header_n:
            refuse("a name lies outside the header")
    if s.prompt_n > s.header_n or (s.word_at != NO_WORD and s.word_at >= s.header_n):
        refuse("a position lies outside the header")
    if s.state == HEADER and not s.error and (
            s.header_text_at + tokens_in_header(s) > s.position or tokens_in_header(s) > s.usage[IN_HEADER]):
        refuse("its header is longer than the stream")
    if s.header_n & 7 and s.token_starts[s.header_n >> 3] >> (s.header_n & 7):
        refuse("its header has more tokens than bytes")
    if s.kind != NOT_A_CALL and s.recipient.n == 10 and span_begins(s, s.recipient, b"functions."):
        refuse("it has a call without a name")
    if s.n_pending and not utf8_is_incomplete(s.pending, s.n_pending):
        refuse("its incomplete character is not the beginning of one")
    found = s.n_held == 0
    for k in range(1, N_MARKERS):
        if (s.input_mode == TEXT_MODE and s.n_held < t.spellings[k].n
                and memcmp(s.held, t.spellings[k].text, s.n_held) == 0):
            found = True
    if not found:
        refuse("it holds text that begins no marker")
    return 0


cdef void restore_derived(Stream* s) noexcept:
    if s.state == BODY:
        route(s)
        return
    s.sink = R_NONE
    s.region = IN_START if s.state == START else IN_HEADER if s.state == HEADER else IN_DONE


# --- the envelope: what the state belongs to --------------------------------------------------------------------------

VERSION = 4

cdef str USUAL_ARGS = "{}"
cdef bytes USUAL_BYTES = b"{}"

cdef enum:
    NAME_SIZE = 16                     # bytes of a format's name
    HEAD_SIZE = 4 + NAME_SIZE + 8 + 8 + 1 + 4 + 2 + 4 + 4


cdef void walk_head(Head* h, Fields* f) noexcept:
    h.vocab = field(f, h.vocab, 8)
    h.tools = field(f, h.tools, 8)
    byte_field(f, &h.no_trim)
    word_field(f, &h.max_hold)
    short_field(f, &h.n_args)
    word_field(f, &h.n_origin)
    word_field(f, &h.n_state)


cdef int blob_put(str format, Head* head, str empty_args, bytes origin, Stream* s, const Held* held, bint tagged,
                  bytes watched, Buffer* to) except -1:
    """Appends a blob. What of the head depends on the other arguments is filled in."""
    cdef Py_ssize_t begin = to.n, at, n
    cdef const char* name = PyUnicode_AsUTF8AndSize(format, &n)              # at most NAME_SIZE: see Program
    cdef bytes args = USUAL_BYTES if empty_args is USUAL_ARGS else empty_args.encode("utf-8", "surrogatepass")
    cdef Fields f
    if not buffer_room(to, HEAD_SIZE + len(args)):
        raise MemoryError()
    memset(to.p + begin, 0, HEAD_SIZE)
    memcpy(to.p + begin, b"HSP", 3)
    to.p[begin + 3] = VERSION
    memcpy(to.p + begin + 4, name, n)
    to.n += HEAD_SIZE
    put(to, args)
    if origin is not None:
        put(to, origin)
    at = to.n
    if not state_put(s, held, tagged, to):
        raise MemoryError()
    head.n_args, head.n_state = <uint16_t>len(args), <uint32_t>(to.n - at)
    head.n_origin = 0 if origin is None else <uint32_t>len(origin)
    f.p, f.n, f.at, f.writing, f.truncated = to.p + begin, HEAD_SIZE, 4 + NAME_SIZE, True, False
    walk_head(head, &f)
    put(to, watched)
    return 0


cdef int put(Buffer* to, bytes data) except -1:
    if not buffer_put(to, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)):
        raise MemoryError()
    return 0


cdef int blob_unpack(Blob* blob, const uint8_t* p, Py_ssize_t n) except -1:
    """What blob_put() wrote, as far as its head says. It points into these bytes."""
    cdef Fields f
    cdef Head* head = &blob.head
    f.p, f.n, f.at, f.writing, f.truncated = <uint8_t*>p, n, 4 + NAME_SIZE, False, False
    if n < HEAD_SIZE or memcmp(p, b"HSP", 3):
        raise ValueError("not a parser state: it does not begin like one, or is truncated")
    if p[3] != VERSION:
        raise ValueError(f"this parser state has version {p[3]}; this release reads version {VERSION}")
    walk_head(head, &f)
    blob.format, blob.args = p + 4, p + HEAD_SIZE
    blob.origin = blob.args + head.n_args
    blob.state = blob.origin + head.n_origin
    blob.watched = blob.state + head.n_state
    blob.n_watched = n - HEAD_SIZE - head.n_args - head.n_origin - head.n_state
    if blob.n_watched < 0 or head.no_trim > 1:
        refuse("its length does not fit its content")
    blob.n_format = NAME_SIZE
    while blob.n_format and blob.format[blob.n_format - 1] == 0:
        blob.n_format -= 1
    return 0


cdef str format_in(const Blob* blob):
    try:
        return (<const char*>blob.format)[:blob.n_format].decode("ascii")
    except UnicodeDecodeError:
        raise ValueError("not a usable parser state: a name is not text") from None


cdef str empty_args_in(const Blob* blob):
    if blob.head.n_args == 2 and memcmp(blob.args, b"{}", 2) == 0:
        return USUAL_ARGS
    try:
        return (<const char*>blob.args)[:blob.head.n_args].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ValueError("not a usable parser state: a name is not text") from None
