# The part of a Parser without its verbs: the stream, its lock, and its properties.

cimport cython
from libc.stdint cimport uint8_t
from harmonystream._native.core.locks cimport FREE_THREADED
from harmonystream._native.core.tools cimport Tools
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.machine cimport set_shortcut
from harmonystream._native.stream.program cimport Program
from harmonystream._native.stream.records cimport EventMaker
from harmonystream._native.stream.snapshot cimport Blob
from harmonystream._native.stream.watch cimport Watcher


# A batch's guard, which keeps others out of its streams during a step. Written and read with the GIL; a free-threaded
# Python locks each stream instead.
cdef struct Guard:
    bint stepping                  # true during a step
    unsigned long owner            # the thread of that step

# A stream's place in a batch.
cdef struct Place:
    const Guard* guard
    char open                      # a step has seen that it takes ids; each call of it, or of its emitter, clears it


cdef class OpenStream(EventMaker):
    cdef Place* place              # in that batch; NULL if there is no batch, or Python has no GIL
    cdef char busy                 # a call is in progress: see claim()
    cdef char slotted              # the stream is in a batch
    cdef char stale                # an emitter wrote a message, so open_part() must refresh its names
    cdef char trims                # newlines next to a tag are dropped
    cdef char watching             # a call is open that has watched values
    cdef char diverted             # and its plain tokens would take the shortcut
    cdef char written              # an emitter has started and writes the stream's records
    cdef Stream s                  # after `busy`, so that a batch finds both in the same lines of memory
    cdef Held held                 # tag formats: input and values that are not yet decided
    cdef Program program
    cdef Tools tools
    cdef Watcher watcher           # None: no value is watched
    cdef bytes origin              # the state to reset to; None: fresh, inside the assistant's header
    cdef tuple spot                # what grammar_at() gave last, after the call and region that it is for

    @cython.final
    cdef int take_options(self, bint trims, str empty_args, Py_ssize_t max_hold) except -1
    @cython.final
    cdef int claim(self, uint8_t mode) except -1
    @cython.final
    cdef int check_open(self, uint8_t mode) except -1
    @cython.final
    cdef int put_state(self, Buffer* to) except -1
    @cython.final
    cdef int take_state(self, const Blob* blob) except -1
    @cython.final
    cdef object called(self)
    @cython.final
    cdef object new_spot(self)
    @cython.final
    cdef str open_part(self, int k)
    cdef int reopen(self) except -1
    @cython.final
    cdef object failure(self, tuple events)
    @cython.final
    cdef str reason_of(self, str reason, bint stopped)
    @cython.final
    cdef void divert(self) noexcept


cdef inline void leave_place(OpenStream stream) noexcept:
    """The next step checks again whether the stream takes ids."""
    if not FREE_THREADED and stream.place != NULL:
        stream.place.open = False


cdef inline bint is_free(OpenStream stream) noexcept:
    """May a shortcut read and change the stream without claim()? Only if three things are true. No other call is
    running: a long call releases the GIL while the machine changes every field. The stream is not in a batch, which
    may have taken tokens for it. Python has a GIL, which keeps other threads out until the shortcut is done.
    """
    return not FREE_THREADED and not stream.busy and stream.place == NULL


# Before and after the machine runs: inline, because each call does all of it.

cdef inline Context context_of(OpenStream stream, Out* out) noexcept:
    cdef Context c
    c.tables = &stream.program.tables
    c.row = stream.program.tags
    c.tools = &stream.tools.table
    c.out = out
    out.held = &stream.held
    # the shortcut is closed while the machine runs
    stream.s.fast = 0
    return c


cdef inline int check_memory(OpenStream stream, const Out* out) except -1:
    if out.no_memory:
        stream.s.finished = 1                                                # text is missing: only reset() helps
        raise MemoryError()
    return 0


cdef inline void open_shortcut(OpenStream stream) noexcept:
    """Plain tokens may take the shortcut again, if the state allows it. Those of a watched call may not."""
    set_shortcut(&stream.s, stream.program.tags, &stream.held)
    if stream.watcher is not None:
        stream.divert()


cdef str normal_reason(object reason)
cdef bint is_normal_stop(str reason)
