# JSON-escapes and frames text: knows no API.

cimport cython
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.frame cimport Frame, Pieces
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.core.types cimport Buffer, Out


cdef enum Stage:
    NEW, BYTES, DICTS, BROKEN, ENDED

cdef struct Writer:                # what a batch's step needs of one without the GIL; by kind of delta
    Buffer kept[4]                 # JSON-escaped, since the last _take()
    const Pieces* frames[4]        # NULL: there is none
    bint through                   # arguments are let through, or not, by Arguments
    uint8_t stage
    int64_t number                 # the next frame's
    int depth                      # of calls that are inside
    char busy                      # without the GIL: one thread at a time
    unsigned long owner            # that one


cdef class SseWriter:
    cdef readonly Parser parser
    cdef bint watched
    cdef bytes pending             # frames of a call that raised
    cdef list frames               # by kind; what the writer points to
    cdef Arguments arguments_through
    cdef Writer w
    cdef Buffer out

    @cython.final
    cdef bytes feed_plain(self, Py_ssize_t tid)
    @cython.final
    cdef int claim(self) except -1
    @cython.final
    cdef void leave(self) noexcept
    @cython.final
    cdef int check(self, uint8_t stage) except -1
    @cython.final
    cdef int check_fresh(self) except -1
    @cython.final
    cdef int break_off(self, tuple events) except -1
    @cython.final
    cdef int keep_out(self) except -1
    @cython.final
    cdef bytes framed(self, tuple events)
    @cython.final
    cdef bytes records(self, Out* out, Py_ssize_t begin, Py_ssize_t end)
    @cython.final
    cdef int put_other(self, object event) except -1
    @cython.final
    cdef bytes one_frame(self, uint8_t kind, const uint8_t* text, Py_ssize_t n, bint unescaped)
    @cython.final
    cdef bytes kept_frame(self, uint8_t kind, Py_ssize_t begin)
    @cython.final
    cdef int put_delta(self, uint8_t kind, str text) except -1
    @cython.final
    cdef int put_frame(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept
