# What a machine wrote, record by record, as events.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.stream.events cimport *
from harmonystream._native.core.json_scan cimport json_balanced, json_reset, json_step
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport decoded, without_surrogates

DEBUG = bool(DEBUG_BUILD)

cdef tuple KINDS = (None, "function", "builtin", "other")
cdef tuple CHANNELS = (None, "analysis", "commentary", "final")
cdef str ASSISTANT = "assistant"
cdef str JSON = "json"


cdef str header_part(const Out* o, const Record* r, int k):
    """Part k of a MessageStart record; None if the header has none."""
    cdef uint16_t n[4]
    cdef const uint8_t* p = o.text + r.at + 8
    cdef int i
    memcpy(n, o.text + r.at, 8)
    if n[k] == 0:
        return None
    for i in range(k):
        p += n[i]
    return JSON if n[k] == 4 and p[0] == c'j' and p[1] == c's' and p[2] == c'o' and p[3] == c'n' else decoded(p, n[k])


cdef ToolCallStart call_start(const Out* o, const Record* r):
    cdef ToolCallStart event = ToolCallStart.__new__(ToolCallStart)
    event.index, event.name, event.kind = r.index, decoded(o.text + r.at, r.n), <str>KINDS[r.flags]
    if r.n_id:
        event.id = decoded(o.text + r.at + r.n, r.n_id)
    event.start, event.stop = r.start, r.stop
    return event


cdef StreamEnd stream_end(const Record* r, str reason):
    cdef StreamEnd event = StreamEnd.__new__(StreamEnd)
    event.reason, event.start, event.stop, event.made = reason, r.start, r.stop, True
    return event


cdef ToolCallEnd call_end(const Record* r, str empty_args):
    cdef ToolCallEnd event = ToolCallEnd.__new__(ToolCallEnd)
    event.index, event.complete, event.balanced = r.index, r.flags & COMPLETE != 0, r.flags & BALANCED != 0
    event.made = True
    # it closed without a byte, and got empty_args
    if r.flags & WITHOUT_ARGUMENTS:
        event.balanced = is_balanced(empty_args)
    event.start, event.stop = r.start, r.stop
    return event


cdef bint is_balanced(str text):
    cdef Json json
    cdef bytes data = without_surrogates(text).encode()
    json_reset(&json)
    json_step(&json, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return json_balanced(&json)


@cython.no_gc
cdef class EventMaker:
    """Makes the events of one stream out of its records."""

    cdef tuple collect(self, const Out* out):
        """All records of one call, as events."""
        cdef Py_ssize_t i, n = 0
        cdef tuple events
        if out.n_records == 0:
            return ()
        for i in range(out.n_records):
            n += out.records[i].kind != R_EMPTY_ARGUMENTS or len(self.empty_args) > 0
        events = PyTuple_New(n)
        n = 0
        for i in range(out.n_records):
            if out.records[i].kind == R_EMPTY_ARGUMENTS and not self.empty_args:
                continue
            event = self.event_of(out, i)
            Py_INCREF(event)
            PyTuple_SET_ITEM(events, n, event)
            n += 1
        return events

    cdef tuple preview(self, const Out* out):
        """The events of these records, which are to be read once more."""
        cdef str role = self.open_role, channel = self.open_channel
        cdef str recipient = self.open_recipient, content_type = self.open_content_type
        cdef tuple events = self.collect(out)
        self.open_role, self.open_channel = role, channel
        self.open_recipient, self.open_content_type = recipient, content_type
        return events

    cdef object event_of(self, const Out* out, Py_ssize_t i):
        """Makes the event of the i-th record. Records must be read in order, because the deltas and the end of a
        message repeat fields of its start."""
        cdef const Record* r = &out.records[i]
        if r.kind <= R_ARGUMENTS:
            return delta_event(self, r.kind, r.index, decoded(out.text + r.at, r.n), r.start, r.stop)
        if r.kind == R_EMPTY_ARGUMENTS:
            return call_delta(r.index, self.empty_args, r.start, r.stop)
        if r.kind == R_MESSAGE_START:
            return self.message_start(out, r)
        if r.kind == R_MESSAGE_END:
            return self.message_end(r)
        if r.kind == R_CALL_START:
            return call_start(out, r)
        if r.kind == R_CALL_END:
            return call_end(r, self.empty_args)
        return stream_end(r, self.end_reason)

    cdef MessageStart message_start(self, const Out* out, const Record* r):
        cdef MessageStart event = MessageStart.__new__(MessageStart)
        role = header_part(out, r, 0)
        self.open_role = ASSISTANT if role is None else role
        self.open_channel = <str>CHANNELS[r.channel] if r.channel < OTHER_CHANNEL else header_part(out, r, 1)
        self.open_recipient = header_part(out, r, 2)
        self.open_content_type = header_part(out, r, 3)
        event.role, event.channel = self.open_role, self.open_channel
        event.recipient, event.content_type = self.open_recipient, self.open_content_type
        event.start, event.stop = r.start, r.stop
        return event

    cdef MessageEnd message_end(self, const Record* r):
        cdef MessageEnd event = MessageEnd.__new__(MessageEnd)
        event.role, event.channel = self.open_role, self.open_channel
        event.recipient, event.content_type = self.open_recipient, self.open_content_type
        event.start, event.stop = r.start, r.stop
        self.open_role = self.open_channel = self.open_recipient = self.open_content_type = None
        return event
