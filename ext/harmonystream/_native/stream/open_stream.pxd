# The part of a Parser without its verbs: the stream, its lock, and its properties.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.tools cimport Tools
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.program cimport Program
from harmonystream._native.stream.records cimport EventMaker
from harmonystream._native.stream.watch cimport Watcher


@cython.final
@cython.no_gc
cdef class Guard:
    # true during a step. Written and read with the GIL; a free-threaded Python locks each stream instead
    cdef bint stepping
    cdef unsigned long owner       # the thread of that step


cdef class OpenStream(EventMaker):
    cdef char busy                 # a call is in progress: see claim()
    cdef char slotted              # the stream is in a batch
    cdef char stale                # a script has told of a message: open_part() must make its names anew
    cdef char trims                # newlines next to a tag are dropped
    cdef char watching             # a call is open that has watched values
    cdef char diverted             # and its plain tokens would take the shortcut
    cdef Stream s                  # after `busy`, so that a batch finds both in the same lines of memory
    cdef Held held                 # tag formats: input and values that are not yet decided
    cdef Guard guard               # of that batch; None if there is no batch, or Python has no GIL
    cdef char* slot_open           # with a guard: the slot's flag, which each call takes back
    cdef Program program
    cdef Tools tools
    cdef Watcher watcher           # None: no value is watched

    cdef int take_options(self, bint trims, str empty_args, Py_ssize_t max_hold) except -1
    cdef int claim(self, uint8_t mode=*) except -1
    cdef int check_open(self, uint8_t mode) except -1
    cdef str open_part(self, int k)
    cdef int reopen(self) except -1
    cdef object failure(self, tuple events)
    cdef int check_memory(self, const Out* out) except -1
    cdef Context context(self, Out* out) noexcept
    cdef str reason_of(self, str reason, bint stopped)
    cdef void open_shortcut(self) noexcept
    cdef void divert(self) noexcept


cdef str normal_reason(object reason)
cdef bint is_normal_stop(str reason)
