# Records as events: what a machine wrote without Python, and what Python sees of it.

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.cpython cimport Returned, incref, take_event
from harmonystream._native.core.types cimport Out, R_CONTENT, R_REASONING, Record
from harmonystream._native.stream.events cimport *


cdef class EventMaker:             # what a stream must remember for its next events
    # of the open message; None between messages
    cdef str open_role, open_channel, open_recipient, open_content_type
    cdef str empty_args            # the arguments of a complete call that wrote none
    cdef str end_reason            # of the StreamEnd

    @cython.final
    cdef tuple collect(self, const Out* out)
    @cython.final
    cdef tuple preview(self, const Out* out)
    @cython.final
    cdef object event_of(self, const Out* out, Py_ssize_t i)
    @cython.final
    cdef MessageStart message_start(self, const Out* out, const Record* r)
    @cython.final
    cdef MessageEnd message_end(self, const Record* r)


cdef inline object delta_event(EventMaker maker, uint8_t kind, int64_t index, str text, int64_t start, int64_t stop):
    """A delta of this kind. index: the open call's, for arguments."""
    if kind == R_CONTENT:
        return content_delta(text, maker.open_channel, start, stop)
    if kind == R_REASONING:
        return reasoning_delta(text, start, stop)
    return call_delta(index, text, start, stop)


cdef inline PyObject* refilled(EventMaker maker, Returned* returned, uint8_t kind, int64_t index, str text,
                               int64_t start, int64_t stop) except NULL:
    """A delta as above. Reuses an event that has no other reference, if there is one. The caller owns the delta."""
    cdef PyObject* event
    if kind == R_CONTENT:
        event = take_event(returned, ContentDelta)
        if event != NULL:
            fill_content(<ContentDelta>event, text, maker.open_channel, start, stop)
            return event
    elif kind == R_REASONING:
        event = take_event(returned, ReasoningDelta)
        if event != NULL:
            fill_reasoning(<ReasoningDelta>event, text, start, stop)
            return event
    else:
        event = take_event(returned, ToolCallDelta)
        if event != NULL:
            fill_call(<ToolCallDelta>event, index, text, start, stop)
            return event
    return incref(delta_event(maker, kind, index, text, start, stop))
