# One stream: the Python face of a machine.

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._program cimport Program
from harmonystream._events cimport MessageEnd, MessageStart
from harmonystream._tools cimport Tools
from harmonystream._types cimport Context, Held, Out, Record, Stream


@cython.final
cdef class Parser:
    cdef Stream s
    cdef Held held                 # tag formats: input and values that are not yet decided
    cdef char busy                 # a call is in progress: see claim()
    cdef PyObject* last            # the tuple of one event that feed() returned last: see single()
    cdef Program program
    cdef Tools tools
    cdef list strings              # the program's cache of id -> str
    cdef str open_role, open_channel, open_recipient, open_content_type
    cdef str empty_args, trim
    cdef bytes origin              # the state to reset to; None: fresh, inside the assistant's header

    cdef int reopen(self) except -1
    cdef tuple run_ids(self, object given)
    cdef tuple run_span(self, const uint32_t* ids, Py_ssize_t n)
    cdef bint is_plain(self, const uint8_t* p, Py_ssize_t n) noexcept
    cdef tuple whole_piece(self, str text, const uint8_t* p, Py_ssize_t n)
    cdef object delta(self, uint8_t kind, int64_t index, str text, int64_t start, int64_t stop)
    cdef reason_of(self, reason, bint stopped)
    cdef Context context(self, Out* out) noexcept
    cdef int claim(self, uint8_t mode=*) except -1
    cdef int check_open(self, uint8_t mode) except -1
    cdef str open_part(self, int k)
    cdef object failure(self, tuple events)
    cdef tuple release(self, Out* out)
    cdef tuple collect(self, Out* out)
    cdef object event_of(self, Out* out, Py_ssize_t i)
    cdef MessageStart message_start(self, Out* out, Record* r)
    cdef MessageEnd message_end(self, Record* r)
