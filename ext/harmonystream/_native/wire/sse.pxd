# Writes deltas, JSON-escaped, into prepared SSE frames. Independent of the API.

cimport cython
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.plain_piece cimport Piece
from harmonystream._native.wire.frame cimport Frame
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.writer cimport Writer


cdef class SseWriter:
    cdef readonly Parser parser
    cdef bytes pending             # frames of a call that raised
    cdef Arguments arguments_through
    cdef Script script             # None: there is none, and Python writes everything
    cdef Writer w
    cdef bint has_own_ids          # the model has given a call an id
    cdef bint ends_plainly         # what ends the response is the script's, too
    cdef str end_word              # the API's reason, if it was
    cdef Buffer out

    cdef bint watched
    cdef bint counted              # at the end: are the counts all of the usage?
    cdef object usage              # otherwise this, as checked_usage() gives it
    cdef list frames               # by kind; what the writer points to

    @cython.final
    cdef int claim(self) except -1
    @cython.final
    cdef int claim_alone(self) except -1
    @cython.final
    cdef void leave(self) noexcept
    @cython.final
    cdef int check(self, uint8_t stage) except -1
    @cython.final
    cdef int take_parser(self) except -1
    @cython.final
    cdef int check_fresh(self) except -1
    @cython.final
    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1
    @cython.final
    cdef Arguments open_filter(self)
    @cython.final
    cdef void set_filter(self, Arguments filter) noexcept
    @cython.final
    cdef int hook(self, const Record* r, const uint8_t* text) except -1
    @cython.final
    cdef int decide_id(self, str own) except -1
    @cython.final
    cdef int put_hook(self, str text) except -1
    @cython.final
    cdef void drop_frames(self) noexcept
    @cython.final
    cdef void break_off(self) noexcept
    @cython.final
    cdef int set_script(self, Script script, tuple constants, bint asks_ids) except -1
    @cython.final
    cdef int put_constant(self, int k, str text, bint escaped) except -1
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
    cdef bint write_by_script(self, const Record* r, const uint8_t* text) except -1
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
