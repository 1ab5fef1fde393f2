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
    cdef readonly int64_t index
    cdef readonly str arguments
    cdef readonly int64_t start, stop


@cython.final
cdef class ToolCallEnd:
    cdef readonly int64_t index
    cdef readonly bint complete, balanced
    cdef readonly int64_t start, stop


@cython.final
cdef class StreamEnd:
    cdef readonly str reason
    cdef readonly int64_t start, stop
