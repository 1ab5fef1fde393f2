# The states PAIRS and VALUE: keys and values (docs/tags.md, 5 and 6).

from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport Context, Out, Stream
from harmonystream._native.tags.view cimport View

cdef bint step_pairs(Stream* s, const Context* c, View* v) noexcept nogil
cdef bint step_value(Stream* s, const Context* c, View* v) noexcept nogil
cdef void open_key(Stream* s, const Context* c, View* v, const uint8_t* key, Py_ssize_t n, uint8_t typed) noexcept nogil
cdef void choose_mode(Stream* s, const Context* c, int types, uint8_t typed) noexcept nogil
cdef void write(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start, int64_t stop) noexcept nogil
cdef void write_key(Stream* s, Out* o, int64_t at) noexcept nogil
cdef void begin_value(Stream* s, const Context* c, int64_t at) noexcept nogil
cdef void close_value(Stream* s, const Context* c, int64_t at) noexcept nogil
cdef void write_escaped(Stream* s, Out* o, const uint8_t* p, Py_ssize_t n, int64_t start, int64_t stop) noexcept nogil
cdef void flush_value(Stream* s, const Context* c) noexcept nogil
