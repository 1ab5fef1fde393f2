# From records to the bytes of server-sent events. A frame is prepared once, with holes for the text of a delta and for
# a running number. To fill it takes a few copies. An event without a frame goes to a method in Python: there are few
# such events in a stream.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
cimport cython
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.locks cimport FREE_THREADED, leave
from harmonystream._native.wire.frame cimport Filling, Frame, Pieces, fill, fill_with
from harmonystream._native.core.out cimport out_init, out_record
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.open_stream cimport check_memory
from harmonystream._native.stream.parser cimport Parser, plain_token, take_ids
from harmonystream._native.stream.plain_piece cimport Piece, account_piece
from harmonystream._native.core.types cimport *
from harmonystream._native.wire.script cimport ScriptTable
from harmonystream._native.wire.tell cimport *
from harmonystream._native.wire.writer cimport sendable, tokens_read
from harmonystream._native.wire.moving cimport MovingWriter

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    LONG = 4096                        # bytes of a token that is rare enough to go the long way
    MOST_TOKENS = 1 << 30              # of a usage that is plain


@cython.auto_pickle(False)
cdef class SseWriter(MovingWriter):
    """SseWriter(parser, ...)
--

    The base of all emitters: feeds a parser, and writes its deltas into frames. A subclass has two methods.
    _on_event(event) gets every event that is no delta, and deltas that have no frame. It returns the bytes to send, or
    a Frame: for a delta the one that this delta and those after it go into, for another event one without a hole for
    text. _feed_with(ids, logprobs) returns the bytes for all that is fed with logprobs, or while `_watched` is set.

    `_number` is the next frame's. The text of deltas is kept until _take(). While `_arguments_through` is set, argument
    deltas pass that filter, which keeps their text.

    feed(), feed_text(), start, finish and error raise RuntimeError in a second thread, and in a callback that they
    have called.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

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

        What Python must say after all, _end_after() adds. Raises what checked_usage() raises.
        """
        return self.end_plainly(reason, usage)

    cdef bytes end_plainly(self, str reason, object usage):
        cdef Out out
        cdef const Stream* s = &self.parser.s
        cdef const ScriptTable* script = self.w.told.script
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
                if not self._says_usage(usage):
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
        cdef int64_t* counts = self.w.told.counts
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
        if self.w.told.script != NULL and (kind != r.kind or self.put_told(r, out.text)):
            return 0                                                         # or no call is open that is shown
        return self.put_python(kind, self.parser.event_of(out, i), text, n)

    cdef bint put_told(self, const Record* r, const uint8_t* text) except -1:
        """Tell a record by the script. False: Python must, from now on."""
        cdef Answer answer = tell(&self.w, r, text, &self.out)
        if answer == NEEDS_HOOK:
            self.hook(r, text)
            if self.w.told.script == NULL:                                   # what was called has left it
                return False
            answer = tell(&self.w, r, text, &self.out)
        if answer == NO_MEMORY:
            raise MemoryError()
        if answer == NEEDS_PYTHON and r.kind == R_STREAM_END:
            self.put_end()
            return True
        if answer == TOLD:
            return True
        self._leave_script()
        return False

    cdef int put_end(self) except -1:
        """The end of the stream, and what ends the response if the script has it."""
        cdef const ScriptTable* script = &self.script.table
        if self.ends_plainly:
            words = <tuple>self.script.reasons[self.parser.end_reason]
            self.put_hook(words[self.w.told.calls != 0])
            self.put_usage()
        else:
            self.put_hook(self._end_told(self.parser.end_reason))
        if not say(&self.w, &script.finish, &self.out) or (
                self.ends_plainly and not say(&self.w, &script.closing if self.counted else &script.closing_usage,
                                              &self.out)):
            raise MemoryError()
        if self.ends_plainly:
            self.end_word = words[self.w.told.calls != 0]
        return 0

    cdef int put_usage(self) except -1:
        """What the closing frames say of the tokens."""
        cdef Told* t = &self.w.told
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
        text = self._usage_told(self.usage)
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
            put = say(&self.w, &(<Frame>made).pieces, &self.out)
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




name_errors(SseWriter)
