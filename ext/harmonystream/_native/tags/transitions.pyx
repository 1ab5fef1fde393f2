# The states of the tag machine, and every transition between them: no other file assigns `state`. A transition also
# sets what follows from the new state (`sink`, `region`) and clears the memory that the old state has used.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.json_scan cimport json_is_object, json_reset
from harmonystream._native.core.types cimport *
from harmonystream._native.tags.cdata cimport NO_CDATA
from harmonystream._native.tags.lookahead cimport CallHeader
from harmonystream._native.tags.view cimport *

DEBUG = bool(DEBUG_BUILD)

# Each row: the state before, the function that makes the transition, the state after, and when. docs/state_diagrams.py
# draws the diagram in docs/tags.md from this table, and a test compares the table with what the machine does. START is
# a stream that has not begun.
TRANSITIONS = (
    ("START", "enter_text", "TEXT", "the stream begins"),
    ("TEXT", "enter_text", "TEXT", "a think marker"),
    ("TEXT", "open_call", "PAIRS", "a header"),
    ("TEXT", "open_call", "RAW", "a header"),
    ("TEXT", "open_call", "WRAPPED", "a header"),
    ("TEXT", "open_call", "PYTHON", "a header"),
    ("TEXT", "end_turn", "DONE", "a stop"),
    ("PAIRS", "open_value", "VALUE", "a key"),
    ("PAIRS", "turn_raw", "RAW", "a brace before any key"),
    ("PAIRS", "end_call", "TEXT", "the call ends"),
    ("PAIRS", "end_call", "SECTION", "the call ends in a section"),
    ("VALUE", "leave_value", "PAIRS", "the value ends, or the key has none"),
    ("VALUE", "end_call", "TEXT", "a stop, or the end of the stream, cuts the call"),
    ("VALUE", "end_call", "SECTION", "the call is cut in a section"),
    ("RAW", "end_call", "TEXT", "the call ends"),
    ("RAW", "end_call", "SECTION", "the call ends in a section"),
    ("WRAPPED", "end_wrapped", "AFTER", "the object or the call ends"),
    ("WRAPPED", "end_call", "TEXT", "the end of the stream"),
    ("WRAPPED", "end_call", "SECTION", "the end of the stream in a section"),
    ("SECTION", "open_call", "PAIRS", "a header"),
    ("SECTION", "open_call", "RAW", "a header"),
    ("SECTION", "open_call", "WRAPPED", "a header"),
    ("SECTION", "enter_text", "TEXT", "the section ends"),
    ("SECTION", "end_turn", "DONE", "a stop"),
    ("PYTHON", "end_wrapped", "AFTER", "the call ends"),
    ("PYTHON", "end_call", "TEXT", "the end of the stream"),
    ("PYTHON", "end_call", "SECTION", "the end of the stream in a section"),
    ("AFTER", "open_call", "WRAPPED", "another object"),
    ("AFTER", "open_call", "PYTHON", "another call"),
    ("AFTER", "enter_section", "SECTION", "the call's closer in a section"),
    ("AFTER", "enter_text", "TEXT", "the outer closer, or anything else"),
)


cdef void enter_text(Stream* s) noexcept nogil:
    """Content or reasoning follows, directly after a marker."""
    s.state = TEXT
    s.sink = R_REASONING if s.tags.reasoning else R_CONTENT
    s.region = IN_REASONING if s.tags.reasoning else IN_CONTENT
    s.tags.in_section = 0
    s.tags.line_start = s.tags.lead = 1
    s.tags.seam = s.trim


cdef inline void enter_between_calls(Stream* s, uint8_t state) noexcept nogil:
    """SECTION or AFTER: whether another call or text follows is open. The flag `in_section` keeps its value."""
    cdef uint8_t in_section = s.tags.in_section
    enter_text(s)
    s.tags.in_section = in_section
    s.state = state
    s.region = IN_HEADER


cdef void enter_section(Stream* s) noexcept nogil:
    """A call's tags are closed after the objects in them, and the section goes on."""
    enter_between_calls(s, SECTION)


cdef void open_call(Stream* s, const CallHeader* h, bint ends_reasoning) noexcept nogil:
    """The header h has been read: its call is open. ToolCallStart has been written. ends_reasoning: content follows
    the call."""
    cdef Tags* g = &s.tags
    g.at_start = g.seam = g.mentions = g.pairs = g.unread = 0
    g.newlines = 0
    memset(&g.call, 0, sizeof(CallState))
    if g.code != NO_CODE:                                  # the open fence is not empty any more
        g.code = CODE
    g.line_start = h.body == PAIRS
    if h.body == RAW:
        g.call.raw.ends = NEWLINE
    elif h.body == WRAPPED:
        g.call.wrapped.ends = NEWLINE
    s.parted = s.spoken if s.trim else 0
    g.in_section = h.in_section
    if ends_reasoning:
        g.reasoning = 0
    if s.state != AFTER:                                   # in AFTER the array of the first object is still open
        g.array = h.array
    s.wrote = 0
    json_reset(&s.json)
    s.sink = R_ARGUMENTS
    s.state = h.body
    s.region = IN_HEADER if h.body == PAIRS or h.empty else IN_ARGUMENTS


cdef void open_value(Stream* s) noexcept nogil:
    """A key has been read; its value begins. The caller has set `value_mode`."""
    cdef TaggedCall* call = &s.tags.call.tagged
    s.tags.line_start = 0
    call.begun = call.quotes_pair = call.opener_due = call.layout = 0
    call.cdata = NO_CDATA
    s.state = VALUE
    s.region = IN_ARGUMENTS


cdef void leave_value(Stream* s) noexcept nogil:
    """The value's JSON has been written, or the value has no JSON."""
    s.value_mode = NO_VALUE
    s.state = PAIRS
    s.region = IN_HEADER


cdef void turn_raw(Stream* s) noexcept nogil:
    """A body that should have keys begins with `{`: it is read as JSON."""
    memset(&s.tags.call, 0, sizeof(CallState))
    s.tags.call.raw.ends = NEWLINE if s.tags.line_start else 0
    s.tags.line_start = 0
    s.state = RAW
    s.region = IN_ARGUMENTS


cdef inline void close_body(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil:
    cdef int64_t found_at = at
    flush_pending(s, c.out)
    s.value_mode = NO_VALUE
    s.header_n = 0
    c.out.held.value.n = 0
    at = after(s, at)
    if pairs and complete and s.tags.pairs:
        put_text(s, c.out, b"}", 1, at, at)
    complete = complete and not s.tags.unread
    if complete and s.wrote and not json_is_object(&s.json):
        note(s, D_INVALID_JSON, found_at)
        complete = False
    close_call(s, c.out, at, complete)


cdef void end_call(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil:
    """The open call ends before the byte at `at`. pairs: the machine has written its `{`, and writes its `}`."""
    close_body(s, c, at, complete, pairs)
    if s.tags.in_section:
        enter_between_calls(s, SECTION)
    else:
        enter_text(s)


cdef void end_wrapped(Stream* s, const Context* c, int64_t at, bint complete, bint pairs) noexcept nogil:
    """The open call, which is wrapped or Python's, ends before the byte at `at`. pairs: as in end_call()."""
    close_body(s, c, at, complete, pairs)
    enter_between_calls(s, AFTER)


cdef void end_turn(Stream* s) noexcept nogil:
    """A stop has been read: nothing after it counts."""
    s.sink = R_NONE
    s.state = DONE
    s.region = IN_DONE
    s.terminated = 1


cdef void tags_failed(Stream* s, const Context* c) noexcept nogil:
    """The stream is over at a strict parser's error. What is open was not closed."""
    cdef int64_t at = after(s, s.position)
    if s.state == DONE:
        return
    if s.kind != NOT_A_CALL:
        s.cut = 1
        close_call(s, c.out, at, False)
        s.cut = 0
    if c.out.labels == NULL:
        out_record(c.out, R_MESSAGE_END, at, at)
    s.n_pending = 0
    s.tags.newlines = s.tags.line_start = 0
    s.value_mode = NO_VALUE
    c.out.held.value.n = 0
    end_turn(s)
