# From records to the bytes of server-sent events. A frame is prepared once, with holes for the text of a delta and for
# a running number. To fill it takes a few copies. An event without a frame goes to a method in Python: there are few
# such events in a stream.

import json

from cpython.pythread cimport PyThread_get_thread_ident
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
cimport cython
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.locks cimport FREE_THREADED, enter, leave, put_int
from harmonystream._native.wire.frame cimport Filling, Frame, Pieces, fill, fill_with
from harmonystream._native.core.out cimport out_init, out_record
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.open_stream cimport Guard
from harmonystream._native.stream.parser cimport Parser, Piece, plain_token, take_ids
from harmonystream._native.core.types cimport *
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.utf8 cimport without_surrogates

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

    The base of all emitters: feeds a parser, and writes its deltas into frames. A subclass has two methods.
    _on_event(event) gets every
    event that is no delta, and deltas that have no frame: it returns the bytes to send, or, for a delta, the Frame that
    this delta and those after it go into. _feed_with(ids, logprobs) returns the bytes for all that is fed with
    logprobs, or while `_watched` is set.

    `_number` is the next frame's. The text of deltas is kept until _take(). While `_arguments_through` is set, argument
    deltas pass that filter, which keeps their text.

    feed(), feed_text(), start, finish and error refuse, with RuntimeError, a second thread and what they have called
    themselves.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    def __cinit__(self, parser="harmony", *_, vocab=None, tools=None, **__):
        if not isinstance(parser, Parser):
            parser = Parser(parser, vocab, tools=tools)
        elif vocab is not None or tools is not None:
            raise TypeError("a parser has its vocabulary and its tools: give them to Parser()")
        self.parser = parser
        self.pending = b""
        self.frames = [None] * (N_DELTAS)
        self.check_fresh()

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is one response")

    def __repr__(self):
        stage = ("new", "under way", "under way, as dicts", "broken off", "ended")[self.w.stage]
        return f"<{type(self).__name__} of {self.parser.format}, {stage}>"

    def __dealloc__(self):
        cdef int kind
        for kind in range(N_DELTAS):
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
                # calls nothing in Python, so there is nobody to keep out
                made = self.feed_plain(tid)
                if made is not None:
                    return made
        self.claim_alone()
        try:
            self.check(BYTES)
            if logprobs is not None or self.watched:
                return self._feed_with(ids, logprobs)
            return self._read(ids)
        finally:
            self.leave()

    def _read(self, ids):
        """The frames that these token ids make, as feed() makes them of what is not watched."""
        cdef Ids span
        cdef Out out
        take_ids(&span, ids)
        try:
            self.parser.read_ids(span.ids, span.n, &out)
        finally:
            ids_free(&span)
        return self.frames_of(&out)

    def feed_text(self, text, /):
        """The frames that this text makes. Raises what Parser.feed_text() raises."""
        cdef Out out
        cdef Piece piece
        cdef str whole
        self.claim_alone()
        try:
            self.check(BYTES)
            whole = self.parser.read_text(text, &out, &piece)
            return self.frames_of(&out) if whole is None else self.piece(&piece)
        finally:
            self.leave()

    def _end(self, reason=None):
        """The frames of the last events; the terminal ones of an API are its own."""
        cdef Out out
        self.claim_alone()
        try:
            self.check(BYTES)
            return self.frames_of(&out) if self.parser.read_end(reason, &out) else b""
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
        self.claim_alone()
        try:
            self.check(NEW)
            self.check_fresh()
            self.w.stage = DICTS if dicts else BYTES
        finally:
            self.leave()

    def _check(self, bint dicts, /):
        """Raises ValueError unless it has started, and goes on, as bytes, or as dicts."""
        self.check(DICTS if dicts else BYTES)

    def _enter(self):
        """For what Python reads from the parser: nobody else may be inside until _leave()."""
        self.claim_alone()

    def _leave(self):
        """After _enter()."""
        self.leave()

    def _break(self):
        """Something was half done when it raised."""
        self.w.stage = BROKEN

    def _over(self):
        """It has ended, and takes nothing more. The frames that were made before it broke, if it did."""
        self.claim_alone()
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
        """For what a callback may call while its verb is inside: refuses another thread's, and a batch's step in
        another thread.
        """
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

    cdef int claim_alone(self) except -1:
        """For the verbs: refuses also what this stream, or a batch's step, has called in the same thread."""
        cdef Guard guard = self.parser.guard
        self.claim()
        if self.w.depth > 1 or (not FREE_THREADED and guard is not None and guard.stepping):
            self.leave()
            raise RuntimeError("this stream is in use: another thread is inside, or a callback has called its own "
                               "stream")
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
            raise ValueError(f"this parser has read up to {self.parser.s.position}: what it said is lost to an "
                             f"emitter; give it a fresh one")
        return 0

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
        return self.parser.s.input_mode == TEXT_MODE

    @property
    def _watched(self):
        return self.watched

    @_watched.setter
    def _watched(self, bint watched):
        self.claim()
        self.watched = watched
        self.leave()

    cdef int set_frame(self, uint8_t kind, Frame frame) except -1:
        self.w.frames[kind] = &frame.pieces
        self.frames[kind] = frame
        return 0

    def _no_frames(self):
        """None for any kind."""
        cdef int code
        self.claim()
        for code in range(N_DELTAS):
            self.w.frames[code] = NULL
            self.frames[code] = None
        self.leave()

    @property
    def _arguments_through(self):
        return self.arguments_through

    @_arguments_through.setter
    def _arguments_through(self, Arguments through):
        self.claim()
        self.w.filtered = through is not None
        self.arguments_through = through
        self.leave()

    # --- filling ---

    cdef bytes one_frame(self, uint8_t kind, const uint8_t* text, Py_ssize_t n, bint unescaped):
        """Valid UTF-8 in its frame, without a detour. unescaped: nothing in it is escaped in JSON, as the vocabulary
        knows.
        """
        cdef const Pieces* frame = self.w.frames[kind]
        cdef Buffer* kept = &self.w.kept[kind]
        cdef Py_ssize_t begin = kept.n
        if frame.silent:
            return b""
        if unescaped and (kind != R_ARGUMENTS or not self.w.filtered):
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

    cdef bytes piece(self, const Piece* piece):
        """The frame of a piece of text that is one delta."""
        cdef Parser parser = self.parser
        cdef Out out
        cdef Record* r
        cdef int64_t start = parser.s.position
        out_init(&out)
        parser.take_piece(piece)
        r = out_record(&out, parser.s.sink, start, parser.s.position)
        r.channel, r.index, r.n = parser.s.channel_code, parser.s.calls, piece.n
        out.text = <uint8_t*>piece.p
        try:
            return self.records(&out, 0, 1)
        finally:
            leave(&parser.busy)

    cdef bytes frames_of(self, Out* out):
        """The frames of what the parser has just read. It stays claimed meanwhile: nobody may change the stream between
        two records.
        """
        cdef Parser parser = self.parser
        cdef tuple events
        try:
            parser.check_memory(out)
            if not parser.s.error:
                return self.records(out, 0, out.n_records)
            events = parser.preview(out)
            # what came before the error is kept for error()
            self.pending = self.records(out, 0, out.n_records)
            self.w.stage = BROKEN
            raise parser.failure(events)
        finally:
            parser.done(out)

    cdef bytes records(self, const Out* out, Py_ssize_t begin, Py_ssize_t end):
        """The frames of these records, which are this stream's."""
        cdef const Record* r
        cdef Py_ssize_t i = begin
        if begin == end:
            return b""
        r = &out.records[begin]
        if end == begin + 1 and r.kind <= R_ARGUMENTS and self.w.frames[r.kind] != NULL:
            return self.one_frame(r.kind, out.text + r.at, r.n, False)
        self.out.n = 0
        try:
            while i < end:
                i += 1
                self.put_record(out, i - 1)
        except BaseException:
            self.w.stage = BROKEN
            # the frames before are kept for error()
            self.pending = PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)
            # the parser must know which message is open
            while i < end:
                self.parser.event_of(out, i)
                i += 1
            raise
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)

    cdef int put_record(self, const Out* out, Py_ssize_t i) except -1:
        cdef const Record* r = &out.records[i]
        cdef uint8_t kind = r.kind
        cdef const uint8_t* text = out.text + r.at
        cdef Py_ssize_t n = r.n
        cdef str empty
        if kind == R_EMPTY_ARGUMENTS:
            if not self.parser.empty_args:
                return 0
            kind = R_ARGUMENTS
            empty = sendable(self.parser.empty_args)
            text = <const uint8_t*>PyUnicode_AsUTF8AndSize(empty, &n)
        if kind <= R_ARGUMENTS and self.w.frames[kind] != NULL:
            return self.put_frame(kind, text, n)
        return self.put_python(kind, self.parser.event_of(out, i), text, n)

    cdef int put_python(self, uint8_t kind, object event, const uint8_t* text, Py_ssize_t n) except -1:
        """What the callback makes of the event: bytes, or the frame that this delta and those after it go into."""
        made = self._on_event(event)
        if isinstance(made, Frame) and kind <= R_ARGUMENTS:
            self.set_frame(kind, made)
            return self.put_frame(kind, text, n)
        if not isinstance(made, bytes):
            raise TypeError(f"_on_event returns bytes, or a Frame for a delta, not {type(made).__name__}")
        if not buffer_put(&self.out, <const uint8_t*>PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made)):
            raise MemoryError()
        return 0

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
        if kind == R_ARGUMENTS and self.w.filtered:
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
        if kind == R_ARGUMENTS and self.w.filtered:
            self.w.kept[kind].n = begin


cdef str sendable(str text):
    """Lone surrogates become U+FFFD; all else is as it was."""
    try:
        PyUnicode_AsUTF8AndSize(text, NULL)
        return text
    except UnicodeEncodeError:
        return without_surrogates(text)


cdef dict KINDS = {"reasoning": R_REASONING, "content": R_CONTENT, "arguments": R_ARGUMENTS}


name_errors(SseWriter)
