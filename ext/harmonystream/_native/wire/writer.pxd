# A writer of frames beside its verbs.

cimport cython
from libc.stdint cimport int64_t, uint8_t
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.tell cimport Entry, Writer
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.core.types cimport *


cdef class OpenWriter:
    cdef readonly Parser parser
    cdef bytes pending             # frames of a call that raised
    cdef Arguments arguments_through
    cdef Script script             # None: there is none, and Python tells everything
    cdef Writer w
    cdef bint has_own_ids          # the model has given a call an id
    cdef bint ends_plainly         # what ends the response is the script's, too
    cdef str end_word              # the API's reason, if it was
    cdef Buffer out

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
    cdef int replay(self, list events) except -1
    @cython.final
    cdef object replayed(self, const Entry* entry, const uint8_t* text, str delta)
    @cython.final
    cdef str text_of(self, int kind, Py_ssize_t begin, Py_ssize_t end)
    @cython.final
    cdef int keep_sent(self) except -1
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

cdef str sendable(str text)
cdef int64_t tokens_read(const Stream* s) noexcept nogil
