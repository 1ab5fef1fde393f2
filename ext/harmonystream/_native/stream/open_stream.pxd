# What a Parser is beside its verbs: the stream, who may use it, and what can be asked of it.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.tools cimport Tools
from harmonystream._native.core.types cimport *
from harmonystream._native.core.vocab cimport Vocab
from harmonystream._native.stream.program cimport Program
from harmonystream._native.stream.records cimport EventMaker


@cython.final
@cython.no_gc
cdef class Guard:
    # a step is running. Written and read with the GIL; a free-threaded Python locks each stream instead
    cdef bint stepping
    cdef unsigned long owner       # the thread of that step


cdef class OpenStream(EventMaker):
    cdef Stream s
    cdef Held held                 # tag formats: input and values that are not yet decided
    cdef char busy                 # a call is in progress: see claim()
    cdef char slotted              # it is in a batch
    cdef char stale                # a script has told of messages: their names are in the stream's header alone
    cdef Guard guard               # that batch's; None: there is no batch, or no GIL
    cdef Program program
    cdef Tools tools

    cdef int claim(self, uint8_t mode=*) except -1
    cdef int check_open(self, uint8_t mode) except -1
    cdef str open_part(self, int k)
    cdef int reopen(self) except -1
    cdef object failure(self, tuple events)


cdef Vocab NO_VOCAB                # of a stream that is text
