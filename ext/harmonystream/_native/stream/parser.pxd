# One stream: the Python face of a machine.

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from harmonystream._native.stream.program cimport Program
from harmonystream._native.stream.events cimport MessageEnd, MessageStart
from harmonystream._native.stream.guard cimport Guard
from harmonystream._native.core.tools cimport Tools
from harmonystream._native.core.cpython cimport FREE_THREADED, PyLong_CheckExact, small_int
from harmonystream._native.core.bulk_tokens cimport is_plain_token
from harmonystream._native.core.types cimport *
from harmonystream._native.core.vocab cimport Vocab


@cython.final
cdef class Parser:
    cdef Stream s
    cdef Held held                 # tag formats: input and values that are not yet decided
    cdef char busy                 # a call is in progress: see claim()
    cdef char slotted              # it is in a batch
    cdef Guard guard               # with the GIL: that one's
    cdef PyObject* last            # the tuple of one event that feed() returned last: see single()
    cdef Program program
    cdef Tools tools
    cdef list strings              # the program's cache of id -> str
    cdef str open_role, open_channel, open_recipient, open_content_type
    cdef str empty_args, trim
    cdef bytes origin              # the state to reset to; None: fresh, inside the assistant's header

    cdef int reopen(self) except -1
    cdef tuple run_ids(self, object given)
    cdef tuple quick(self, Py_ssize_t tid)
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


cdef Vocab NO_VOCAB                # of a stream that is text


cdef inline Py_ssize_t plain_token(Parser parser, object ids) noexcept:
    """The id, if this is one whose text goes to the open sink as it is: the shortcut of the decode loop. -1: anything else."""
    cdef Py_ssize_t tid
    if FREE_THREADED or not parser.s.fast or parser.guard is not None or not PyLong_CheckExact(ids):
        return -1
    tid = small_int(ids)
    return tid if tid >= 0 and is_plain_token(&parser.s, &parser.program.tables, <uint32_t>tid) else -1
