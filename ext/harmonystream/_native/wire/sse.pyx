# From events to the bytes of server-sent events. A frame is prepared once, with holes for the text of a delta and for a running number; to
# fill it is a few copies. What has no frame goes to a method in Python: there are few such events in a stream.

import json

from cpython.pythread cimport PyThread_get_thread_ident
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
cimport cython
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport FREE_THREADED, PyUnicode_AsUTF8AndSize, enter, leave, put_int
from harmonystream._native.wire.frame cimport Filling, Frame, Pieces, fill, fill_with
from harmonystream._native.stream.events cimport ContentDelta, ReasoningDelta, ToolCallDelta
from harmonystream._native.stream.guard cimport Guard
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.parser cimport Parser, plain_token
from harmonystream._native.core.types cimport *
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.utf8 cimport without_surrogates

from harmonystream.errors import ParseError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    LONG = 4096                        # bytes of a token that is rare enough to go the long way


cdef tuple REFUSALS = (
    "this stream has not started: start() comes first",
    "this stream has started and is bytes: start() comes once, events() is for one that is dicts from its beginning",
    "this stream has started and is dicts: go on with events()",
    "this stream has raised in the middle of something: error() is what can still end it",
    "this stream has ended: make another one",
)


cdef class SseWriter:
    """SseWriter(parser, ...)
--

    What emitters are made of: feeds a parser and frames its deltas. A subclass has _on_event(event) -> bytes for every other event, and for
    deltas without a frame; and _feed_with(ids, logprobs) -> bytes, to which everything goes that is fed with logprobs, or while
    `_watched` is set. Its other arguments are its own.

    Frames may be set at any time, also by _on_event. `_number` is the next frame's. The deltas' text is kept until _take(). With
    `_arguments_through` set, deltas of arguments are what that lets through of them, and it keeps them.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    def __cinit__(self, parser="harmony", *_, vocab=None, tools=None, **__):
        if not isinstance(parser, Parser):
            parser = Parser(parser, vocab, tools=tools)
        elif vocab is not None or tools is not None:
            raise TypeError("a parser has its vocabulary and its tools: give them to Parser()")
        self.parser = parser
        self.pending = b""
        self.frames = [None] * (R_ARGUMENTS + 1)
        self.check_fresh()

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is one response")

    def __repr__(self):
        stage = ("new", "under way", "under way, as dicts", "broken off", "ended")[self.w.stage]
        return f"<{type(self).__name__} of {self.parser.format}, {stage}>"

    def __dealloc__(self):
        cdef int kind
        for kind in range(R_ARGUMENTS + 1):
            buffer_free(&self.w.kept[kind])
        buffer_free(&self.out)

    def feed(self, ids, /, logprobs=None):
        """The frames that these token ids make: none, one or several. Raises what Parser.feed() raises.

        logprobs: the API's object for each of them, in Chat Completions; ValueError if it is another number of them.
        """
        cdef Py_ssize_t tid
        cdef bytes made
        if not FREE_THREADED and logprobs is None and not self.watched and self.w.stage == BYTES:
            tid = plain_token(self.parser, ids)                              # none if it is in a batch
            if tid >= 0 and self.w.frames[self.parser.s.fast] != NULL:
                made = self.feed_plain(tid)                                  # calls nothing in Python, so there is nobody to keep out
                if made is not None:
                    return made
        self.claim()
        try:
            self.check(BYTES)
            if logprobs is not None or self.watched:
                return self._feed_with(ids, logprobs)
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
        self.claim()
        try:
            self.check(NEW)
            self.check_fresh()
            self.w.stage = DICTS if dicts else BYTES
        finally:
            self.leave()

    def _check(self, bint dicts, /):
        """Raises ValueError unless it has started, and goes on, as bytes, or as dicts."""
        self.check(DICTS if dicts else BYTES)

    def _break(self):
        """Something was half done when it raised."""
        self.w.stage = BROKEN

    def _over(self):
        """It has ended, and takes nothing more. The frames that were made before it broke, if it did."""
        self.claim()
        pending, self.pending = self.pending, b""
        self.w.stage = ENDED
        self.leave()
        return pending

    @property
    def is_new(self):
        """Has it not started?"""
        return self.w.stage == NEW

    @property
    def ended(self):
        """Has it? Then it takes nothing more."""
        return self.w.stage == ENDED

    cdef int claim(self) except -1:
        """Nobody else must be inside: another thread without the GIL, or a batch's step. What _on_event calls is the same thread."""
        cdef Guard guard
        if not FREE_THREADED:
            guard = self.parser.guard
            if guard is not None and guard.stepping and guard.owner != PyThread_get_thread_ident():
                raise RuntimeError("this stream is in use by a batch, in another thread")
        elif self.w.owner != PyThread_get_thread_ident():
            if not enter(&self.w.busy):
                raise RuntimeError("this stream is in use by another thread")
            self.w.owner = PyThread_get_thread_ident()
        self.w.depth += 1
        return 0

    cdef void leave(self) noexcept:
        put_int(&self.w.depth, self.w.depth - 1)
        if FREE_THREADED and self.w.depth == 0:
            self.w.owner = 0
            leave(&self.w.busy)

    cdef int check(self, uint8_t stage) except -1:
        if self.w.stage != stage:
            raise ValueError(REFUSALS[self.w.stage])
        return 0

    cdef int check_fresh(self) except -1:
        if self.parser.s.position or self.parser.s.finished:
            raise ValueError(f"this parser has read up to {self.parser.s.position}: what it said is lost to an emitter; give it a fresh one")
        return 0

    cdef int break_off(self, tuple events) except -1:
        """The parser has raised: what came before that is kept for error()."""
        self.pending = self.framed(events)
        self.w.stage = BROKEN
        return 0

    def _framed(self, str kind not None, str text not None):
        """One delta ("reasoning", "content" or "arguments") in its frame, kept as others are."""
        cdef uint8_t code = KINDS[kind]
        self.claim()
        try:
            if self.w.frames[code] == NULL:
                raise ValueError(f"there is no frame for {kind}")
            self.out.n = 0
            self.put_delta(code, text)
            return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)
        finally:
            self.leave()

    def _keep(self, str kind not None, str text not None):
        """Keep a delta's text that goes out some other way; what of it may go out."""
        cdef uint8_t code = KINDS[kind]
        cdef Py_ssize_t n
        cdef const uint8_t* p
        self.claim()
        try:
            if code == R_ARGUMENTS and self.arguments_through is not None:
                return self.arguments_through.feed(text)
            clean = sendable(text)
            p = <const uint8_t*>PyUnicode_AsUTF8AndSize(clean, &n)
            self.keep_text(code, p, n)
            return text
        finally:
            self.leave()

    def _take(self, str kind not None):
        """What the deltas of this kind have said since the last _take()."""
        cdef Buffer* kept = &self.w.kept[<uint8_t>KINDS[kind]]
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
        return self.w.number

    @_number.setter
    def _number(self, int64_t number):
        self.claim()
        self.w.number = number
        self.leave()

    @property
    def in_text(self):
        """Is it fed text? Then the parser counts bytes, not tokens."""
        return self.parser.s.text_mode == TEXT_MODE

    @property
    def _watched(self):
        return self.watched

    @_watched.setter
    def _watched(self, bint watched):
        self.claim()
        self.watched = watched
        self.leave()

    def _set_frame(self, str kind not None, Frame frame):
        """The frame of deltas of this kind; None: _on_event handles them."""
        cdef uint8_t code = KINDS[kind]
        self.claim()
        self.w.frames[code] = NULL if frame is None else &frame.pieces
        self.frames[code] = frame
        self.leave()

    def _no_frames(self):
        """None for any kind."""
        cdef int code
        self.claim()
        for code in range(R_ARGUMENTS + 1):
            self.w.frames[code] = NULL
            self.frames[code] = None
        self.leave()

    @property
    def _arguments_through(self):
        return self.arguments_through

    @_arguments_through.setter
    def _arguments_through(self, Arguments through):
        self.claim()
        self.w.through = through is not None
        self.arguments_through = through
        self.leave()

    # --- filling ---

    cdef bytes one_frame(self, uint8_t kind, const uint8_t* text, Py_ssize_t n, bint unescaped):
        """Valid UTF-8 in its frame, without a detour. unescaped: nothing in it is escaped in JSON, as the vocabulary knows."""
        cdef const Pieces* frame = self.w.frames[kind]
        cdef Buffer* kept = &self.w.kept[kind]
        cdef Py_ssize_t begin = kept.n
        if frame.silent:
            return b""
        if unescaped and (kind != R_ARGUMENTS or not self.w.through):
            if not buffer_put(kept, text, n):
                raise MemoryError()
        elif not self.keep_text(kind, text, n):
            return b""
        return self.kept_frame(kind, begin)

    cdef bytes kept_frame(self, uint8_t kind, Py_ssize_t begin):
        """What has been kept last, from `begin`, in its frame."""
        cdef const Pieces* frame = self.w.frames[kind]
        cdef Buffer* kept = &self.w.kept[kind]
        cdef Filling filling
        cdef Py_ssize_t size = fill_with(&filling, frame, kept.p + begin, kept.n - begin, self.w.number)
        cdef bytes whole
        try:
            whole = PyBytes_FromStringAndSize(NULL, size)
        except MemoryError:
            kept.n = begin
            raise
        fill(frame, <uint8_t*>PyBytes_AS_STRING(whole), &filling)
        self.settle(kind, begin)
        return whole

    cdef bytes feed_plain(self, Py_ssize_t tid):
        """A token that is nothing but text of the open sink; None if it is an odd one."""
        cdef Parser parser = self.parser
        cdef const Tables* t = &parser.program.tables
        cdef const uint8_t* text = t.text + t.offset[tid]
        cdef Py_ssize_t n = t.offset[tid + 1] - t.offset[tid]
        cdef bytes whole
        if n > LONG or not t.classes[tid] & PLAIN:
            return None
        whole = self.one_frame(parser.s.fast, text, n, t.classes[tid] & ESCAPES == 0)
        account_plain(&parser.s, t, <uint32_t>tid, True)
        return whole

    cdef bytes framed(self, tuple events):
        if not events:
            return b""
        self.out.n = 0
        try:
            for event in events:
                if type(event) is ContentDelta and self.w.frames[<int>R_CONTENT] != NULL:
                    self.put_delta(R_CONTENT, (<ContentDelta>event).text)
                elif type(event) is ToolCallDelta and self.w.frames[<int>R_ARGUMENTS] != NULL:
                    self.put_delta(R_ARGUMENTS, (<ToolCallDelta>event).arguments)
                elif type(event) is ReasoningDelta and self.w.frames[<int>R_REASONING] != NULL:
                    self.put_delta(R_REASONING, (<ReasoningDelta>event).text)
                else:
                    self.put_other(event)
        except BaseException:
            self.keep_out()
            raise
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)

    cdef int keep_out(self) except -1:
        """An event has raised: the frames before it are kept for error()."""
        self.w.stage = BROKEN
        self.pending = PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)
        return 0

    cdef bytes records(self, Out* out, Py_ssize_t begin, Py_ssize_t end):
        """The frames of a batch's records [begin, end), which are this stream's."""
        cdef Record* r
        cdef Py_ssize_t i
        if begin == end:
            return b""
        r = &out.records[begin]
        if end == begin + 1 and r.kind <= R_ARGUMENTS and self.w.frames[r.kind] != NULL:
            return self.one_frame(r.kind, out.text + r.at, r.n, False)
        self.out.n = 0
        try:
            for i in range(begin, end):
                r = &out.records[i]
                if r.kind <= R_ARGUMENTS and self.w.frames[r.kind] != NULL:
                    self.put_frame(r.kind, out.text + r.at, r.n)
                elif r.kind != R_EMPTY_ARGUMENTS or self.parser.empty_args:
                    event = self.parser.event_of(out, i)
                    if r.kind == R_EMPTY_ARGUMENTS and self.w.frames[<int>R_ARGUMENTS] != NULL:
                        self.put_delta(R_ARGUMENTS, (<ToolCallDelta>event).arguments)
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

    cdef int put_delta(self, uint8_t kind, str text) except -1:
        """A delta into its frame."""
        cdef Py_ssize_t n
        cdef const uint8_t* p
        text = sendable(text)
        p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        return self.put_frame(kind, p, n)

    cdef int put_frame(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1:
        """Valid UTF-8, escaped into what is kept and from there into the frame."""
        cdef const Pieces* frame = self.w.frames[kind]
        cdef Buffer* kept = &self.w.kept[kind]
        cdef Py_ssize_t begin = kept.n, size
        cdef Filling filling
        if frame.silent or not self.keep_text(kind, p, n):
            return 0
        size = fill_with(&filling, frame, kept.p + begin, kept.n - begin, self.w.number)
        if not buffer_room(&self.out, size):
            kept.n = begin
            raise MemoryError()
        fill(frame, self.out.p + self.out.n, &filling)
        self.out.n += size
        self.settle(kind, begin)
        return 0

    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1:
        """Append what may go out of this text to what is kept, escaped: all or nothing. Is it anything?"""
        cdef Py_ssize_t begin
        if kind == R_ARGUMENTS and self.w.through:
            begin = self.arguments_through.read(p, n)
            n = self.arguments_through.sent.n - begin
            if n == 0:
                return False
            p = self.arguments_through.sent.p + begin
        if not put_escaped(&self.w.kept[kind], p, n):
            raise MemoryError()
        return True

    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept:
        """A text is in its frame: is it to be kept here?"""
        self.w.number = <int64_t>(<uint64_t>self.w.number + 1)       # it wraps
        if kind == R_ARGUMENTS and self.w.through:
            self.w.kept[kind].n = begin


cdef str sendable(str text):
    """Lone surrogates become U+FFFD; all else is as it was."""
    try:
        PyUnicode_AsUTF8AndSize(text, NULL)
        return text
    except UnicodeEncodeError:
        return without_surrogates(text)


cdef dict KINDS = {"reasoning": R_REASONING, "content": R_CONTENT, "arguments": R_ARGUMENTS}
