# The base of all emitters: one response, written as server-sent events. Independent of the API.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.plain_piece cimport Piece
from harmonystream._native.wire.template cimport Templates
from harmonystream._native.wire.writer cimport Writer


cdef class SseWriter:
    cdef readonly Parser parser
    cdef bytes pending             # frames of a call that raised
    cdef Templates templates       # owns what the writer points to
    cdef bytes text_opening        # the same
    cdef object through, next_through  # what the arguments of the open call pass, and those of the next one
    cdef Writer w
    cdef Buffer out
    cdef bint in_events            # events() is inside
    cdef bint asks_whole_calls         # Python decides more of calls than their ids
    cdef bint has_own_ids          # the model has given a call an id
    cdef bint inside               # another stream ends the response
    cdef bint ends_plainly         # the templates have all last frames
    cdef bint counted              # at the end: are the counts all of the usage?
    cdef object usage              # otherwise this, as checked_usage() gives it
    cdef str reason                # the parser's, at its end
    cdef str word                  # the API's

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
    cdef void break_off(self) noexcept
    @cython.final
    cdef int set_templates(self, Templates templates, tuple constants, int questions) except -1
    @cython.final
    cdef int put_constant(self, int k, str text, bint escaped) except -1
    @cython.final
    cdef int require_memory(self, bint done) except -1
    @cython.final
    cdef int put_raw(self, int value, str text) except -1
    @cython.final
    cdef int put_next_raw(self, int value, str text) except -1
    @cython.final
    cdef bytes taken(self)
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
    cdef int write(self, const Out* out, Py_ssize_t i) except -1
    @cython.final
    cdef int answer(self, const Out* out, Py_ssize_t i, const Record* r, const uint8_t* text) except -1
    @cython.final
    cdef int answer_call(self, const Out* out, Py_ssize_t i, const Record* r) except -1
    @cython.final
    cdef int answer_end(self) except -1
    @cython.final
    cdef int put_end(self) except -1
    @cython.final
    cdef int put_usage(self) except -1
    @cython.final
    cdef bytes one_frame(self, uint8_t kind, const uint8_t* text, Py_ssize_t n, bint unescaped)
