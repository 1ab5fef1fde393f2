# From bytes to records: the UTF-8 carry, and the merging of text into one delta per run. Everything here is inline and
# nogil.

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy
from harmonystream._native.core.buffer cimport buffer_put
from harmonystream._native.core.chars cimport are_ascii, has_control
from harmonystream._native.core.json_scan cimport E_BACKSLASH, json_balanced, json_step
from harmonystream._native.core.json_text cimport json_escape
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_continues, utf8_length, utf8_subpart


cdef inline void out_init(Out* o) noexcept nogil:
    o.records = o.inline_records
    o.text = o.inline_text
    o.labels = NULL
    o.held = NULL
    o.floor = 0
    o.n_records = o.n_text = 0
    o.cap_records = INLINE_RECORDS
    o.cap_text = INLINE_TEXT
    o.no_memory = False


cdef inline void out_free(Out* o) noexcept nogil:
    if o.records != o.inline_records:
        free(o.records)
    if o.text != o.inline_text:
        free(o.text)


cdef inline void* grown(void* block, void* inline_block, Py_ssize_t used, Py_ssize_t size) noexcept nogil:
    """`block` with room for `size` bytes, moved off the stack if needed. NULL without memory; the old block stays."""
    if block != inline_block:
        return realloc(block, size)
    cdef void* fresh = malloc(size)
    if fresh != NULL:
        memcpy(fresh, block, used)
    return fresh


cdef inline bint out_room(Out* o, Py_ssize_t n) noexcept nogil:
    """Room for n more bytes of text, and 16 to spare so that short tokens can be copied as one block."""
    cdef void* fresh
    cdef Py_ssize_t size
    if o.n_text + n + 16 <= o.cap_text:
        return True
    size = 2 * o.cap_text + n + 16
    fresh = grown(o.text, o.inline_text, o.n_text, size)
    if fresh == NULL:
        o.no_memory = True
        return False
    o.text = <uint8_t*>fresh
    o.cap_text = size
    return True


cdef inline Record* out_record(Out* o, uint8_t kind, int64_t start, int64_t stop) noexcept nogil:
    cdef void* fresh
    cdef Record* r
    if o.n_records == o.cap_records:
        fresh = grown(o.records, o.inline_records, o.n_records * sizeof(Record), 2 * o.cap_records * sizeof(Record))
        if fresh == NULL:
            o.no_memory = True
            return NULL
        o.records = <Record*>fresh
        o.cap_records *= 2
    r = &o.records[o.n_records]
    o.n_records += 1
    r.kind = kind
    r.flags = r.channel = 0
    r.n_id = 0
    r.index = 0
    r.start = start
    r.stop = stop
    r.at = o.n_text
    r.n = 0
    return r


cdef inline Record* delta_run(Stream* s, Out* o, int64_t start) noexcept nogil:
    """The record that the sink's next bytes extend: the open run, or a new one from `start`."""
    cdef Record* r
    if o.n_records > o.floor:
        r = &o.records[o.n_records - 1]
        if r.kind == s.sink:
            return r
    r = out_record(o, s.sink, start, start)
    if r != NULL:
        r.channel = s.channel_code
        r.index = s.calls
    return r


cdef inline void hold_value(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start,
                            int64_t stop) noexcept nogil:
    """Text of a value whose JSON is yet to be written."""
    if o.held.value.n == 0:
        s.tags.value_at = start
    s.tags.value_stop = stop
    if not buffer_put(&o.held.value, p, n):
        o.no_memory = True


cdef inline void put_ready(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start,
                           int64_t stop) noexcept nogil:
    """n bytes of valid UTF-8, from the tokens [start, stop), into the sink, as they are."""
    cdef Record* r
    if n == 0 or not out_room(o, n):
        return
    if start < s.attributed:
        start = s.attributed
    if stop < start:
        stop = start
    r = delta_run(s, o, start)
    if r == NULL:
        return
    memcpy(o.text + o.n_text, p, n)
    o.n_text += n
    r.n += n
    r.stop = stop
    s.attributed = stop
    if s.sink == R_ARGUMENTS:
        s.wrote = 1
        json_step(&s.json, p, n)


cdef inline Py_ssize_t first_control(const uint8_t* p, Py_ssize_t n) noexcept nogil:
    """The place of the first byte, other than quotes and backslashes, that a JSON string must escape; n: none."""
    cdef Py_ssize_t i = 0
    while i + 8 <= n and not has_control(p + i):
        i += 8
    while i < n and p[i] >= 0x20:
        i += 1
    return i


cdef inline void put_json(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start,
                          int64_t stop) noexcept nogil:
    """JSON that a model wrote: control bytes in its strings are escaped, and so is a backslash before one."""
    cdef uint8_t[8] escaped
    cdef Py_ssize_t i = 0, k, size
    while True:
        k = i + first_control(p + i, n - i)
        put_ready(s, o, p + i, k - i, start, stop)
        if k == n:
            return
        if s.json.in_string and not s.json.broken:
            escaped[0] = c'\\'
            size = s.json.escape == E_BACKSLASH
            size += json_escape(p + k, 1, escaped + size)
            put_ready(s, o, escaped, size, start, stop)
        else:
            put_ready(s, o, p + k, 1, start, stop)
        i = k + 1


cdef inline void put_text(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start,
                          int64_t stop) noexcept nogil:
    """n bytes of valid UTF-8, from the tokens [start, stop), into the sink."""
    if n == 0:
        return
    if s.value_mode:
        hold_value(s, o, p, n, start, stop)
        return
    if o.labels != NULL:
        # in formats with tags it finds the end of the arguments
        if s.sink == R_ARGUMENTS:
            s.wrote = 1
            json_step(&s.json, p, n)
        return
    if s.sink == R_ARGUMENTS and (s.state == RAW or s.state == WRAPPED) and first_control(p, n) < n:
        put_json(s, o, p, n, start, stop)
        return
    put_ready(s, o, p, n, start, stop)


cdef inline void note(Stream* s, uint8_t code, int64_t position) noexcept nogil:
    """A deviation: counted, the first ones kept, and in strict mode the end of the stream."""
    if s.deviations < DEVIATION_CAP:
        s.deviation[s.deviations] = code
        s.deviation_at[s.deviations] = position
    if s.deviations < 0x7FFFFFFF:
        s.deviations += 1
    if s.strict and code <= D_LAST_STRICT and not s.error:
        s.error = code
        s.error_at = position
        s.error_state = s.state


cdef inline bint plain_triple(const uint8_t* p) noexcept nogil:
    """A character of three bytes. Its first byte allows any continuation, as in most Chinese, Japanese and Korean."""
    return 0xE1 <= p[0] <= 0xEF and p[0] != 0xED and (p[1] & 0xC0) == 0x80 and (p[2] & 0xC0) == 0x80


cdef inline void put_replacement(Stream* s, Out* o, int64_t start, int64_t stop) noexcept nogil:
    if o.labels == NULL:
        note(s, D_INVALID_UTF8, start)
    put_text(s, o, b"\xef\xbf\xbd", 3, start, stop)


cdef inline void flush_pending(Stream* s, Out* o) noexcept nogil:
    """Writes one U+FFFD for a character that will not be completed."""
    if s.n_pending:
        s.n_pending = 0
        put_replacement(s, o, s.pending_at, s.pending_stop)


cdef inline void put_bytes(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t at, int step) noexcept nogil:
    """Any bytes into the sink, decoded. Byte i comes from token at + i * step: step 0 for the bytes of one token, 1 in
    text mode.
    """
    cdef Py_ssize_t i = 0, run = 0, k
    cdef int need
    while i < n:
        if s.n_pending:
            if utf8_continues(s.pending, s.n_pending, p[i]):
                s.pending[s.n_pending] = p[i]
                s.n_pending += 1
                s.pending_stop = at + i * step + 1
                i += 1
                if s.n_pending == utf8_length(s.pending[0]):
                    k = s.n_pending
                    s.n_pending = 0
                    put_text(s, o, s.pending, k, s.pending_at, s.pending_stop)
            else:
                flush_pending(s, o)
            run = i
            continue
        if p[i] < 0x80:
            while i + 8 <= n and are_ascii(p + i):
                i += 8
            while i < n and p[i] < 0x80:
                i += 1
            continue
        if i + 3 <= n and plain_triple(p + i):
            i += 3
            while i + 3 <= n and plain_triple(p + i):
                i += 3
            continue
        need = utf8_length(p[i])
        k = utf8_subpart(p + i, n - i)
        if need and k == need:
            i += k
            continue
        put_text(s, o, p + run, i - run, at + run * step, at + (i - 1) * step + 1)
        if need and i + k == n:
            memcpy(s.pending, p + i, k)
            s.n_pending = <uint8_t>k
            s.pending_at = at + i * step
            s.pending_stop = at + (n - 1) * step + 1
        else:
            put_replacement(s, o, at + i * step, at + (i + k - 1) * step + 1)
        i += k
        run = i
    put_text(s, o, p + run, n - run, at + run * step, at + (n - 1) * step + 1)


cdef inline void close_call(Stream* s, Out* o, int64_t at, bint complete) noexcept nogil:
    """The open call ends at `at`. Writes its end and counts it."""
    cdef Record* r
    cdef bint empty = complete and not s.wrote
    if o.labels == NULL:
        if empty:
            r = out_record(o, R_EMPTY_ARGUMENTS, at, at)
            if r != NULL:
                r.index = s.calls
        r = out_record(o, R_CALL_END, at, at)
        if r != NULL:
            r.index = s.calls
            r.flags = ((COMPLETE if complete else 0) | (BALANCED if json_balanced(&s.json) else 0)
                       | (WITHOUT_ARGUMENTS if empty else 0) | (0 if complete or s.cut else UNREADABLE))
    if complete:
        s.cut = 0
    if s.calls < 0x7FFFFFFF:
        s.calls += 1
    s.kind = NOT_A_CALL


cdef inline void put_span(const Stream* s, Out* o, Record* r, Span w, int k) noexcept nogil:
    """Part k of a message's header: its length goes into the slot, its bytes after the slots."""
    cdef uint16_t n = w.n
    memcpy(o.text + r.at + 2 * k, &n, 2)
    memcpy(o.text + o.n_text, s.header + w.at, n)
    o.n_text += n
    r.n += n


cdef inline bint put_message_start(Stream* s, Out* o, int64_t start, int64_t stop) noexcept nogil:
    """MessageStart, with room for a name after it. False: no events are wanted, or there is no memory."""
    cdef Record* r
    s.announce = 0
    if o.labels != NULL or not out_room(o, 8 + 5 * HEADER_CAP):
        return False
    r = out_record(o, R_MESSAGE_START, start, stop)
    if r == NULL:
        return False
    o.n_text += 8
    r.n = 8
    r.channel = s.channel_code
    put_span(s, o, r, s.role, 0)
    put_span(s, o, r, s.channel, 1)
    put_span(s, o, r, s.recipient, 2)
    put_span(s, o, r, s.content_type, 3)
    return True
