# What stands inside a call (docs/tags.md, 5 and 6): the states PAIRS, VALUE, RAW, WRAPPED and AFTER.

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.tags.lookahead cimport Header, View
from harmonystream._native.core.types cimport Context, Stream

cdef bint step_pairs(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_value(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_raw(Stream* s, const Context* c, View* v) noexcept nogil
cdef void end_call(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil
cdef void open_key(Stream* s, const Context* c, View* v, const uint8_t* key, Py_ssize_t n, uint8_t typed) noexcept nogil
cdef void enter_text(Stream* s) noexcept nogil
cdef void drop_special(Stream* s, const Context* c, View* v) noexcept nogil
cdef void flush_value(Stream* s, const Context* c) noexcept nogil
