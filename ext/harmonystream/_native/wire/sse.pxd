# Writes deltas, JSON-escaped, into prepared SSE frames. Independent of the API.

cimport cython
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.frame cimport Frame, Pieces
from harmonystream._native.stream.parser cimport Parser, Piece
from harmonystream._native.core.types cimport *


cdef enum Stage:
    NEW, BYTES, DICTS, BROKEN, ENDED

cdef struct Writer:                # what a batch's step needs of one without the GIL; by kind of delta
    Buffer kept[N_DELTAS]          # the deltas' text, JSON-escaped, since the last _take()
    const Pieces* frames[N_DELTAS] # NULL: there is none
    bint filtered                  # argument deltas pass an Arguments first
    uint8_t stage
    int64_t number                 # the next frame's
    int depth                      # calls that are inside: a verb, and what its callback has called
    char busy                      # on a free-threaded Python: a thread is inside
    unsigned long owner            # that thread


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
    cdef int claim_alone(self) except -1
    @cython.final
    cdef void leave(self) noexcept
    @cython.final
    cdef int check(self, uint8_t stage) except -1
    @cython.final
    cdef int check_fresh(self) except -1
    @cython.final
    cdef bytes piece(self, const Piece* piece)
    @cython.final
    cdef bytes frames_of(self, Out* out)
    @cython.final
    cdef bytes records(self, const Out* out, Py_ssize_t begin, Py_ssize_t end)
    @cython.final
    cdef int put_record(self, const Out* out, Py_ssize_t i) except -1
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
    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept
