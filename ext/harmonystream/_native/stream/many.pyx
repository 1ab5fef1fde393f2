# parse() of many rows, into columns: the machine and what is kept of its records run without the GIL and make no object
# of Python.

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset, strlen
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_whole, utf8_repair
from harmonystream._native.stream.arrow_in cimport NO_ROOM, TAKEN, Rows, ids_at, is_null, is_text, text_at
from harmonystream._native.stream.machine cimport machine_finish, machine_ids, machine_text
from harmonystream._native.stream.program cimport NO_VOCAB
from harmonystream._native.stream.open_stream cimport context_of
from harmonystream._native.stream.parser cimport Parser

DEBUG = bool(DEBUG_BUILD)

cdef enum Reason:                      # of a row's end; from THEIRS on, the caller's own
    NO_REASON, TOOL_CALLS, STOPPED, THEIRS

cdef enum Note:
    FINE, NULL_ROW, NOT_AN_ID, BAD_PROMPT

cdef struct Table:                     # what has been read; each `..._at` has where an item ends, int64
    Buffer reasoning, reasoning_at, content, content_at
    Buffer calls_at, index, name, name_at, arguments, arguments_at, id, id_at, has_id, kind, complete, balanced
    Buffer reason, usage, deviations_at, code, position, note
    # messages: what their headers say, and where the texts and calls of each end in those of the row
    Buffer role, role_at, channel, channel_at, has_channel, recipient, recipient_at, has_recipient
    Buffer content_type, content_type_at, has_content_type, start, stop
    Buffer message_reasoning_at, message_content_at, message_calls_at, messages_at
    bint messages                      # they are wanted
    bint no_memory

FIELDS = ("reasoning", "reasoning_at", "content", "content_at", "calls_at", "index", "name", "name_at", "arguments",
          "arguments_at", "id", "id_at", "has_id", "kind", "complete", "balanced", "reason", "usage", "deviations_at",
          "code", "position", "note", "role", "role_at", "channel", "channel_at", "has_channel", "recipient",
          "recipient_at", "has_recipient", "content_type", "content_type_at", "has_content_type", "start", "stop",
          "message_reasoning_at", "message_content_at", "message_calls_at", "messages_at")

cdef enum:
    N_BUFFERS = 39


def read_rows(Parser parser not None, Rows rows not None, int64_t begin, int64_t stop, bytes reasons not None,
              bytes stopped not None, Rows prompts=None, int64_t prompt=0, bint messages=False):
    """Parse the rows begin .. stop, each with a copy of this parser, which has read nothing. Releases the GIL.

    reasons: for each row of the column (or one byte for all) the number of its reason, 0 for none; stopped: for each
    reason, is it a usual stop? prompts: what each row continues, from row `prompt` of that column on. messages: keep
    them. Returns the columns as bytes, in the order of FIELDS.
    """
    cdef Table table
    cdef Buffer* buffers = <Buffer*>&table
    cdef Parser own = parser.fork()
    cdef Openings openings
    cdef int i
    if not 0 <= begin <= stop <= rows.n or PyBytes_GET_SIZE(reasons) not in (1, rows.n):
        raise ValueError("these rows are not in the column, or the reasons are not one for each")
    if parser.program.vocab is NO_VOCAB and not (is_text(rows) and (prompts is None or is_text(prompts))):
        raise ValueError(f"ids need the model's vocabulary: parse_many(column, {parser.format!r}, vocab)")
    if reasons and max(reasons) >= len(stopped):
        raise ValueError(f"reason {max(reasons)} is not one of the {len(stopped)} that are given")
    openings = Openings(own, TEXT_MODE if is_text(rows) else ID_MODE, prompts, prompt, stop - begin)
    for i in range(N_BUFFERS):
        buffers[i].p = NULL
        buffers[i].n = buffers[i].cap = 0
    table.messages, table.no_memory = messages, False
    try:
        read_all(own, rows, begin, stop, openings, <const uint8_t*>PyBytes_AS_STRING(reasons),
                 PyBytes_GET_SIZE(reasons) == 1, <const uint8_t*>PyBytes_AS_STRING(stopped), &table)
        if table.no_memory:
            raise MemoryError()
        return tuple([PyBytes_FromStringAndSize(<const char*>buffers[i].p, buffers[i].n) for i in range(N_BUFFERS)])
    finally:
        for i in range(N_BUFFERS):
            buffer_free(&buffers[i])


@cython.final
cdef class Openings:
    """Where each row begins: at the usual place, or where its prompt leaves off. Equal prompts are read once."""
    cdef Buffer streams            # of Stream; the usual one first
    cdef Buffer which              # int32 for each row: its stream; -1: its prompt cannot be read. Empty: all the usual

    def __cinit__(self, Parser parser not None, uint8_t input_mode, Rows prompts, int64_t first, int64_t n):
        cdef dict known = {}
        cdef int32_t which
        cdef int64_t i
        self.add(parser, input_mode)
        if prompts is None:
            return
        if not 0 <= first <= first + n <= prompts.n:
            raise ValueError("these rows are not in the column of prompts")
        for i in range(first, first + n):
            which = 0
            if not is_null(prompts, i):
                given = value_of(prompts, i)
                if given not in known:
                    known[given] = self.add(started(parser, given, is_text(prompts)), input_mode)
                which = known[given]
            if not buffer_put(&self.which, <const uint8_t*>&which, sizeof(which)):
                raise MemoryError()

    def __dealloc__(self):
        buffer_free(&self.streams)
        buffer_free(&self.which)

    cdef int add(self, Parser parser, uint8_t input_mode) except -2:
        cdef Stream one
        if parser is None:
            return -1
        one = parser.s
        one.input_mode = input_mode
        if not buffer_put(&self.streams, <const uint8_t*>&one, sizeof(one)):
            raise MemoryError()
        return <int>(self.streams.n // <Py_ssize_t>sizeof(one)) - 1

    cdef bint open(self, Stream* s, int64_t i) noexcept nogil:
        """Begins row i. False: its prompt cannot be read."""
        cdef int32_t which = (<int32_t*>self.which.p)[i] if self.which.n else 0
        memcpy(s, <Stream*>self.streams.p + max(which, 0), sizeof(Stream))
        return which >= 0


cdef object value_of(Rows rows, int64_t i):
    """The bytes of a row's text, or of its ids (uint32); None: it cannot be read."""
    cdef const uint8_t* p = NULL
    cdef const uint32_t* ids = NULL
    cdef int64_t n = 0
    cdef Buffer narrow
    if is_text(rows):
        return PyBytes_FromStringAndSize(<const char*>p, n) if text_at(rows, i, &p, &n) else None
    narrow.p = NULL
    narrow.n = narrow.cap = 0
    taken = ids_at(rows, i, &narrow, &ids, &n)
    try:
        if taken == NO_ROOM:
            raise MemoryError()
        return PyBytes_FromStringAndSize(<const char*>ids, 4 * n) if taken == TAKEN else None
    finally:
        buffer_free(&narrow)


cdef Parser started(Parser parser, bytes given, bint is_text):
    """A parser that continues this prompt; None: no stream can."""
    if given is None:
        return None
    try:
        return Parser.__new__(Parser, parser.program, parser.program.vocab, tools=parser.tools, check_stops=False,
                              prompt=given if is_text else memoryview(given).cast("I"))
    except ValueError:
        return None


cdef int read_all(Parser own, Rows rows, int64_t begin, int64_t stop, Openings openings, const uint8_t* reasons,
                  bint one_reason, const uint8_t* stopped, Table* table) except -1:
    cdef Out out
    cdef Context c
    cdef Stream* s = &own.s
    cdef Buffer ids
    cdef int64_t i
    cdef bint opened
    ids.p = NULL
    ids.n = ids.cap = 0
    out_init(&out)
    c = context_of(own, &out)
    with nogil:
        for i in range(begin, stop):
            opened = openings.open(s, i - begin)
            own.held.input.n = own.held.marks.n = own.held.value.n = 0
            out.n_records = out.n_text = 0
            read_row(s, &c, rows, i, opened, reasons[0 if one_reason else i], stopped, &ids, table)
            if table.no_memory or out.no_memory:
                break
    table.no_memory = table.no_memory or out.no_memory
    buffer_free(&ids)
    out_free(&out)
    return 0


cdef void read_row(Stream* s, const Context* c, Rows rows, int64_t i, bint opened, uint8_t reason,
                   const uint8_t* stopped, Buffer* narrow, Table* t) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef const uint32_t* ids = NULL
    cdef int64_t n = 0
    cdef uint8_t note = FINE
    cdef int taken
    if is_null(rows, i):
        note = NULL_ROW
    elif not opened:
        note = BAD_PROMPT
    elif not is_text(rows):
        taken = ids_at(rows, i, narrow, &ids, &n)
        if taken == TAKEN:
            machine_ids(s, c, ids, n)
        t.no_memory = t.no_memory or taken == NO_ROOM
        note = FINE if taken == TAKEN else NOT_AN_ID
    elif text_at(rows, i, &p, &n):
        machine_text(s, c, p, n, False)
    else:                                                                    # another thread has written to the buffer
        note = NOT_AN_ID
    if note == FINE:
        machine_finish(s, c, stopped[reason], reason != 0)
        reason = reason_of(s, reason, stopped[reason])
        keep_records(c.out, t)
    else:
        reason = NO_REASON
    keep_row(s, note, reason, t)


cdef inline uint8_t reason_of(const Stream* s, uint8_t reason, bint stopped) noexcept nogil:
    """As Parser.finish() has it."""
    if reason and not stopped:
        return THEIRS + reason
    if s.calls and not s.cut:
        return TOOL_CALLS
    return STOPPED if stopped or s.terminated else NO_REASON


# --- what is kept ---

cdef inline void put(Table* t, Buffer* b, const void* p, Py_ssize_t n) noexcept nogil:
    if not buffer_put(b, <const uint8_t*>p, n):
        t.no_memory = True


cdef inline void put_byte(Table* t, Buffer* b, uint8_t value) noexcept nogil:
    put(t, b, &value, 1)


cdef inline void put_number(Table* t, Buffer* b, int64_t value) noexcept nogil:
    put(t, b, &value, 8)


cdef void put_name(Table* t, Buffer* b, const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """What came from a header, which may hold any bytes: U+FFFD for what is not UTF-8, as in events."""
    if utf8_is_whole(p, n):
        put(t, b, p, n)
    elif buffer_room(b, 3 * n):
        b.n += utf8_repair(p, n, b.p + b.n)
    else:
        t.no_memory = True


cdef const char* channel_name(uint8_t code) noexcept nogil:
    """Of a channel that Harmony knows; "" without one."""
    if code == ANALYSIS:
        return b"analysis"
    if code == COMMENTARY:
        return b"commentary"
    return b"final" if code == FINAL else b""


cdef inline void put_part(Table* t, Buffer* b, Buffer* ends, Buffer* has, const uint8_t* p,
                          Py_ssize_t n) noexcept nogil:
    """A part of a header; null if it is not written."""
    put_name(t, b, p, n)
    put_number(t, ends, b.n)
    put_byte(t, has, n != 0)


cdef void keep_message(const Out* o, const Record* opened, const Record* ended, Table* t) noexcept nogil:
    """A message that has ended. Its texts and calls are the last of the row so far."""
    cdef uint16_t[4] n
    cdef const uint8_t* p = o.text + opened.at + 8
    cdef const char* name = channel_name(opened.channel)
    memcpy(n, o.text + opened.at, 8)
    if n[0]:
        put_name(t, &t.role, p, n[0])
    else:
        put(t, &t.role, b"assistant", 9)
    put_number(t, &t.role_at, t.role.n)
    p += n[0]
    if opened.channel < OTHER_CHANNEL:
        put_part(t, &t.channel, &t.channel_at, &t.has_channel, <const uint8_t*>name, strlen(name))
    else:
        put_part(t, &t.channel, &t.channel_at, &t.has_channel, p, n[1])
    p += n[1]
    put_part(t, &t.recipient, &t.recipient_at, &t.has_recipient, p, n[2])
    put_part(t, &t.content_type, &t.content_type_at, &t.has_content_type, p + n[2], n[3])
    put_number(t, &t.start, opened.start)
    put_number(t, &t.stop, ended.stop)
    put_number(t, &t.message_reasoning_at, t.reasoning.n)
    put_number(t, &t.message_content_at, t.content.n)
    put_number(t, &t.message_calls_at, t.index.n // 4)


cdef void keep_records(const Out* o, Table* t) noexcept nogil:
    """The texts and the calls of a row."""
    cdef const Record* r
    cdef const Record* opened = NULL                                         # the start of the open message
    cdef const uint8_t* p
    cdef Py_ssize_t i
    for i in range(o.n_records):
        r = &o.records[i]
        p = o.text + r.at
        if r.kind == R_CONTENT:
            put(t, &t.content, p, r.n)
        elif r.kind == R_REASONING:
            put(t, &t.reasoning, p, r.n)
        elif r.kind == R_ARGUMENTS:
            put(t, &t.arguments, p, r.n)
        elif r.kind == R_EMPTY_ARGUMENTS:
            put(t, &t.arguments, b"{}", 2)
        elif r.kind == R_CALL_START:
            put(t, &t.index, &r.index, 4)
            put_name(t, &t.name, p, r.n)
            put_number(t, &t.name_at, t.name.n)
            put_name(t, &t.id, p + r.n, r.n_id)
            put_number(t, &t.id_at, t.id.n)
            put_byte(t, &t.has_id, r.n_id != 0)
            put_byte(t, &t.kind, r.flags)
        elif r.kind == R_CALL_END:
            put_number(t, &t.arguments_at, t.arguments.n)
            put_byte(t, &t.complete, r.flags & COMPLETE != 0)
            put_byte(t, &t.balanced, r.flags & (BALANCED | WITHOUT_ARGUMENTS) != 0)      # "{}" is balanced
        elif t.messages and r.kind == R_MESSAGE_START:
            opened = r
        elif t.messages and r.kind == R_MESSAGE_END and opened != NULL:
            keep_message(o, opened, r, t)


cdef void keep_row(const Stream* s, uint8_t note, uint8_t reason, Table* t) noexcept nogil:
    cdef int i, kept = min(<int>s.deviations, DEVIATION_CAP) if note == FINE else 0
    for i in range(kept):
        put_byte(t, &t.code, s.deviation[i])
        put_number(t, &t.position, s.deviation_at[i])
    for i in range(N_REGIONS):
        put_number(t, &t.usage, s.usage[i])
    put_number(t, &t.reasoning_at, t.reasoning.n)
    put_number(t, &t.content_at, t.content.n)
    put_number(t, &t.calls_at, t.index.n // 4)
    put_number(t, &t.messages_at, t.start.n // 8)
    put_number(t, &t.deviations_at, t.code.n)
    put_byte(t, &t.reason, reason)
    put_byte(t, &t.note, note)


# --- columns from the pieces of several threads ---

def joined_ends(list pieces not None):
    """Ends (int64) that each count from their own piece, as Arrow's offsets of all: one more, and from 0.

    pieces: pairs of the ends and the number that the piece adds, as bytes and int.
    """
    cdef int64_t base = 0, k
    cdef Py_ssize_t at = 8
    cdef bytes made = PyBytes_FromStringAndSize(NULL, 8 + sum([len(ends) for ends, _ in pieces]))
    cdef char* to = PyBytes_AS_STRING(made)
    cdef const char* p
    cdef int64_t value = 0
    memcpy(to, &value, 8)
    for ends, size in pieces:
        p = PyBytes_AS_STRING(ends)
        for k in range(len(ends) // 8):
            memcpy(&value, p + 8 * k, 8)
            value += base
            memcpy(to + at, &value, 8)
            at += 8
        base += <int64_t>size
    return made


def column_of(bytes rows not None, int64_t k, int64_t n):
    """Column k of rows of n numbers (int64) each."""
    cdef int64_t count = PyBytes_GET_SIZE(rows) // (8 * n), i
    cdef bytes made = PyBytes_FromStringAndSize(NULL, 8 * count)
    cdef int64_t* to = <int64_t*>PyBytes_AS_STRING(made)
    cdef const int64_t* p = <const int64_t*>PyBytes_AS_STRING(rows)
    for i in range(count):
        to[i] = p[i * n + k]
    return made


def bits(bytes flags not None, uint8_t zero=0):
    """A bitmap of the bytes that differ from `zero`, and the number of those that equal it."""
    cdef Py_ssize_t n = PyBytes_GET_SIZE(flags), i, missing = 0
    cdef bytes made = PyBytes_FromStringAndSize(NULL, (n + 7) // 8)
    cdef uint8_t* to = <uint8_t*>PyBytes_AS_STRING(made)
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(flags)
    memset(to, 0, (n + 7) // 8)
    for i in range(n):
        if p[i] != zero:
            to[i >> 3] |= <uint8_t>(1 << (i & 7))
        else:
            missing += 1
    return made, missing


def named(bytes codes not None, list names not None):
    """Codes as strings: Arrow's offsets (int64) and the text. names: bytes for each code."""
    cdef Py_ssize_t n = PyBytes_GET_SIZE(codes), i
    cdef bytes offsets = PyBytes_FromStringAndSize(NULL, 8 * (n + 1))
    cdef int64_t* to = <int64_t*>PyBytes_AS_STRING(offsets)
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(codes)
    to[0] = 0
    for i in range(n):
        to[i + 1] = to[i] + PyBytes_GET_SIZE(<bytes>names[p[i]])
    return offsets, b"".join([names[code] for code in codes])
