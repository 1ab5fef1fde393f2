# The events: final, immutable, and made without __init__ by the parser.

from libc.stdint cimport int64_t
cimport cython


@cython.final
cdef class MessageStart:
    cdef readonly str role, channel, recipient, content_type
    cdef readonly int64_t start, stop


@cython.final
cdef class MessageEnd:
    cdef readonly str role, channel, recipient, content_type
    cdef readonly int64_t start, stop


@cython.final
cdef class ReasoningDelta:
    cdef readonly str text
    cdef readonly int64_t start, stop


@cython.final
cdef class ContentDelta:
    cdef readonly str text, channel
    cdef readonly int64_t start, stop


@cython.final
cdef class ToolCallStart:
    cdef readonly int64_t index
    cdef readonly str name, id, kind
    cdef readonly int64_t start, stop


@cython.final
cdef class ToolCallDelta:
    cdef readonly str arguments
    cdef readonly int64_t index, start, stop


@cython.final
cdef class ToolCallEnd:
    cdef readonly int64_t index
    cdef readonly bint complete, balanced
    cdef readonly int64_t start, stop
    cdef bint made                 # __init__ has run


@cython.final
cdef class ValueStart:
    cdef readonly int64_t index
    cdef readonly tuple path
    cdef readonly int64_t start, stop


@cython.final
cdef class ValueDelta:
    cdef readonly int64_t index
    cdef readonly tuple path
    cdef readonly str text
    cdef readonly int64_t start, stop


@cython.final
cdef class ValueEnd:
    cdef readonly int64_t index
    cdef readonly tuple path
    cdef readonly bint complete
    cdef readonly int64_t start, stop


@cython.final
cdef class StreamEnd:
    cdef readonly str reason
    cdef readonly int64_t start, stop
    cdef bint made


cdef inline void fill_content(ContentDelta event, str text, str channel, int64_t start, int64_t stop) noexcept:
    event.text, event.channel, event.start, event.stop = text, channel, start, stop


cdef inline void fill_reasoning(ReasoningDelta event, str text, int64_t start, int64_t stop) noexcept:
    event.text, event.start, event.stop = text, start, stop


cdef inline void fill_call(ToolCallDelta event, int64_t index, str arguments, int64_t start, int64_t stop) noexcept:
    event.index, event.arguments, event.start, event.stop = index, arguments, start, stop


cdef inline ContentDelta content_delta(str text, str channel, int64_t start, int64_t stop):
    cdef ContentDelta event = ContentDelta.__new__(ContentDelta)
    fill_content(event, text, channel, start, stop)
    return event


cdef inline ReasoningDelta reasoning_delta(str text, int64_t start, int64_t stop):
    cdef ReasoningDelta event = ReasoningDelta.__new__(ReasoningDelta)
    fill_reasoning(event, text, start, stop)
    return event


cdef inline ToolCallDelta call_delta(int64_t index, str arguments, int64_t start, int64_t stop):
    cdef ToolCallDelta event = ToolCallDelta.__new__(ToolCallDelta)
    fill_call(event, index, arguments, start, stop)
    return event
