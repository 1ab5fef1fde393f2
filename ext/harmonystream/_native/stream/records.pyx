# What a machine wrote, record by record, as Python objects.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.stream.events cimport ToolCallEnd, ToolCallStart
from harmonystream._native.core.json_scan cimport json_balanced, json_reset, json_step
from harmonystream._native.core.types cimport Json, Out, Record
from harmonystream._native.core.utf8 cimport decoded, without_surrogates

DEBUG = bool(DEBUG_BUILD)

cdef tuple KINDS = (None, "function", "builtin", "other")
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


cdef ToolCallEnd call_end(const Record* r, str empty_args):
    cdef ToolCallEnd event = ToolCallEnd.__new__(ToolCallEnd)
    event.index, event.complete, event.balanced = r.index, r.flags & 1, (r.flags >> 1) & 1
    event.made = True
    if r.flags & 4:                                                          # it closed without a byte, and got empty_args
        event.balanced = is_balanced(empty_args)
    event.start, event.stop = r.start, r.stop
    return event


cdef bint is_balanced(str text):
    cdef Json json
    cdef bytes data = without_surrogates(text).encode()
    json_reset(&json)
    json_step(&json, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return json_balanced(&json)
