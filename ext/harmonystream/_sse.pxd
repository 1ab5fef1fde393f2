# JSON-escapes and frames text: knows no API.

cimport cython
from libc.stdint cimport int64_t, uint8_t
from harmonystream._arguments cimport Arguments
from harmonystream._parser cimport Parser
from harmonystream._types cimport Buffer, Out


@cython.final
cdef class Frame:
    cdef bytes holes
    cdef tuple parts
    cdef Py_ssize_t size           # of the parts
    cdef Py_ssize_t texts, numbers # holes of each kind
    cdef bint silent


cdef class SseWriter:
    cdef readonly Parser parser
    cdef bint watched
    cdef uint8_t stage
    cdef bytes pending             # frames of a call that raised
    cdef Frame reasoning_frame, content_frame, arguments_frame
    cdef Arguments arguments_through
    cdef int64_t number
    @cython.final
    cdef Buffer reasoning, content, arguments      # JSON-escaped, since the last take()
    cdef Buffer out
    cdef char busy                 # without the GIL: one thread at a time
    cdef unsigned long owner       # that one
    cdef int depth                 # of its calls

    @cython.final
    cdef bytes feed_plain(self, Py_ssize_t tid)
    @cython.final
    cdef int claim(self) except -1
    @cython.final
    cdef void leave(self) noexcept
    @cython.final
    cdef int check(self, uint8_t stage) except -1
    @cython.final
    cdef int break_off(self, tuple events) except -1
    @cython.final
    cdef int keep_out(self) except -1
    @cython.final
    cdef bytes framed(self, tuple events)
    @cython.final
    cdef bytes records(self, Out* out, Py_ssize_t begin, Py_ssize_t end)
    @cython.final
    cdef Frame frame_of(self, uint8_t kind)
    @cython.final
    cdef Buffer* kept(self, uint8_t kind) noexcept
    @cython.final
    cdef int put_other(self, object event) except -1
    @cython.final
    cdef bytes one_frame(self, uint8_t kind, Frame frame, const uint8_t* text, Py_ssize_t n, bint unescaped)
    @cython.final
    cdef int put_delta(self, uint8_t kind, Frame frame, str text) except -1
    @cython.final
    cdef int put_text(self, uint8_t kind, Frame frame, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept
