# The slots of a batch.

cimport cython
from harmonystream._native.core.token_ids cimport Ids
from harmonystream._native.stream.open_stream cimport Guard
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.program cimport Program
from harmonystream._native.wire.slot cimport Step
from harmonystream._native.wire.sse cimport SseWriter


cdef class Slots:
    cdef Program program
    cdef str trim, empty_args
    cdef Py_ssize_t max_hold, capacity_
    cdef list emitters             # by slot; None: there is none
    cdef list free
    cdef Step step
    cdef Guard guard               # of its streams
    cdef char busy

    @cython.final
    cdef Parser stream(self, object tools, object start, object prompt)
    @cython.final
    cdef int claim(self) except -1
    @cython.final
    cdef int check_fits(self, Parser parser, SseWriter emitter) except -1
    @cython.final
    cdef int check_free(self) except -1
    @cython.final
    cdef object place(self, Parser parser, SseWriter emitter)
    @cython.final
    cdef object taken(self, Parser parser, SseWriter emitter)
    @cython.final
    cdef object closed(self, Py_ssize_t slot)
    @cython.final
    cdef object ended(self, Py_ssize_t slot, object reason, object usage)
    @cython.final
    cdef Parser at(self, Py_ssize_t slot)

cdef int numbers_take(Ids* out, object given, str name) except -1
