# The part of a Parser without its verbs: the stream, its lock, and its properties.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
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

# A stream's place in a batch. Plain tokens are taken here alone, if they are of reasoning, of content, or inside a
# string of arguments. So a step of many streams reads their places, which lie in a row, and not the streams, which lie
# anywhere. settle() brings the stream up to date.
cdef struct Place:
    const Guard* guard
    int64_t position               # the stream's, without the tokens that it has not counted
    int32_t calls
    uint32_t uncounted             # plain tokens that the stream has not counted
    uint32_t uncounted_bytes       # bytes of these, in arguments
    uint8_t fast                   # the stream's, or 0: then tokens are read by the stream
    uint8_t look, want             # its shortcut_look and shortcut_want, of arguments with QUIET
    uint8_t channel
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


cdef inline void take_place(Place* place, const Stream* s) noexcept nogil:
    """From here on, plain tokens are taken in the place, if they may be. Nothing is uncounted."""
    cdef bint is_json = s.fast == R_ARGUMENTS
    place.fast = 0 if FREE_THREADED or (is_json and (not s.json.in_string or s.json.escape)) else s.fast
    place.look, place.want = s.shortcut_look, s.shortcut_want
    if is_json:
        place.look |= QUIET
        place.want |= QUIET
    place.channel, place.calls, place.position = s.channel_code, s.calls, s.position


cdef inline void settle(Place* place, Stream* s, bint tagged) noexcept nogil:
    """Count, in the stream, the tokens that were taken in its place. tagged: its format has tags."""
    if place.uncounted:
        s.usage[s.region] += place.uncounted
        s.position += place.uncounted
        s.attributed = s.position
        if tagged:
            s.tags.line_start = 0
        s.json.count += place.uncounted_bytes
        place.uncounted = place.uncounted_bytes = 0


cdef inline void leave_place(OpenStream stream) noexcept:
    """Closes the place and counts its tokens in the stream. The stream reads the next ones."""
    if not FREE_THREADED and stream.place != NULL:
        stream.place.open = False
        settle(stream.place, &stream.s, stream.program.tags != NULL)


cdef inline int64_t uncounted(OpenStream stream) noexcept:
    """Tokens that were read in the stream's place, and that it has not counted. They landed in its region."""
    return 0 if FREE_THREADED or stream.place == NULL else stream.place.uncounted


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
