# The transitions of the Harmony machine. Only these functions assign `Stream.state` of a Harmony stream.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport *

cdef void begin_header(Stream* s, uint8_t role, int64_t at, int width) noexcept nogil
cdef void open_message(Stream* s, const Context* c, int64_t start, int64_t header_stop, int64_t stop) noexcept nogil
cdef void announce_message(Stream* s, Out* o, int64_t start, int64_t stop) noexcept nogil
cdef void close_message(Stream* s, const Context* c, int64_t at, int64_t stop, bint complete) noexcept nogil
cdef void enter_start(Stream* s) noexcept nogil
cdef void enter_done(Stream* s) noexcept nogil
cdef void end_stream(Stream* s) noexcept nogil
cdef void harmony_failed(Stream* s, const Context* c) noexcept nogil


cdef inline void route(Stream* s) noexcept nogil:
    """Where the open body goes: follows from the message's author, kind and channel."""
    if s.role.n:
        s.sink = R_NONE
        s.region = IN_SUPPRESSED
    elif s.kind != NOT_A_CALL:
        s.sink = R_ARGUMENTS
        s.region = IN_ARGUMENTS
    elif s.channel_code == ANALYSIS:
        s.sink = R_REASONING
        s.region = IN_REASONING
    else:
        s.sink = R_CONTENT
        s.region = IN_CONTENT
