# A whole output at once, as parse() returns it: the machine reads it in one go, and its records become a Completion
# without an event between.

from libc.stdint cimport int64_t
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.named cimport named_tuple
from harmonystream._native.core.token_ids cimport Ids, ids_free
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport decoded
from harmonystream._native.stream.events cimport MessageEnd, ToolCallEnd, ToolCallStart
from harmonystream._native.stream.open_stream cimport check_memory
from harmonystream._native.stream.parser cimport Parser, take_ids
from harmonystream._native.stream.plain_piece cimport Piece
from harmonystream._native.stream.program cimport NO_VOCAB

from harmonystream.completion import Completion, Message, ToolCall
from harmonystream.regions import Usage

DEBUG = bool(DEBUG_BUILD)

@cython.final
cdef class Gathered:
    """What has been gathered from the records of one output."""
    cdef list messages, reasoning, content, calls, arguments
    cdef Py_ssize_t reasoning_from, content_from, calls_from   # where the open message's begin
    cdef int64_t start                                         # of the open message
    cdef ToolCallStart call

    def __cinit__(self):
        self.messages, self.reasoning, self.content, self.calls, self.arguments = [], [], [], [], []

    cdef int add(self, Parser parser, const Out* out, Py_ssize_t i) except -1:
        """The i-th record."""
        cdef const Record* r = &out.records[i]
        if r.kind == R_CONTENT:
            self.content.append(decoded(out.text + r.at, r.n))
        elif r.kind == R_REASONING:
            self.reasoning.append(decoded(out.text + r.at, r.n))
        elif r.kind == R_ARGUMENTS:
            self.arguments.append(decoded(out.text + r.at, r.n))
        elif r.kind == R_EMPTY_ARGUMENTS:
            self.arguments.append(parser.empty_args)
        elif r.kind == R_MESSAGE_START:
            parser.message_start(out, r)
            self.start = r.start
            self.reasoning_from, self.content_from = len(self.reasoning), len(self.content)
            self.calls_from = len(self.calls)
        elif r.kind == R_CALL_START:
            self.call = <ToolCallStart>parser.event_of(out, i)
            self.arguments = []
        elif r.kind == R_CALL_END:
            self.close_call(<ToolCallEnd>parser.event_of(out, i))
        elif r.kind == R_MESSAGE_END:
            self.close_message(parser.message_end(r))
        return 0

    cdef int close_call(self, ToolCallEnd end) except -1:
        cdef ToolCallStart call = self.call
        self.calls.append(named_tuple(ToolCall, (
            call.index, call.name, joined(self.arguments, 0), call.id, call.kind, end.complete, end.balanced)))
        return 0

    cdef int close_message(self, MessageEnd end) except -1:
        self.messages.append(named_tuple(Message, (
            end.role, end.channel, end.recipient, end.content_type, joined(self.reasoning, self.reasoning_from),
            joined(self.content, self.content_from), tuple(self.calls[self.calls_from:]), self.start, end.stop)))
        return 0


cdef str joined(list pieces, Py_ssize_t begin):
    """The pieces from `begin` on, as one str; without a copy where there is only one."""
    if len(pieces) == begin:
        return ""
    if len(pieces) == begin + 1:
        return <str>pieces[begin]
    return "".join(pieces[begin:] if begin else pieces)


def whole(Parser parser not None, output, finish_reason=None):
    """Let a fresh parser read all of `output` (ids, or text as str or bytes) and end it; returns the `Completion`.

    Raises what feed(), feed_text() and finish() raise, and ValueError for a parser that has read something.
    """
    cdef Out out
    cdef Gathered got = Gathered.__new__(Gathered)
    if parser.s.input_mode != NO_INPUT or parser.s.finished:
        raise ValueError("a whole output needs a fresh parser: call reset(), or make a new one")
    read_all(parser, output, got, &out)
    if parser.read_end(finish_reason, &out):
        gather(parser, got, &out)
    return named_tuple(Completion, (
        tuple(got.messages), joined(got.reasoning, 0), joined(got.content, 0), tuple(got.calls), parser.end_reason,
        usage_of(&parser.s), parser.deviations if parser.s.deviations else ()))


cdef int read_all(Parser parser, object output, Gathered got, Out* out) except -1:
    """All of `output` through the machine."""
    cdef Ids ids
    cdef Piece piece
    if isinstance(output, (str, bytes)):
        parser.read_text(output, out, &piece)                                # before a message opens, no text is plain
        return gather(parser, got, out)
    take_ids(&ids, output)
    try:
        if parser.program.vocab is NO_VOCAB:
            raise ValueError(f"ids need the model's vocabulary: parse(ids, {parser.format!r}, vocab=...)")
        parser.read_ids(ids.ids, ids.n, out)
        return gather(parser, got, out)
    finally:
        ids_free(&ids)


cdef int gather(Parser parser, Gathered got, Out* out) except -1:
    """What the machine left in `out`; then the parser is free."""
    cdef Py_ssize_t i
    cdef tuple events = ()
    try:
        check_memory(parser, out)
        if parser.s.error:
            events = parser.collect(out)
        else:
            for i in range(out.n_records):
                got.add(parser, out, i)
    finally:
        parser.done(out)
    if parser.s.error:
        raise parser.failure(events)
    return 0


cdef object usage_of(const Stream* s):
    return named_tuple(Usage, (s.usage[0], s.usage[1], s.usage[2], s.usage[3], s.usage[4], s.usage[5], s.usage[6]))
