# The states of the Harmony machine (docs/harmony.md, 2), and every transition between them: no other file assigns
# `state`. What a transition says to the outside, that a message begins or is over, is written here too.

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.json_scan cimport json_reset
from harmonystream._native.core.out cimport *
from harmonystream._native.core.types cimport *
from harmonystream._native.harmony.header_words cimport call_name, is_builtin, is_tool, span_begins, span_is
from harmonystream._native.harmony.token_regions cimport disown_header

DEBUG = bool(DEBUG_BUILD)

# Each row: the state before, the function that makes the transition, the state after, and when. The diagram in
# docs/harmony.md is drawn from this table (docs/state_diagrams.py), and a test compares it with what the machine
# does.
TRANSITIONS = (
    ("START", "begin_header", "HEADER", "start or text"),
    ("START", "enter_done", "DONE", "endoftext"),
    ("HEADER", "begin_header", "HEADER", "start again"),
    ("HEADER", "open_message", "BODY", "message, or what shows that the header is over"),
    ("HEADER", "enter_start", "START", "a terminator"),
    ("HEADER", "enter_done", "DONE", "endoftext"),
    ("BODY", "begin_header", "HEADER", "start or channel"),
    ("BODY", "enter_start", "START", "a terminator"),
    ("BODY", "enter_done", "DONE", "endoftext"),
    ("BODY", "end_stream", "START", "the end of the stream"),
)


# --- transitions ------------------------------------------------------------------------------------------------------

cdef void begin_header(Stream* s, uint8_t role, int64_t at, int width) noexcept nogil:
    """width: what <|start|> takes; 0 if there is none."""
    cdef Span none
    none.at = none.n = 0
    s.state = HEADER
    s.region = IN_HEADER
    s.role = s.channel = s.recipient = s.content_type = none
    s.channel_code = NO_CHANNEL
    s.header_at = at
    s.header_text_at = at + width
    s.header_n = s.prompt_n = 0
    s.word_at = NO_WORD
    s.role_state = role
    s.marked = s.phase = s.extra = s.terminated = 0
    memset(s.token_starts, 0, sizeof(s.token_starts))


cdef void enter_start(Stream* s) noexcept nogil:
    s.state = START
    s.region = IN_START
    s.terminated = 1


cdef void enter_done(Stream* s) noexcept nogil:
    s.state = DONE
    s.region = IN_DONE
    s.terminated = 1


cdef void end_stream(Stream* s) noexcept nogil:
    """The stream is over, and its open message has been closed.

    Nothing terminated it, so `terminated` keeps its value.
    """
    s.state = START
    s.region = IN_START


cdef uint8_t kind_of_call(Stream* s, const ToolTable* t) noexcept nogil:
    cdef Span w = s.recipient
    if s.role.n or w.n == 0 or span_is(s, w, b"assistant") or span_is(s, w, b"functions.") or span_begins(s, w, b"<|"):
        return NOT_A_CALL
    if t.forbidden:
        note(s, D_CALL_WITHOUT_TOOLS, s.header_at)
        return NOT_A_CALL
    if span_begins(s, w, b"functions.") or is_tool(s, t, w):
        return FUNCTION
    if is_builtin(s, w):
        return BUILTIN
    return OTHER_CALL if t.n >= 0 else FUNCTION


cdef void open_message(Stream* s, const Context* c, int64_t start, int64_t header_stop, int64_t stop) noexcept nogil:
    """Opens the message whose header, [start, header_stop), has been read. Its body begins at `stop`."""
    s.kind = kind_of_call(s, c.tools)
    route(s)
    if s.role.n:
        note(s, D_FOREIGN_ROLE, s.header_at)
        disown_header(s, c.out, header_stop)
    elif s.sink == R_CONTENT and span_is(s, s.recipient, b"assistant"):
        note(s, D_TEXT_TO_ASSISTANT, s.header_at)
    if s.error:
        return
    s.state = BODY
    s.wrote = 0
    s.attributed = stop
    json_reset(&s.json)
    announce_message(s, c.out, start, stop)


# --- what is written about a message ----------------------------------------------------------------------------------

cdef void announce_message(Stream* s, Out* o, int64_t start, int64_t stop) noexcept nogil:
    """MessageStart and, for a call, ToolCallStart."""
    cdef Record* r
    cdef Span name = call_name(s)
    if not put_message_start(s, o, start, stop) or s.kind == NOT_A_CALL:
        return
    r = out_record(o, R_CALL_START, stop, stop)
    if r == NULL:
        return
    r.flags = s.kind
    r.index = s.calls
    memcpy(o.text + r.at, s.header + name.at, name.n)
    o.n_text += name.n
    r.n = name.n


cdef void close_message(Stream* s, const Context* c, int64_t at, int64_t stop, bint complete) noexcept nogil:
    """The body ends with the token [at, stop), which is empty if something else implied the end."""
    if s.kind != NOT_A_CALL:
        close_call(s, c.out, at, complete)
    if c.out.labels == NULL:
        out_record(c.out, R_MESSAGE_END, at, stop)
    s.sink = R_NONE
    s.attributed = stop


cdef void harmony_failed(Stream* s, const Context* c) noexcept nogil:
    """The stream is over at a strict parser's error. What is open was not closed."""
    cdef int64_t at = s.position if s.position > s.attributed else s.attributed
    if s.state == BODY:
        s.cut = 1
        close_message(s, c, at, at, False)
        s.cut = s.n_pending = 0
        enter_done(s)
