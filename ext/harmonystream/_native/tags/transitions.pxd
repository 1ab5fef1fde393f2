# The transitions of the tag machine. Only these functions assign `Stream.state` of a tag format.

from libc.stdint cimport int64_t
from harmonystream._native.core.types cimport Context, Stream
from harmonystream._native.tags.lookahead cimport CallHeader

cdef void enter_text(Stream* s) noexcept nogil
cdef void enter_section(Stream* s) noexcept nogil
cdef void open_call(Stream* s, const CallHeader* h, bint ends_reasoning) noexcept nogil
cdef void open_value(Stream* s) noexcept nogil
cdef void leave_value(Stream* s) noexcept nogil
cdef void turn_raw(Stream* s) noexcept nogil
cdef void end_call(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil
cdef void end_wrapped(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil
cdef void end_turn(Stream* s) noexcept nogil
cdef void tags_failed(Stream* s, const Context* c) noexcept nogil
