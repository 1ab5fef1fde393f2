# From events to the bytes of server-sent events. A frame is prepared once, with holes for the text of a delta and for a running number; to
# fill it is a few copies. What has no frame goes to a method in Python: there are few such events in a stream.

import json

from cpython.pythread cimport PyThread_get_thread_ident
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
cimport cython
from harmonystream._arguments cimport Arguments
from harmonystream._buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._build cimport DEBUG_BUILD
from harmonystream._cpython cimport FREE_THREADED, PyUnicode_AsUTF8AndSize, enter, leave
from harmonystream._events cimport ContentDelta, ReasoningDelta, ToolCallDelta
from harmonystream._ids cimport Ids, ids_free, ids_take
from harmonystream._parser cimport Parser, account_plain, plain_token
from harmonystream._records cimport without_surrogates
from harmonystream._types cimport *
from harmonystream._values cimport put_escaped

from .errors import ParseError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    TEXT_MODE = 2                      # Stream.text_mode, of one that is fed text
    LONG = 4096                        # bytes of a token that is rare enough to go the long way
    DIGITS = 20                        # of a number, or a sign and 19


cdef enum:                             # SseWriter.stage
    NEW, BYTES, DICTS, BROKEN, ENDED

cdef tuple REFUSALS = (
    "this stream has not started: start() comes first",
    "this stream has started and is bytes: start() comes once, events() is for one that is dicts from its beginning",
    "this stream has started and is dicts: go on with events()",
    "this stream has raised in the middle of something: error() is what can still end it",
    "this stream has ended: make another one",
)


cdef int number_text(int64_t number, uint8_t* to) noexcept nogil:
    """Decimal digits, with a sign if it is negative; how many."""
    cdef uint8_t[DIGITS] digits
    cdef uint64_t rest = <uint64_t>number
    cdef int n = 0, at = 0, i
    if number < 0:
        to[0] = c'-'
        at = 1
        rest = 0 - rest
    while True:
        digits[n] = <uint8_t>(c'0' + rest % 10)
        n += 1
        rest //= 10
        if rest == 0:
            break
    for i in range(n):
        to[at + i] = digits[n - 1 - i]
    return at + n


@cython.final
cdef class Frame:
    """Frame(parts, holes)
--

    Bytes with holes between the parts: "t", the text of a delta, JSON-escaped; "n", the running number of the frame.
    Frame([b""], "") is silence: for deltas that are neither sent, nor numbered, nor kept.

    parts: bytes, one more than holes. Raises TypeError or ValueError for anything else.
    """

    def __cinit__(self, parts, str holes not None):
        self.parts = tuple(parts)
        self.holes = holes.encode()
        if any(type(part) is not bytes for part in self.parts):
            raise TypeError("the parts of a frame are bytes")
        if len(self.parts) != len(self.holes) + 1 or self.holes.strip(b"nt"):
            raise ValueError("a frame has a hole, 't' or 'n', between any two parts")
        self.size = sum([PyBytes_GET_SIZE(<bytes>part) for part in self.parts])
        self.texts, self.numbers = self.holes.count(b"t"), self.holes.count(b"n")
        self.silent = self.size == 0 and not self.holes

    def __repr__(self):
        return f"Frame({self.parts!r}, {self.holes.decode()!r})"


cdef struct Filling:                   # what goes into the holes
    const uint8_t* text
    Py_ssize_t n
    uint8_t[DIGITS] number
    int digits


cdef inline Filling filling_of(Frame frame, const uint8_t* text, Py_ssize_t n, int64_t number) noexcept:
    cdef Filling made
    made.text = text
    made.n = n
    made.digits = number_text(number, made.number) if frame.numbers else 0
    return made


cdef inline Py_ssize_t filled_size(Frame frame, const Filling* filling) noexcept:
    return frame.size + frame.texts * filling.n + frame.numbers * filling.digits


cdef inline void fill(Frame frame, uint8_t* p, const Filling* filling) noexcept:
    """The frame with its holes filled; there is room for it."""
    cdef Py_ssize_t i, size
    cdef bytes part
    for i in range(PyBytes_GET_SIZE(frame.holes) + 1):
        part = <bytes>frame.parts[i]
        size = PyBytes_GET_SIZE(part)
        memcpy(p, PyBytes_AS_STRING(part), size)
        p += size
        if i < PyBytes_GET_SIZE(frame.holes):
            if PyBytes_AS_STRING(frame.holes)[i] == c't':
                memcpy(p, filling.text, filling.n)
                p += filling.n
            else:
                memcpy(p, filling.number, filling.digits)
                p += filling.digits


cdef class SseWriter:
    """SseWriter(parser, ...)
--

    What emitters are made of: feeds a parser and frames its deltas. A subclass has _on_event(event) -> bytes for every other event, and for
    deltas without a frame; and _feed_with(ids, logprobs) -> bytes, to which everything goes that is fed with logprobs, or while
    `_watched` is set. Its other arguments are its own.

    `_reasoning_frame`, `_content_frame` and `_arguments_frame` may be set at any time, also by _on_event; None: _on_event handles those deltas.
    `_number` is the next frame's. The deltas' text is kept until _take(). With `_arguments_through` set, deltas of arguments are what that
    lets through of them, and it keeps them.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    def __cinit__(self, parser="harmony", *_, vocab=None, tools=None, **__):
        if not isinstance(parser, Parser):
            parser = Parser(parser, vocab, tools=tools)
        elif vocab is not None or tools is not None:
            raise TypeError("a parser has its vocabulary and its tools: give them to Parser()")
        self.parser = parser
        self.pending = b""
        if self.parser.s.position or self.parser.s.finished:
            raise ValueError(f"this parser has read up to {self.parser.s.position}: what it said is lost to an emitter; give it a fresh one")

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is one response")

    def __dealloc__(self):
        buffer_free(&self.reasoning)
        buffer_free(&self.content)
        buffer_free(&self.arguments)
        buffer_free(&self.out)

    def feed(self, ids, /, logprobs=None):
        """The frames that these token ids make: none, one or several. Raises what Parser.feed() raises.

        logprobs: the API's object for each of them, in Chat Completions; ValueError if it is another number of them.
        """
        cdef Py_ssize_t tid
        self.claim()
        try:
            self.check(BYTES)
            if logprobs is not None or self.watched:
                return self._feed_with(ids, logprobs)
            tid = plain_token(self.parser, ids)
            if tid >= 0 and self.frame_of(self.parser.s.fast) is not None:
                return self.feed_plain(tid)
            return self._read(ids)
        finally:
            self.leave()

    def _read(self, ids):
        """The frames that these token ids make, as feed() makes them of what is not watched."""
        try:
            events = self.parser.feed(ids)
        except ParseError as error:
            self.break_off(error.events)
            raise
        return self.framed(events)

    def feed_text(self, text, /):
        """The frames that this text makes. Raises what Parser.feed_text() raises."""
        self.claim()
        try:
            self.check(BYTES)
            try:
                events = self.parser.feed_text(text)
            except ParseError as error:
                self.break_off(error.events)
                raise
            return self.framed(events)
        finally:
            self.leave()

    def _end(self, reason=None):
        """The frames of the last events; the terminal ones of an API are its own."""
        self.claim()
        try:
            self.check(BYTES)
            return self.framed(self.parser.finish(reason))
        finally:
            self.leave()

    @staticmethod
    def _listed(given):
        """Token ids as a list, from whatever Parser.feed() takes, by its rules."""
        cdef Ids ids
        cdef Py_ssize_t i
        ids_take(&ids, given)
        try:
            return [ids.ids[i] for i in range(ids.n)]
        finally:
            ids_free(&ids)

    # --- stages: new, bytes or dicts, then perhaps broken, ended ---

    def _start(self, bint dicts, /):
        """It is new, and from now on bytes, or dicts. Raises ValueError if it is not new."""
        self.check(NEW)
        self.stage = DICTS if dicts else BYTES

    def _check(self, bint dicts, /):
        """Raises ValueError unless it has started, and goes on, as bytes, or as dicts."""
        self.check(DICTS if dicts else BYTES)

    def _break(self):
        """Something was half done when it raised."""
        self.stage = BROKEN

    def _over(self):
        """It has ended, and takes nothing more. The frames that were made before it broke, if it did."""
        pending, self.pending = self.pending, b""
        self.stage = ENDED
        return pending

    @property
    def is_new(self):
        """Has it not started?"""
        return self.stage == NEW

    @property
    def ended(self):
        """Has it? Then it takes nothing more."""
        return self.stage == ENDED

    cdef int claim(self) except -1:
        """Without the GIL, another thread must not be inside. What _on_event calls is the same thread."""
        if FREE_THREADED:
            if self.owner == PyThread_get_thread_ident():
                self.depth += 1
                return 0
            if not enter(&self.busy):
                raise RuntimeError("this stream is in use by another thread")
            self.owner = PyThread_get_thread_ident()
            self.depth = 1
        return 0

    cdef void leave(self) noexcept:
        if FREE_THREADED:
            self.depth -= 1
            if self.depth == 0:
                self.owner = 0
                leave(&self.busy)

    cdef int check(self, uint8_t stage) except -1:
        if self.stage != stage:
            raise ValueError(REFUSALS[self.stage])
        return 0

    cdef int break_off(self, tuple events) except -1:
        """The parser has raised: what came before that is kept for error()."""
        self.pending = self.framed(events)
        self.stage = BROKEN
        return 0

    def _framed(self, str kind not None, str text not None):
        """One delta ("reasoning", "content" or "arguments") in its frame, kept as others are."""
        cdef uint8_t code = KINDS[kind]
        cdef Frame frame
        self.claim()
        try:
            frame = self.frame_of(code)
            if frame is None:
                raise ValueError(f"there is no {kind}_frame")
            self.out.n = 0
            self.put_delta(code, frame, text)
            return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)
        finally:
            self.leave()

    def _keep(self, str kind not None, str text not None):
        """Keep a delta's text that goes out some other way; what of it may go out."""
        cdef uint8_t code = KINDS[kind]
        self.claim()
        try:
            if code == R_ARGUMENTS and self.arguments_through is not None:
                return self.arguments_through.feed(text)
            self.put_delta(code, None, text)
            return text
        finally:
            self.leave()

    def _take(self, str kind not None):
        """What the deltas of this kind have said since the last _take()."""
        cdef Buffer* kept = self.kept(KINDS[kind])
        self.claim()
        try:
            text = json.loads(b'"' + (<const char*>kept.p)[:kept.n] + b'"') if kept.n else ""
            kept.n = 0
            return text
        finally:
            self.leave()

    # --- frames ---

    @property
    def _number(self):
        return self.number

    @_number.setter
    def _number(self, int64_t number):
        self.number = number

    @property
    def in_text(self):
        """Is it fed text? Then the parser counts bytes, not tokens."""
        return self.parser.s.text_mode == TEXT_MODE

    @property
    def _watched(self):
        return self.watched

    @_watched.setter
    def _watched(self, bint watched):
        self.watched = watched

    @property
    def _reasoning_frame(self):
        return self.reasoning_frame

    @_reasoning_frame.setter
    def _reasoning_frame(self, Frame frame):
        self.reasoning_frame = frame

    @property
    def _content_frame(self):
        return self.content_frame

    @_content_frame.setter
    def _content_frame(self, Frame frame):
        self.content_frame = frame

    @property
    def _arguments_frame(self):
        return self.arguments_frame

    @_arguments_frame.setter
    def _arguments_frame(self, Frame frame):
        self.arguments_frame = frame

    @property
    def _arguments_through(self):
        return self.arguments_through

    @_arguments_through.setter
    def _arguments_through(self, Arguments through):
        self.arguments_through = through

    cdef Frame frame_of(self, uint8_t kind):
        if kind == R_CONTENT:
            return self.content_frame
        return self.reasoning_frame if kind == R_REASONING else self.arguments_frame

    cdef Buffer* kept(self, uint8_t kind) noexcept:
        if kind == R_CONTENT:
            return &self.content
        return &self.reasoning if kind == R_REASONING else &self.arguments

    # --- filling ---

    cdef bytes one_frame(self, uint8_t kind, Frame frame, const uint8_t* text, Py_ssize_t n, bint unescaped):
        """Valid UTF-8 in its frame, without a detour. unescaped: nothing in it is escaped in JSON, as the vocabulary knows."""
        cdef Buffer* kept = self.kept(kind)
        cdef Py_ssize_t begin = kept.n
        cdef Filling filling
        cdef bytes whole
        if frame.silent:
            return b""
        if unescaped and (kind != R_ARGUMENTS or self.arguments_through is None):
            if not buffer_put(kept, text, n):
                raise MemoryError()
        elif not self.keep_text(kind, text, n):
            return b""
        filling = filling_of(frame, kept.p + begin, kept.n - begin, self.number)
        try:
            whole = PyBytes_FromStringAndSize(NULL, filled_size(frame, &filling))
        except MemoryError:
            kept.n = begin
            raise
        fill(frame, <uint8_t*>PyBytes_AS_STRING(whole), &filling)
        self.settle(kind, begin)
        self.number = <int64_t>(<uint64_t>self.number + 1)       # it wraps
        return whole

    cdef bytes feed_plain(self, Py_ssize_t tid):
        """A token that is nothing but text of the open sink."""
        cdef Parser parser = self.parser
        cdef const Tables* t = &parser.program.tables
        cdef uint8_t kind = parser.s.fast
        cdef Frame frame = self.frame_of(kind)
        cdef const uint8_t* text = t.text + t.offset[tid]
        cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid]
        cdef bytes whole
        if n > LONG or not t.classes[tid] & PLAIN:
            return self.framed(parser.feed(tid))
        whole = self.one_frame(kind, frame, text, n, t.classes[tid] & ESCAPES == 0)
        account_plain(parser, tid)
        return whole

    cdef bytes framed(self, tuple events):
        cdef Frame frame
        if not events:
            return b""
        self.out.n = 0
        try:
            for event in events:
                if type(event) is ContentDelta and self.content_frame is not None:
                    self.put_delta(R_CONTENT, self.content_frame, (<ContentDelta>event).text)
                elif type(event) is ToolCallDelta and self.arguments_frame is not None:
                    self.put_delta(R_ARGUMENTS, self.arguments_frame, (<ToolCallDelta>event).arguments)
                elif type(event) is ReasoningDelta and self.reasoning_frame is not None:
                    self.put_delta(R_REASONING, self.reasoning_frame, (<ReasoningDelta>event).text)
                else:
                    self.put_other(event)
        except BaseException:
            self.keep_out()
            raise
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)

    cdef int keep_out(self) except -1:
        """An event has raised: the frames before it are kept for error()."""
        self.stage = BROKEN
        self.pending = PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)
        return 0

    cdef bytes records(self, Out* out, Py_ssize_t begin, Py_ssize_t end):
        """The frames of a batch's records [begin, end), which are this stream's."""
        cdef Record* r
        cdef Frame frame
        cdef Py_ssize_t i
        if begin == end:
            return b""
        r = &out.records[begin]
        if end == begin + 1 and r.kind <= R_ARGUMENTS:
            frame = self.frame_of(r.kind)
            if frame is not None:
                return self.one_frame(r.kind, frame, out.text + r.at, r.n, False)
        self.out.n = 0
        try:
            for i in range(begin, end):
                r = &out.records[i]
                frame = self.frame_of(r.kind) if r.kind <= R_ARGUMENTS else None
                if frame is not None:
                    self.put_text(r.kind, frame, out.text + r.at, r.n)
                elif r.kind != R_EMPTY_ARGUMENTS or self.parser.empty_args:
                    event = self.parser.event_of(out, i)
                    if r.kind == R_EMPTY_ARGUMENTS and self.arguments_frame is not None:
                        self.put_delta(R_ARGUMENTS, self.arguments_frame, (<ToolCallDelta>event).arguments)
                    else:
                        self.put_other(event)
        except BaseException:
            self.keep_out()
            raise
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)

    cdef int put_other(self, object event) except -1:
        """What the callback makes of it. It may call _framed(), which uses `out`: so what is there stays aside meanwhile."""
        cdef Buffer before = self.out
        self.out.p = NULL
        self.out.n = self.out.cap = 0
        try:
            made = self._on_event(event)
        finally:
            buffer_free(&self.out)
            self.out = before
        if not isinstance(made, bytes):
            raise TypeError(f"_on_event returns bytes, not {type(made).__name__}")
        if not buffer_put(&self.out, <const uint8_t*>PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made)):
            raise MemoryError()
        return 0

    cdef int put_delta(self, uint8_t kind, Frame frame, str text) except -1:
        cdef Py_ssize_t n
        cdef const uint8_t* p
        try:
            p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        except UnicodeEncodeError:
            text = without_surrogates(text)
            p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        return self.put_text(kind, frame, p, n)

    cdef int put_text(self, uint8_t kind, Frame frame, const uint8_t* p, Py_ssize_t n) except -1:
        """Valid UTF-8, escaped into what is kept and from there into the frame."""
        cdef Buffer* kept = self.kept(kind)
        cdef Py_ssize_t begin = kept.n
        cdef Filling filling
        if (frame is not None and frame.silent) or not self.keep_text(kind, p, n):
            return 0
        if frame is not None:
            filling = filling_of(frame, kept.p + begin, kept.n - begin, self.number)
            if not buffer_room(&self.out, filled_size(frame, &filling)):
                kept.n = begin
                raise MemoryError()
            fill(frame, self.out.p + self.out.n, &filling)
            self.out.n += filled_size(frame, &filling)
            self.number = <int64_t>(<uint64_t>self.number + 1)       # it wraps
        self.settle(kind, begin)
        return 0

    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1:
        """Append what may go out of this text to what is kept, escaped: all or nothing. Is it anything?"""
        cdef Py_ssize_t begin
        if kind == R_ARGUMENTS and self.arguments_through is not None:
            begin = self.arguments_through.read(p, n)
            n = self.arguments_through.sent.n - begin
            if n == 0:
                return False
            p = self.arguments_through.sent.p + begin
        if not put_escaped(self.kept(kind), p, n):
            raise MemoryError()
        return True

    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept:
        """A text is in its frame: is it to be kept here?"""
        if kind == R_ARGUMENTS and self.arguments_through is not None:
            self.arguments.n = begin


cdef dict KINDS = {"reasoning": R_REASONING, "content": R_CONTENT, "arguments": R_ARGUMENTS}
