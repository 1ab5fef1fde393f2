# From records to the bytes of server-sent events. A frame is prepared once, with holes for the text of a delta and for
# a running number. To fill it takes a few copies. An event without a frame goes to a method in Python: there are few
# such events in a stream.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
cimport cython
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.locks cimport FREE_THREADED, enter, leave, put_int
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.out cimport out_init, out_record
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport without_surrogates
from harmonystream._native.stream.open_stream cimport Place, check_memory, untold
from harmonystream._native.stream.parser cimport Parser, plain_token, take_ids
from harmonystream._native.stream.plain_piece cimport Piece, account_piece
from harmonystream._native.wire.frame cimport Filling, Frame, Pieces, fill, fill_with
from harmonystream._native.wire.journal cimport forget_text, keep_sent, note_run, read_journal, text_of
from harmonystream._native.wire.json_filter cimport Arguments, filter_read
from harmonystream._native.wire.script cimport Script, ScriptTable
from harmonystream._native.wire.write cimport *
from harmonystream._native.wire.writer cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    LONG = 4096                        # bytes of a token that is rare enough to go the long way
    MOST_TOKENS = 1 << 30              # of a usage that is plain


cdef tuple REFUSALS = (
    "this stream has not started: start() comes first",
    "this stream has started and is bytes: start() comes once, events() is for one that is dicts from its beginning",
    "this stream has started and is dicts: go on with events()",
    "this stream has raised in the middle of something: error() is what can still end it",
    "this stream has ended: make another one",
)


@cython.auto_pickle(False)
cdef class SseWriter:
    """SseWriter(parser, ...)
--

    The base of all emitters: feeds a parser, and writes its deltas into frames. A subclass has two methods.
    _on_event(event) gets all events but deltas, and deltas that have no frame. It returns the bytes to send, or a
    Frame: for a delta the one that this delta and those after it go into, for another event one without a hole for
    text. _feed_with(ids, logprobs) returns the bytes for all that is fed with logprobs, or while `_watched` is set.

    `_number` is the next frame's. The text of deltas is kept until _take(). While `_arguments_through` is set, argument
    deltas pass that filter, which keeps their text.

    feed(), feed_text(), start, finish and error raise RuntimeError in a second thread, and in a callback that they
    have called.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    def __cinit__(self, parser="harmony", *_, vocab=None, tools=None, bint _moved=False, **__):
        if not isinstance(parser, Parser):
            parser = Parser(parser, vocab, tools=tools)
        elif vocab is not None or tools is not None:
            raise TypeError("a parser has its vocabulary and its tools: give them to Parser()")
        self.parser = parser
        if self.parser.watcher is not None:
            raise ValueError("an API has no watched values: give the emitter a parser without watch=, and feed one "
                             "with it the same ids")
        self.pending = b""
        if not _moved:
            self.check_fresh()

    def __dealloc__(self):
        cdef int kind
        for kind in range(N_DELTAS):
            buffer_free(&self.w.kept[kind])
        written_free(&self.w.written)
        buffer_free(&self.out)

    def __sizeof__(self):
        """Bytes, with the text that is kept, and without the parser."""
        cdef const Written* t = &self.w.written
        cdef Py_ssize_t size = self.out.cap + t.bound_text.cap
        cdef int kind
        for kind in range(N_DELTAS):
            size += self.w.kept[kind].cap
        return (object.__sizeof__(self) + size + t.constants.cap + t.name.cap + t.call_id.cap + t.usage.cap
                + t.hook.cap + t.output.cap + t.journal.cap)

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is one response")

    def __repr__(self):
        stage = ("new", "under way", "under way, as dicts", "broken off", "ended")[self.w.stage]
        return f"<{type(self).__name__} of {self.parser.format}, {stage}>"

    # --- stages: new, bytes or dicts, then perhaps broken, ended ---

    def _start(self, bint dicts, /):
        """It is new, and from now on bytes, or dicts. Raises ValueError if it is not new."""
        self.claim_alone()
        try:
            self.check(NEW)
            self.take_parser()
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
        self.break_off()

    cdef void break_off(self) noexcept:
        self.w.stage = BROKEN
        if not FREE_THREADED and self.parser.place != NULL:
            self.parser.place.open = False                                   # a batch's next step looks at the stage

    def _over(self):
        """It has ended, and takes nothing more. The frames that were made before it broke, if it did."""
        self.claim_alone()
        pending, self.pending = self.pending, b""
        self.w.stage = ENDED
        self.leave()
        return pending

    @property
    def is_new(self):
        """True until it has started."""
        return self.w.stage == NEW

    @property
    def ended(self):
        """True after its end: it takes nothing more."""
        return self.w.stage == ENDED

    cdef int claim(self) except -1:
        """For what a callback may call while its verb is inside: refuses another thread's, and a batch's step in
        another thread.
        """
        # Without a GIL, another thread may write `owner` while it is read here. Only this thread writes its own number,
        # so the answer is right whatever is read of another one; a word is read whole on all platforms of CPython.
        cdef Place* place
        cdef unsigned long thread = PyThread_get_thread_ident()
        if not FREE_THREADED:
            place = self.parser.place
            if place != NULL:
                if place.guard.stepping and place.guard.owner != thread:
                    raise RuntimeError("this stream is in use by a batch, in another thread")
                place.open = False
            if self.w.depth and self.w.owner != thread:
                raise RuntimeError("this stream is in use by another thread")
        elif self.w.owner != thread and not enter(&self.w.busy):
            raise RuntimeError("this stream is in use by another thread")
        self.w.owner = thread
        self.w.depth += 1
        return 0

    cdef int claim_alone(self) except -1:
        """For the verbs: refuses also what this stream, or a batch's step, has called in the same thread."""
        cdef const Place* place = self.parser.place
        self.claim()
        if self.w.depth > 1 or (not FREE_THREADED and place != NULL and place.guard.stepping):
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

    cdef int take_parser(self) except -1:
        """It starts: from now on the parser's events are this emitter's."""
        self.check_fresh()
        if self.parser.written:
            raise ValueError("another emitter has started with this parser, and would lack what this one reads: give "
                             "each emitter a parser of its own")
        self.parser.written = True
        return 0

    cdef int check_fresh(self) except -1:
        if self.parser.s.position or untold(self.parser) or self.parser.s.finished:
            raise ValueError(f"this parser has read up to {self.parser.position}: an emitter would lack its "
                             f"events; give it a fresh one")
        return 0

    # --- the start ---

    def _begin_script(self, Script script not None, tuple constants not None, bint asks_ids, str usage not None,
                      bytes opening, /):
        """It is new, and from now on bytes, by this script. The first frames.

        constants: the response's id, when it was created, the stem of ids, the model, and the JSON of what it begins
        with; None: the script has that. asks_ids: `_call_ids` decides the id of each call. usage: as JSON, what is
        known of it at the beginning. opening: the first frames, if they are not the script's.
        """
        cdef Py_ssize_t n
        cdef const uint8_t* p
        self.claim_alone()
        try:
            self.check(NEW)
            self.take_parser()
            self.set_script(script, constants, asks_ids)
            p = <const uint8_t*>PyUnicode_AsUTF8AndSize(usage, &n)
            self.out.n = self.w.written.usage.n = 0
            if n and not buffer_put(&self.w.written.usage, p, n):
                raise MemoryError()
            if opening is None and not write_frame(&self.w, &script.table.opening, &self.out):
                raise MemoryError()
            self.w.stage = BYTES
            return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n) if opening is None else opening
        finally:
            self.leave()

    cdef int set_script(self, Script script, tuple constants, bint asks_ids) except -1:
        cdef Written* t = &self.w.written
        cdef str head = constants[4]
        self.script = script
        if not buffer_room(&t.constants, CONSTANTS_ROOM) or not buffer_room(&t.journal, JOURNAL_ROOM):
            raise MemoryError()
        self.put_constant(0, constants[0], True)
        self.put_constant(1, constants[1], False)
        self.put_constant(2, constants[2], True)
        self.put_constant(3, constants[3], True)
        t.script, t.stale, t.asks_ids = &script.table, &self.parser.stale, asks_ids
        t.parts = self.parser.trims
        if head is not None:
            return self.put_constant(4, head, False)
        if not write_frame(&self.w, &script.table.head, &t.hook) or not buffer_put(&t.constants, t.hook.p, t.hook.n):
            raise MemoryError()
        t.constant_at[5] = t.constants.n
        t.hook.n = 0
        return 0

    cdef int put_constant(self, int k, str text, bint escaped) except -1:
        cdef Written* t = &self.w.written
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        if not (put_escaped(&t.constants, p, n) if escaped else buffer_put(&t.constants, p, n)):
            raise MemoryError()
        t.constant_at[k + 1] = t.constants.n
        return 0

    # --- the verbs ---

    def feed(self, ids, /, logprobs=None):
        """The frames that these token ids make: none, one or several. Raises what Parser.feed() raises.

        logprobs: the API's object for each of them, in Chat Completions; ValueError if it is another number of them.
        """
        cdef Py_ssize_t tid
        cdef bytes made
        if (not FREE_THREADED and logprobs is None and not self.watched and self.w.stage == BYTES
                and not self.w.depth):
            tid = plain_token(self.parser, ids)                              # none if it is in a batch
            if tid >= 0 and self.w.frames[self.parser.s.fast] != NULL:
                # it calls nothing in Python, so nobody can come in until it is done
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

    def _end_plainly(self, str reason, usage, /):
        """All last frames, if the script has them for this reason and usage; then the response has ended. None: Python
        must end it.

        _end_after() adds what Python must write after all. Raises what checked_usage() raises.
        """
        return self.end_plainly(reason, usage)

    cdef bytes end_plainly(self, str reason, object usage):
        cdef Out out
        cdef const Stream* s = &self.parser.s
        cdef const ScriptTable* script = self.w.written.script
        cdef bytes made
        self.claim_alone()
        try:
            self.check(BYTES)
            if script == NULL or reason not in self.script.reasons:
                return None
            self.counted = not (script.counted and s.input_mode == TEXT_MODE) and self.take_counts(usage)
            if self.counted:
                usage = None if usage is None else dict(usage)
            else:
                if script.closing_usage.items == NULL:
                    return None
                usage = self.checked_usage(usage)
                if not self._has_usage_frame(usage):
                    return None
            if not self.parser.read_end(reason, &out):
                return None
            self.usage, self.ends_plainly = usage, True
            made = self.frames_of(&out)
            if self.end_word is not None:
                self.w.stage = ENDED
                return made
        finally:
            self.leave()
        return self._end_after(made)

    @property
    def _usage_at_end(self):
        """What finish() has been given, of a response that the script has ended."""
        return self.usage

    cdef bint take_counts(self, object usage) except -1:
        """Are the API's plain counts all that the usage has? -1 is a count that it has not."""
        cdef int64_t* counts = self.w.written.counts
        cdef tuple names = self._counts
        cdef Py_ssize_t found = 0
        cdef int k
        cdef object value
        counts[<int>IN_PROMPT] = self._prompt_tokens
        counts[<int>IN_RESPONSE] = counts[<int>IN_TOTAL] = -1
        if counts[<int>IN_PROMPT] < 0:                                       # more is known of the usage
            return False
        if usage is None:
            return True
        if type(usage) is not dict or len(<dict>usage) > len(names):
            return False
        for k in range(len(names)):
            value = (<dict>usage).get(names[k])
            if value is None:
                continue
            if type(value) is not int or not 0 <= value < MOST_TOKENS:
                return False
            counts[k] = value
            found += 1
        return found == len(<dict>usage)

    # --- the script ---

    @property
    def _is_scripted(self):
        """Does the script write what happens? Then Python may not know yet: see _journal()."""
        return self.w.written.script != NULL

    @property
    def _trims(self):
        """Does the parser write a newline between texts around a call?"""
        return bool(self.parser.trims)

    @property
    def _word_written(self):
        """The API's reason, if the script has written the end of the response, too; else None."""
        return self.end_word

    @property
    def _calls_written(self):
        """The calls that the script has shown."""
        return self.w.written.calls

    @property
    def _items_written(self):
        """The items that the script has shown."""
        return self.w.written.items

    @property
    def _output_written(self):
        """The items that are done, as the script has them, each after a comma."""
        cdef const Buffer* output = &self.w.written.output
        return (<const char*>output.p)[:output.n].decode() if output.n else ""

    @property
    def _head_written(self):
        """The JSON of what the response begins with."""
        cdef Written* t = &self.w.written
        return (<const char*>t.constants.p)[t.constant_at[4]:t.constant_at[5]].decode() if t.constants.n else ""

    def _cut_from_here(self):
        """From here on a message that no token ends is cut. In the journal this is None."""
        self.w.written.cut = True
        if not note_run(&self.w, R_NONE, 0, False):
            raise MemoryError()

    def _leave_script(self):
        """From here on, Python writes every frame."""
        self.claim()
        try:
            if self.w.written.script != NULL:
                self._catch_up()
                self.w.written.script = NULL
                self.drop_frames()
        finally:
            self.leave()

    def _journal(self):
        """The events that Python does not know yet, and the filter of an open call's arguments. It knows them now. The
        text of deltas is one event for each run.
        """
        cdef list events = []
        cdef bint alone                                                      # no verb, which has the parser, is inside
        self.claim()
        try:
            if self.w.written.script != NULL:
                alone = FREE_THREADED and self.w.depth == 1
                if alone:                                                    # replay() names the parser's open message
                    self.parser.claim(NO_INPUT)
                try:
                    read_journal(&self.w, self.parser, events)
                finally:
                    if alone:
                        leave(&self.parser.busy)
                if self.w.written.blank:                                        # Python holds it now
                    self.w.written.script = NULL
                    self.drop_frames()
            return events, self.open_filter()
        finally:
            self.leave()

    def _caught_up(self, filter, /):
        """Called after _journal(), when Python has seen all of it. What is open continues where it was."""
        cdef Written* t = &self.w.written
        self.claim()
        try:
            if t.script == NULL:
                return
            self.set_filter(filter)
            t.journal.n = t.item_at = 0
            if t.open == R_ARGUMENTS and filter is not None:
                keep_sent(&self.w)
            if t.open and not note_run(&self.w, t.open, self.w.kept[t.open].n, True):
                raise MemoryError()
            if t.open == R_ARGUMENTS and filter is not None:
                self.w.kept[t.open].n = 0
        finally:
            self.leave()

    cdef Arguments open_filter(self):
        """Of the open call's arguments; None: there is none. One that has ended is used again for the next call."""
        return self.arguments_through if self.w.filtered else None

    cdef void set_filter(self, Arguments filter) noexcept:
        self.arguments_through = filter
        self.w.filter = NULL if filter is None else &filter.f
        self.w.filtered = filter is not None

    cdef int hook(self, const Record* r, const uint8_t* text) except -1:
        """Does what write_record() needs from Python before it can write this record."""
        cdef Written* t = &self.w.written
        cdef const Buffer* kept
        cdef str own = None
        if t.open == R_REASONING and t.script.signed:
            kept = &self.w.kept[<int>R_REASONING]
            self.put_hook(self._sign(text_of(kept, t.item_at, kept.n)))
        if r.kind == R_CALL_START and t.script.filtered and self.arguments_through is None:
            self.set_filter(self._new_filter())
        if r.kind == R_CALL_START and (r.n_id or t.asks_ids):
            if r.n_id:
                own = (<const char*>text)[r.at + r.n:r.at + r.n + r.n_id].decode("utf-8", "replace")
                t.asks_ids = self.has_own_ids = True                         # a later one may not be this one
            self.decide_id(own)
        t.hooked = True
        return 0

    cdef int decide_id(self, str own) except -1:
        """The id of the next call. own: the model's."""
        cdef Written* t = &self.w.written
        cdef str made
        t.call_id.n = 0
        if not self.has_own_ids and self._own_call_id is None:
            t.calls += 1                                                     # its frame has this call's number
            done = write_frame(&self.w, &t.script.call_id, &t.call_id)
            t.calls -= 1
            if not done:
                raise MemoryError()
            made = text_of(&t.call_id, 0, t.call_id.n)
            if made not in self._taken:
                return 0                                                     # what _call_ids would decide
            t.call_id.n = 0
        return put_str(&t.call_id, self._call_ids.decide(own, t.calls))

    cdef int put_hook(self, str text) except -1:
        self.w.written.hook.n = 0
        return put_str(&self.w.written.hook, text)

    cdef void drop_frames(self) noexcept:
        cdef int kind
        for kind in range(N_DELTAS):
            self.w.frames[kind] = NULL

    # --- the texts of the deltas ---

    def _keep(self, str kind not None, str text not None):
        """Keep a delta's text that goes out some other way; what of it may go out."""
        cdef uint8_t code = KINDS[kind]
        cdef Py_ssize_t n
        cdef const uint8_t* p
        self.claim()
        try:
            if code == R_ARGUMENTS and self.w.filtered:
                return self.arguments_through.feed(text)
            clean = sendable(text)
            p = <const uint8_t*>PyUnicode_AsUTF8AndSize(clean, &n)
            self.keep_text(code, p, n)
            if self.w.drops[code]:
                self.w.kept[code].n = 0
            return text
        finally:
            self.leave()

    def _keep_none(self, *kinds):
        """Keep no item's text after its end, and no delta's of these kinds when it has been sent."""
        self.claim()
        for kind in kinds:
            self.w.drops[<uint8_t>KINDS[kind]] = True
        self.w.keeps_none = True
        self.leave()

    def _take(self, str kind not None):
        """The text of the deltas of this kind since the last _take()."""
        cdef Buffer* kept = &self.w.kept[<uint8_t>KINDS[kind]]
        self.claim()
        try:
            text = text_of(kept, 0, kept.n)
            kept.n = 0
            forget_text(&self.w.written, KINDS[kind])
            return text
        finally:
            self.leave()

    @property
    def _number(self):
        return self.w.number

    @_number.setter
    def _number(self, int64_t number):
        self.claim()
        self.w.number = number
        self.leave()

    @property
    def _tokens_read(self):
        """All, and those of reasoning: of the parser's usage, without the object."""
        return tokens_read(&self.parser.s), self.parser.s.usage[<int>IN_REASONING]

    @property
    def in_text(self):
        """Is it fed text? Then the parser counts bytes, not tokens."""
        return self.parser.s.input_mode == TEXT_MODE

    @property
    def _arguments_through(self):
        return self.open_filter()

    @_arguments_through.setter
    def _arguments_through(self, Arguments through):
        self.claim()
        self.set_filter(through)
        self.leave()

    cdef bint keep_text(self, uint8_t kind, const uint8_t* p, Py_ssize_t n) except -1:
        """Append what may go out of this text to what is kept, escaped: all or nothing. Is it anything?"""
        cdef Py_ssize_t begin
        cdef const Buffer* sent
        if kind == R_ARGUMENTS and self.w.filtered:
            sent = &self.arguments_through.f.sent
            begin = sent.n
            if not filter_read(&self.arguments_through.f, p, n):
                raise MemoryError()
            n = sent.n - begin
            if n == 0:
                return False
            p = sent.p + begin
        if not put_escaped(&self.w.kept[kind], p, n):
            raise MemoryError()
        return True

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

    # --- frames ---

    @property
    def _watched(self):
        return self.watched

    @_watched.setter
    def _watched(self, bint watched):
        self.claim()
        self.watched = watched
        self.leave()

    cdef int set_frame(self, uint8_t kind, Frame frame) except -1:
        if self.frames is None:
            self.frames = [None] * (N_DELTAS)
        self.w.frames[kind] = &frame.pieces
        self.frames[kind] = frame
        return 0

    def _no_frames(self):
        """None for any kind."""
        self.claim()
        self.drop_frames()
        self.frames = None
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
        account_piece(&parser.s, parser.program.tags, piece)
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
            check_memory(parser, out)
            if not parser.s.error:
                return self.records(out, 0, out.n_records)
            events = parser.preview(out)
            # what came before the error is kept for error()
            self.pending = self.records(out, 0, out.n_records)
            self.break_off()
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
            self.break_off()
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
        if self.w.written.script != NULL and (kind != r.kind or self.write_by_script(r, out.text)):
            return 0                                                         # or no call is open that is shown
        return self.put_python(kind, self.parser.event_of(out, i), text, n)

    cdef bint write_by_script(self, const Record* r, const uint8_t* text) except -1:
        """Write a record by the script. False: Python must, from now on."""
        cdef Answer answer = write_record(&self.w, r, text, &self.out)
        if answer == NEEDS_HOOK:
            self.hook(r, text)
            if self.w.written.script == NULL:                                   # what was called has left it
                return False
            answer = write_record(&self.w, r, text, &self.out)
        if answer == NO_MEMORY:
            raise MemoryError()
        if answer == NEEDS_PYTHON and r.kind == R_STREAM_END:
            self.put_end()
            return True
        if answer == WRITTEN:
            return True
        self._leave_script()
        return False

    cdef int put_end(self) except -1:
        """The end of the stream, and what ends the response if the script has it."""
        cdef const ScriptTable* script = &self.script.table
        if self.ends_plainly:
            words = <tuple>self.script.reasons[self.parser.end_reason]
            self.put_hook(words[self.w.written.calls != 0])
            self.put_usage()
        else:
            self.put_hook(self._write_end(self.parser.end_reason))
        if not write_frame(&self.w, &script.finish, &self.out):
            raise MemoryError()
        if self.ends_plainly:
            if not write_frame(&self.w, &script.closing if self.counted else &script.closing_usage, &self.out):
                raise MemoryError()
            self.end_word = words[self.w.written.calls != 0]
        return 0

    cdef int put_usage(self) except -1:
        """What the closing frames have of the tokens."""
        cdef Written* t = &self.w.written
        cdef Py_ssize_t n
        cdef str text
        cdef const uint8_t* p
        if self.counted:
            if t.counts[<int>IN_RESPONSE] < 0:
                t.counts[<int>IN_RESPONSE] = tokens_read(&self.parser.s)
            if t.counts[<int>IN_TOTAL] < 0:
                t.counts[<int>IN_TOTAL] = t.counts[<int>IN_PROMPT] + t.counts[<int>IN_RESPONSE]
            t.counts[<int>OF_REASONING] = self.parser.s.usage[<int>IN_REASONING]
            return 0
        text = self._usage_json(self.usage)
        p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        t.usage.n = 0
        if not buffer_put(&t.usage, p, n):
            raise MemoryError()
        return 0

    cdef int put_python(self, uint8_t kind, object event, const uint8_t* text, Py_ssize_t n) except -1:
        """What the callback makes of the event: bytes, a frame, or the frame that this delta and those after it go
        into.
        """
        cdef bint put
        made = self._on_event(event)
        if isinstance(made, Frame) and kind <= R_ARGUMENTS:
            self.set_frame(kind, made)
            return self.put_frame(kind, text, n)
        if isinstance(made, Frame) and not (<Frame>made).pieces.texts:
            put = write_frame(&self.w, &(<Frame>made).pieces, &self.out)
        elif isinstance(made, bytes):
            put = buffer_put(&self.out, <const uint8_t*>PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))
        else:
            raise TypeError(f"_on_event returns bytes or a Frame, in which only a delta has a hole for text, not "
                            f"{made!r}")
        if not put:
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

    cdef void settle(self, uint8_t kind, Py_ssize_t begin) noexcept:
        """A text is in its frame. It is kept, too, unless texts of its kind are dropped."""
        self.w.number = <int64_t>(<uint64_t>self.w.number + 1)       # it wraps
        if self.w.drops[kind] or (kind == R_ARGUMENTS and self.w.filtered):
            self.w.kept[kind].n = begin

    # --- moving ---

    def _check_movable(self):
        """Raises ValueError unless it has started and goes on."""
        if self.w.stage != DICTS:
            self.check(BYTES)

    def _moving(self):
        """Is it dicts, and the next payload's number."""
        return self.w.stage == DICTS, self.w.number

    def _kept(self):
        """What is kept of each kind of delta; after _catch_up()."""
        cdef int kind
        self.claim_alone()
        try:
            return [text_of(&self.w.kept[kind], 0, self.w.kept[kind].n) for kind in range(R_REASONING, R_ARGUMENTS + 1)]
        finally:
            self.leave()

    def _move_to(self, Parser parser not None, bint dicts, int64_t number, /):
        """It is new, and from now on what such a stream was. The parser need not be fresh."""
        self.claim_alone()
        try:
            self.check(NEW)
            self.parser, self.w.number, self.w.stage = parser, number, DICTS if dicts else BYTES
        finally:
            self.leave()


cdef int64_t tokens_read(const Stream* s) noexcept nogil:
    cdef int64_t total = 0
    cdef int k
    for k in range(N_REGIONS):
        total += s.usage[k]
    return total


cdef int put_str(Buffer* to, str text) except -1:
    """Append it, JSON-escaped."""
    cdef Py_ssize_t n
    cdef str clean = sendable(text)
    cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(clean, &n)
    if not put_escaped(to, p, n):
        raise MemoryError()
    return 0


cdef str sendable(str text):
    """Lone surrogates become U+FFFD; all else is as it was."""
    try:
        PyUnicode_AsUTF8AndSize(text, NULL)
        return text
    except UnicodeEncodeError:
        return without_surrogates(text)


cdef dict KINDS = {"reasoning": R_REASONING, "content": R_CONTENT, "arguments": R_ARGUMENTS}


name_errors(SseWriter)
