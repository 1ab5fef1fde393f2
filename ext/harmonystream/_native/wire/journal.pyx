# The journal of a writer: the records that its script has written and that Python does not know yet. Python reads it
# and describes them, when a caller asks for the whole response, or when a record comes that the script has no frame
# for.

import json

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memchr, memcpy
from harmonystream._native.core.buffer cimport buffer_put
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.out cimport out_free, out_init, out_record, out_room
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.wire.writer cimport *

DEBUG = bool(DEBUG_BUILD)


# --- written ---

cdef bint note(Written* t, const Record* r, const uint8_t* text) noexcept nogil:
    """Note a record, with its text."""
    cdef Entry entry
    cdef uint16_t n[4]
    entry.kind, entry.flags, entry.channel, entry.n_id = r.kind, r.flags, r.channel, r.n_id
    entry.index, entry.start, entry.stop, entry.at = r.index, r.start, r.stop, 0
    entry.n = 0
    if r.kind == R_MESSAGE_START:
        memcpy(n, text + r.at, 8)
        entry.n = 8 + n[0] + n[1] + n[2] + n[3]
    elif r.kind == R_CALL_START:
        entry.n = r.n + r.n_id
    return (buffer_put(&t.journal, <const uint8_t*>&entry, sizeof(Entry))
            and buffer_put(&t.journal, text + r.at, entry.n))


cdef bint note_run(Writer* w, uint8_t kind, Py_ssize_t at, bint goes_on) noexcept nogil:
    """Note that deltas of this kind begin, or go on, and where their text does in what is kept."""
    cdef Entry entry
    entry.kind, entry.flags, entry.channel, entry.n_id = kind, goes_on, 0, 0
    entry.index, entry.start, entry.stop, entry.at, entry.n = 0, 0, 0, at, 0
    return buffer_put(&w.written.journal, <const uint8_t*>&entry, sizeof(Entry))


cdef void forget_text(Written* t, uint8_t kind) noexcept nogil:
    """The text kept of this kind has been taken out. The text that follows begins at 0."""
    cdef Entry entry
    cdef Py_ssize_t at = 0
    if t.open == kind:
        t.item_at = 0
    while at < t.journal.n:
        memcpy(&entry, t.journal.p + at, sizeof(Entry))
        if entry.kind == kind:
            entry.at = 0
            memcpy(t.journal.p + at, &entry, sizeof(Entry))
        at += sizeof(Entry) + entry.n


# --- read ---

cdef int read_journal(Writer* w, Parser parser, list events) except -1:
    """Append the events of the journal. What is kept of their texts is taken out."""
    cdef Written* t = &w.written
    cdef Py_ssize_t[N_DELTAS] end
    cdef Entry entry
    cdef Py_ssize_t at = 0
    cdef list entries = []
    cdef dict texts = {}
    cdef int kind
    t.caught_up = True
    while at < t.journal.n:
        entries.append(at)
        memcpy(&entry, t.journal.p + at, sizeof(Entry))
        at += sizeof(Entry) + entry.n
    if t.open == R_ARGUMENTS and w.filtered:
        w.kept[<int>R_ARGUMENTS].n = t.item_at                           # the filter has it
        keep_sent(w)
    for kind in range(N_DELTAS):
        end[kind] = w.kept[kind].n
    for at in reversed(entries):
        memcpy(&entry, t.journal.p + at, sizeof(Entry))
        if entry.kind <= R_ARGUMENTS:
            begin = min(entry.at, end[entry.kind])
            texts[at] = text_of(&w.kept[entry.kind], begin, end[entry.kind])
            end[entry.kind] = begin
    for kind in range(N_DELTAS):
        w.kept[kind].n = 0 if kind == R_ARGUMENTS and t.script.filtered else end[kind]
    for at in entries:
        memcpy(&entry, t.journal.p + at, sizeof(Entry))
        if entry.kind == R_NONE:
            events.append(None)
        elif not entry.flags or entry.kind > R_ARGUMENTS or texts[at]:
            events.append(event_of(parser, &entry, t.journal.p + at + sizeof(Entry), texts.get(at)))
    return 0


cdef object event_of(Parser parser, const Entry* entry, const uint8_t* text, str delta):
    """The event of an entry of the journal."""
    cdef Out out
    cdef Record* r
    cdef bytes whole
    out_init(&out)
    whole = (<const char*>text)[:entry.n] if delta is None else delta.encode()
    try:
        if not out_room(&out, len(whole)):
            raise MemoryError()
        r = out_record(&out, entry.kind, entry.start, entry.stop)
        memcpy(out.text, PyBytes_AS_STRING(whole), len(whole))
        r.flags, r.channel, r.n_id, r.index = entry.flags, entry.channel, entry.n_id, entry.index
        r.n = len(whole) - entry.n_id
        return parser.event_of(&out, 0)
    finally:
        out_free(&out)


cdef int keep_sent(Writer* w) except -1:
    """What the filter has let through, with what is kept of arguments."""
    cdef Buffer* sent = &w.filter.sent
    if not put_escaped(&w.kept[<int>R_ARGUMENTS], sent.p, sent.n):
        raise MemoryError()
    return 0


cdef str text_of(const Buffer* escaped, Py_ssize_t begin, Py_ssize_t end):
    """A part of the inside of a JSON string, without the escapes."""
    cdef const char* p = <const char*>escaped.p
    if end <= begin:
        return ""
    if memchr(p + begin, c'\\', end - begin) == NULL:
        return p[begin:end].decode()
    return json.loads(b'"' + p[begin:end] + b'"')
