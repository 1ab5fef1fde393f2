# Writes deltas, JSON-escaped, into prepared SSE frames. Independent of the API.

cimport cython
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.wire.frame cimport Frame, Pieces
from harmonystream._native.wire.moving cimport MovingWriter
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.plain_piece cimport Piece
from harmonystream._native.core.types cimport *


cdef class SseWriter(MovingWriter):
    cdef bint watched
    cdef bint counted              # at the end: are the counts all that is said of the usage?
    cdef object usage              # otherwise this, as checked_usage() gives it
    cdef list frames               # by kind; what the writer points to

    @cython.final
    cdef bytes end_plainly(self, str reason, object usage)
    @cython.final
    cdef bint take_counts(self, object usage) except -1
    @cython.final
    cdef bytes feed_plain(self, Py_ssize_t tid)
    @cython.final
    cdef bytes piece(self, const Piece* piece)
    @cython.final
    cdef bytes frames_of(self, Out* out)
    @cython.final
    cdef bytes records(self, const Out* out, Py_ssize_t begin, Py_ssize_t end)
    @cython.final
    cdef int put_record(self, const Out* out, Py_ssize_t i) except -1
    @cython.final
    cdef int put_end(self) except -1
    @cython.final
    cdef int put_usage(self) except -1
    @cython.final
    cdef bint put_told(self, const Record* r, const uint8_t* text) except -1
    @cython.final
    cdef int put_python(self, uint8_t kind, object event, const uint8_t* text, Py_ssize_t n) except -1
    @cython.final
    cdef int set_frame(self, uint8_t kind, Frame frame) except -1
    @cython.final
    cdef bytes one_frame(self, uint8_t kind, const uint8_t* text, Py_ssize_t n, bint unescaped)
    @cython.final
    cdef bytes kept_frame(self, uint8_t kind, Py_ssize_t begin)
    @cython.final
    cdef int put_frame(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept
