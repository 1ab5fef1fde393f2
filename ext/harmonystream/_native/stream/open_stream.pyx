# One stream, its lock, and the properties that can be read between two calls.

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.locks cimport FREE_THREADED, enter, get_byte, leave
from harmonystream._native.core.types cimport *
from harmonystream._native.harmony.header_words cimport call_name
from harmonystream._native.stream.snapshot cimport *
from harmonystream._native.stream.watch cimport watch_unpack
from harmonystream._native.stream.program cimport NO_VOCAB

from harmonystream import deviations as known
from harmonystream.deviations import Deviation
from harmonystream.errors import ParseError
from harmonystream.reasons import MEANINGS, normal
from harmonystream.regions import GrammarAt, Region, Usage

DEBUG = bool(DEBUG_BUILD)

cdef tuple STATES = ("START", "HEADER", "BODY", "DONE", "TEXT", "SECTION", "PAIRS", "VALUE", "RAW", "WRAPPED", "AFTER",
                     "PYTHON")
cdef tuple REGIONS = tuple(Region)


cdef frozenset NORMAL_STOPS = frozenset(("stop", "tool_calls", "function_call"))
cdef dict KNOWN_REASONS = {**MEANINGS, **{reason: reason for reason in NORMAL_STOPS}}


cdef str normal_reason(object reason):
    """What normal() says, without the call where a reason is written as the table has it."""
    cdef str meaning
    if reason is None:
        return None
    meaning = <str>KNOWN_REASONS.get(reason) if type(reason) is str else None
    return normal(reason) if meaning is None else meaning or None


cdef bint is_normal_stop(str reason):
    """Did the engine say that the model has ended its answer by itself?"""
    return reason in NORMAL_STOPS


@cython.no_gc
cdef class OpenStream(EventMaker):
    """The state of one stream, and its lock. Parser adds the verbs."""

    cdef int take_options(self, bint trims, str empty_args, Py_ssize_t max_hold) except -1:
        if len(empty_args) > 256:
            raise ValueError(f"empty_args is {len(empty_args)} characters long; at most 256")
        if not 1024 <= max_hold <= 1 << 30:
            raise ValueError(f"max_hold is a number of bytes from 1,024 to 2**30, not {max_hold}")
        self.trims, self.empty_args, self.held.cap = trims, empty_args, max_hold
        return 0

    # --- the lock ---

    cdef int claim(self, uint8_t mode) except -1:
        """Enter a call; leave() ends it. Unless the mode is NO_INPUT, check that the stream can take more of it."""
        cdef bint stepping = False
        if not FREE_THREADED and self.place != NULL:
            stepping = self.place.guard.stepping
            if not stepping:
                leave_place(self)
        if stepping or not enter(&self.busy):
            raise RuntimeError("this parser is in use by another thread or its batch's step: give each stream its "
                               "own, or fork() it")
        if mode and (self.s.finished or self.s.error or self.s.input_mode != mode):
            try:
                self.check_open(mode)
            except BaseException:
                leave(&self.busy)
                raise
        return 0

    cdef int check_open(self, uint8_t mode) except -1:
        if self.s.finished:
            raise ValueError("the stream is finished: call reset(), or make a new Parser")
        if self.s.error:
            raise self.failure(())
        if mode == ID_MODE and self.program.vocab is NO_VOCAB:
            raise ValueError("this parser has no vocabulary for ids: pass the model's as vocab=, or feed text to "
                             "feed_text()")
        if self.s.input_mode and self.s.input_mode != mode:
            raise ValueError("a stream is either ids or text: this one began with " + ("feed()" if mode == TEXT_MODE
                                                                                       else "feed_text()"))
        return 0

    cdef object failure(self, tuple events):
        cdef Stream* s = &self.s
        return ParseError(known.CODES[s.error], s.error_at, STATES[s.error_state],
                          known.EXPECTED[known.CODES[s.error]], events)

    cdef str reason_of(self, str reason, bint stopped):
        if reason is not None and not stopped:
            return reason
        if self.s.calls and not self.s.cut:
            return "tool_calls"
        return "stop" if stopped or self.s.terminated else None

    cdef void divert(self) noexcept:
        """Where a call is watched, arguments take quick_watched() instead of the shortcut."""
        self.watching = self.watcher.w.alive != 0
        self.diverted = self.watching and self.s.fast == R_ARGUMENTS
        if self.diverted:
            self.s.fast = 0

    # --- its state as bytes ---

    cdef int put_state(self, Buffer* to) except -1:
        """Append to_bytes()."""
        cdef Head head
        self.claim(NO_INPUT)
        try:
            head.vocab, head.tools = self.program.fingerprint, self.tools.fingerprint
            head.no_trim, head.max_hold = not self.trims, <uint32_t>self.held.cap
            blob_put(self.program.format.name, &head, self.empty_args, self.origin, &self.s, &self.held,
                     self.program.tags != NULL, b"" if self.watcher is None else self.watcher.pack(), to)
        finally:
            leave(&self.busy)
        return 0

    cdef int take_state(self, const Blob* blob) except -1:
        """Of a fresh stream with the blob's format: be the one that it describes. The open message has no names yet."""
        cdef Stream origin
        self.take_options(not blob.head.no_trim, empty_args_in(blob), blob.head.max_hold)
        if self.program.fingerprint != blob.head.vocab:
            if self.program.vocab is NO_VOCAB:
                raise ValueError("this parser state belongs to another vocabulary, or to another format of this name: "
                                 "pass the vocabulary with which the state was made")
            raise ValueError(f"this parser state belongs to another vocabulary than {self.program.vocab!r}, or to "
                             f"another format of this name")
        if self.tools.fingerprint != blob.head.tools:
            raise ValueError("this parser state was made with other tools: pass the same tools= to from_bytes()")
        if blob.head.n_origin:
            memset(&origin, 0, sizeof(Stream))
            state_unpack(&origin, &self.held, self.program, &self.tools.table, blob.origin, blob.head.n_origin)
            self.origin = PyBytes_FromStringAndSize(<const char*>blob.origin, blob.head.n_origin)
        memset(&self.s, 0, sizeof(Stream))
        state_unpack(&self.s, &self.held, self.program, &self.tools.table, blob.state, blob.head.n_state)
        watch_unpack(self.watcher, PyBytes_FromStringAndSize(<const char*>blob.watched, blob.n_watched),
                     self.called(), not (self.s.announce or self.s.error or self.s.finished))
        self.stale = True
        open_shortcut(self)
        return 0

    cdef object called(self):
        """The name in the open call's ToolCallStart, as bytes; ... if that is not kept, and None without a call."""
        cdef const ToolTable* t = &self.tools.table
        cdef const Stream* s = &self.s
        cdef Span name
        if s.kind == NOT_A_CALL:
            return None
        if self.program.tags == NULL:
            name = call_name(s)
            return (<const char*>s.header)[name.at:name.at + name.n]
        if s.tags.tool < 0:
            return ...
        return (<const char*>t.names)[t.offset[s.tags.tool]:t.offset[s.tags.tool + 1]]

    # --- looking at the stream ---
    # Numbers are read without the lock, so that a monitor may look beside a long call. Each is one word, which is read
    # whole; those that are read together may be of different moments. ThreadSanitizer reports these reads.

    @property
    def region(self):
        """Where the next token would land, as a `Region`. O(1), and reads nothing."""
        return <object>REGIONS[get_byte(&self.s.region)]                     # one read: a long call may change it

    def grammar_at(self):
        """Which grammar applies to the next token, as a `GrammarAt` with `region` and `tool`: the same object while
        nothing changes. O(1)."""
        cdef int64_t key = (<int64_t>self.s.calls + (self.s.kind != NOT_A_CALL)) * N_REGIONS + get_byte(&self.s.region)
        if self.spot is None or self.spot[0] != key:
            self.spot = (key, self.new_spot())
        return self.spot[1]

    cdef object new_spot(self):
        cdef object region, name = None
        self.claim(NO_INPUT)
        try:
            region = <object>REGIONS[self.s.region]
            if self.s.region == R_ARGUMENTS:
                name = self.called()
        finally:
            leave(&self.busy)
        return GrammarAt(region, (<bytes>name).decode("utf-8", "replace") if type(name) is bytes else None)

    @property
    def position(self):
        """Tokens fed so far (text mode: bytes; a possible beginning of a marker is not yet counted)."""
        return self.s.position

    @property
    def calls(self):
        """Tool calls begun so far."""
        return self.s.calls + (self.s.kind != NOT_A_CALL)

    @property
    def usage(self):
        """Tokens (text mode: bytes) per region so far, as `Usage`."""
        return Usage(*[self.s.usage[k] for k in range(N_REGIONS)])

    @property
    def deviations(self):
        """What was repaired, oldest first; the first 16."""
        cdef int kept = min(<int>self.s.deviations, DEVIATION_CAP)
        return tuple([Deviation(known.CODES[self.s.deviation[k]], self.s.deviation_at[k]) for k in range(kept)])

    @property
    def deviation_count(self):
        """How much was repaired in all."""
        return self.s.deviations

    @property
    def role(self):
        """The open message's author; None between messages."""
        return self.open_part(0)

    @property
    def channel(self):
        """The open message's channel; None without one, or between messages."""
        return self.open_part(1)

    @property
    def recipient(self):
        """The open message's recipient, as written."""
        return self.open_part(2)

    @property
    def content_type(self):
        """The open message's content type."""
        return self.open_part(3)

    @property
    def format(self):
        """The format's name."""
        return self.program.format.name

    @property
    def vocab(self):
        """The vocabulary."""
        return self.program.vocab

    @property
    def strict(self):
        """True if a deviation raises ParseError."""
        return bool(self.s.strict)

    @property
    def finish_reason(self):
        """The reason that `StreamEnd` gave. None before the end, and in a parser that from_bytes() made."""
        return self.end_reason if self.s.finished else None

    @property
    def finished(self):
        """Has finish() been called?"""
        return bool(self.s.finished)

    cdef str open_part(self, int k):
        """A part of the open message's header. Without the GIL, another thread may be about to replace it."""
        if not FREE_THREADED and not self.stale:
            return (self.open_role, self.open_channel, self.open_recipient, self.open_content_type)[k]
        self.claim(NO_INPUT)
        try:
            if self.stale:
                self.reopen()
            return (self.open_role, self.open_channel, self.open_recipient, self.open_content_type)[k]
        finally:
            leave(&self.busy)

    cdef int reopen(self) except -1:
        """Make the open message's strings anew: the Parser's."""
        return 0

    @property
    def stop_ids(self):
        """The control ids at which the engine should stop generating, ascending."""
        return self.program.stop_ids
