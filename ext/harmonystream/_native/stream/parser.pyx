# Parser: the Python face of a stream.
#
# Theory of operation
#
# A token id comes in. If it is plain text and nothing can be pending, feed() takes the shortcut: one cached str, one
# event. Everything else goes to a machine, which steps a span of ids or bytes without touching Python. In Harmony's
# machine (harmony/harmony.pyx) a control id is a marker and changes the state (START, HEADER, BODY, DONE). Any other id
# is bytes for the state's sink. Header bytes are collected (at most 256) and read when the header ends
# (harmony/headers.pyx). The machine for all other formats (tags/driver.pyx) runs a row of data (tags/tag_table.pyx). It
# reads bytes, each with a mark if it begins a token, and finds the row's markers. It checks by what follows whether
# they count (tags/lookahead.pyx), and holds what it cannot decide yet. Either way, text passes the UTF-8 carry
# (core/out.pxd) and becomes records {kind, start, stop, text}, one per run of the same kind; arguments also step the
# JSON scanner (core/json_scan.pxd). Back here, under the GIL, collect() turns the records into events.
#
# All that a stream remembers between calls is the struct Stream (core/types.pxd), plain data, under 1 KiB, and in
# formats with tags what is held (Held, at most max_hold bytes each). That is why fork() is a copy, to_bytes() is small,
# and no call looks at earlier output again. Records and text live on the stack of the call, or, when there is much of
# it, on the heap until the call returns.
#
# Positions count generated tokens (bytes in text mode). Every token belongs to at most one event, in order, so the
# ranges of the events of a stream never overlap, however the stream is cut.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.options cimport flag_of, size_of
from harmonystream._native.core.cpython cimport *
from harmonystream._native.core.locks cimport FREE_THREADED, enter, leave
from harmonystream._native.stream.events cimport *
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.core.bulk_tokens cimport account_plain, is_plain_token
from harmonystream._native.harmony.message_transitions cimport announce_message
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.delta cimport delta_of, plain_delta
from harmonystream._native.stream.machine cimport machine_finish, machine_ids, machine_init, machine_text
from harmonystream._native.stream.open_stream cimport *
from harmonystream._native.stream.plain_piece cimport Piece, account_piece, is_plain_piece
from harmonystream._native.stream.program cimport NO_VOCAB, Program, compiled, default_program
from harmonystream._native.stream.prompt cimport begin_stream
from harmonystream._native.stream.records cimport refilled
from harmonystream._native.tags.fast_token cimport QuickDelta, TokenTexts, quick_token
from harmonystream._native.core.out cimport out_free, out_init, out_record
from harmonystream._native.stream.snapshot cimport *
from harmonystream._native.core.tools cimport tools_of
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.watch cimport watcher_of
from harmonystream._native.core.utf8 cimport decoded, without_surrogates
from harmonystream._native.core.vocab cimport Vocab

from harmonystream.errors import VocabError
from harmonystream.formats import format_of

DEBUG = bool(DEBUG_BUILD)
END_OF_TEXT = "<|endoftext|>"
STREAM_SIZE = sizeof(Stream)

cdef enum:
    RELEASE_GIL_AT = 4096          # ids or bytes in one call: below, handing the GIL over costs more than the work

cdef int check_turns(object row, Vocab vocab) except -1:
    """Refuse a vocabulary whose only token of the row's is <|endoftext|>, which vocabularies of all models have."""
    cdef tuple turns = tuple([name for name in (*row.stops, *row.turns) if name != END_OF_TEXT])
    if END_OF_TEXT in row.stops and turns and not any([name in vocab.by_name or vocab.spells(name.encode())
                                                       for name in turns]):
        raise VocabError(f"{vocab!r} has none of the tokens that begin or end a turn in {row.name!r} "
                         f"({', '.join(turns)}): is it the model's own? "
                         "To read with it anyway, pass check_stops=False")
    return 0


@cython.final
@cython.no_gc
cdef class Parser(OpenStream):
    """Parser(format="harmony", vocab=None, *, tools=None, start="auto", prompt=None, strict=False, trim="seams",
    empty_args="{}", max_hold=1048576, check_stops=True, watch=())
--

    Reads one stream of generated tokens, or of text, and returns events. One thread may use it at a time.

    format: a name from `formats.names()`, or a `Format`.
    vocab: the model's `Vocab`. None: Harmony uses the embedded o200k_harmony; other formats have no vocabulary, so
    that only feed_text() can be used.
    tools: `Tools`, names, or tool dicts of an API. None: the tools are unknown. []: the request has no tools, so
    nothing is a call.
    start: where the prompt ends. "auto" and "content": nothing is open. "reasoning": inside reasoning. "answer": after
    reasoning, where think tags are text. For Harmony also the text that the prompt ends with ("": no message has
    begun).
    prompt: the prompt itself, as ids or text. It replaces `start`.
    strict: raise ParseError at the first deviation, instead of repairing it.
    trim: "seams" drops the newlines next to a tag, "none" drops nothing. Harmony has no seams.
    max_hold: how many bytes of a value, or of a call before its name, may wait for their end.
    empty_args: the arguments of a complete call that has none; "" for none.
    check_stops: refuse a vocabulary that has none of the tokens at which the format stops. `vocab.missing(format)`
    returns these tokens.
    watch: strings in the arguments of calls that come decoded, too, as ValueStart, ValueDelta and ValueEnd. A list of
    paths, each a tool's name, then keys and positions, ... for any: [("write", "text"), ("edit", "edits", ..., "new")].

    Raises FormatError, VocabError, TypeError or ValueError for options that cannot be used.
    """

    def __cinit__(self, format="harmony", vocab=None, *, tools=None, start="auto", prompt=None, strict=False,
                  trim="seams",
                  empty_args="{}", max_hold=1 << 20, check_stops=True,
                  watch=()):
        if not isinstance(trim, str) or trim not in ("seams", "none"):
            raise ValueError(f"trim is 'seams' or 'none', not {trim!r:.80}")
        if not isinstance(empty_args, str):
            raise TypeError(f"empty_args is the text that a complete call without arguments gets, '{{}}' or '', "
                            f"not {empty_args!r:.80}")
        self.take_options(trim == "seams", empty_args, size_of("max_hold", max_hold))
        if vocab is not None and not isinstance(vocab, Vocab):
            raise TypeError(f"vocab is a Vocab, not {type(vocab).__name__}: "
                            "hs.vocab.from_tokenizers(path) loads one from a tokenizer.json")
        self.program = default_program(format) if vocab is None else compiled(format, vocab)
        if (flag_of("check_stops", check_stops) and not self.program.stop_ids and self.program.vocab is not NO_VOCAB
                and self.program.format.stops):
            raise VocabError(
                f"{self.program.vocab!r} has none of the tokens at which {self.format!r} stops "
                f"({', '.join(self.program.format.stops)}), so a decode loop would not end. "
                "Was the tokenizer loaded with its special tokens, and is it the model's own? "
                "To read with it anyway, pass check_stops=False")
        if check_stops and self.program.tags != NULL and self.program.vocab is not NO_VOCAB:
            check_turns(self.program.format, self.program.vocab)
        self.tools = tools_of(tools)
        self.watcher = watcher_of(watch)
        if start == "auto" and prompt is None:
            machine_init(&self.s, self.program.tags, self.trims)
        elif begin_stream(&self.s, self.program, self.tools, self.trims, start, prompt):
            self.origin = state_pack(&self.s, &self.held, self.program.tags != NULL)
            self.reopen()
        self.s.strict = flag_of("strict", strict)

    def __dealloc__(self):
        Py_XDECREF(self.returned.tuple)
        Py_XDECREF(self.returned.event)
        buffer_free(&self.held.input)
        buffer_free(&self.held.marks)
        buffer_free(&self.held.value)

    cdef int reopen(self) except -1:
        """Make the open message's strings anew, from the header that the stream has kept."""
        cdef Out out
        cdef uint8_t announce = self.s.announce
        self.stale = False
        self.open_role = self.open_channel = self.open_recipient = self.open_content_type = None
        if self.s.state == BODY or (self.s.state > DONE and not announce and not self.s.finished):
            out_init(&out)
            announce_message(&self.s, &out, 0, 0)
            self.s.announce = announce
            self.collect(&out)
            out_free(&out)
        open_shortcut(self)
        return 0

    # --- the four verbs ---

    def feed(self, ids, /):
        """The events of these token ids, as a tuple: one delta for each run of the same kind.

        ids: one int, a list, tuple, range or other iterable of ints, or an integer buffer (array, numpy, torch) with
        one long dimension. Raises TypeError or ValueError, before anything is read, for an id that is not 0 to
        2**32 - 1; ValueError after finish() or feed_text(); in strict mode ParseError, which carries the events parsed
        before it and the ends of what was open. Unknown ids become U+FFFD.
        """
        cdef Py_ssize_t tid = -1 if self.written else plain_token(self, ids)
        cdef str text
        if tid < 0:
            return self.run_ids(ids)
        text = self.text_of(tid)
        account_plain(&self.s, &self.program.tables, <uint32_t>tid, True)
        return self.one_delta(self.s.fast, text, self.s.position - 1, self.s.position)

    cdef inline str text_of(self, Py_ssize_t tid):
        """A plain token's text."""
        cdef PyObject* known = self.program.texts.plain[tid]
        return <str>known if known != NULL else self.first_text(tid)

    cdef str first_text(self, Py_ssize_t tid):
        """It is asked for the first time."""
        cdef const Tables* t = &self.program.tables
        cdef TokenTexts texts = self.program.texts
        return texts.keep(texts.plain + tid, decoded(t.text + t.offset[tid], t.offset[tid + 1] - t.offset[tid]))

    cdef tuple run_ids(self, object given):
        cdef Ids ids
        cdef uint32_t one
        cdef Py_ssize_t tid = small_int(given) if PyLong_CheckExact(given) else -1
        cdef tuple events
        if tid >= 0:
            if ((self.watching or self.program.tags != NULL) and is_free(self) and not self.written
                    and tid < <Py_ssize_t>self.program.tables.n):
                events = self.quick_watched(tid) if self.watching else self.quick(tid)
                if events is not None:
                    return events
            one = <uint32_t>tid
            return self.run_span(&one, 1)
        take_ids(&ids, given)
        try:
            return self.run_span(ids.ids, ids.n)
        finally:
            ids_free(&ids)

    cdef inline tuple quick(self, Py_ssize_t tid):
        """The second shortcut (tags/fast_token.pyx). None: the machine must see the token."""
        cdef Program program = self.program
        cdef QuickDelta delta
        cdef str text
        cdef tuple events = None
        cdef bint done = False
        try:
            text = quick_token(&self.s, &self.held, &program.tables, program.tags, program.texts, tid, &delta)
            if self.watching:
                self.divert()
            if text is not None:
                events = () if delta.kind == R_NONE else self.one_delta(delta.kind, text, delta.start, delta.stop)
            done = True
        finally:                           # `except` would save the exception state at every token
            if not done:                   # no memory: text is missing
                self.s.finished = 1
                self.s.fast = 0
        return events

    cdef tuple quick_watched(self, Py_ssize_t tid):
        """Both shortcuts, inside a call whose values are watched. None: the machine must see the token."""
        cdef const Tables* t = &self.program.tables
        cdef tuple events = None
        cdef str text
        if self.diverted and is_plain_token(&self.s, t, <uint32_t>tid):
            text = self.text_of(tid)
            self.s.fast = R_ARGUMENTS                                        # only as long as no Python runs
            account_plain(&self.s, t, <uint32_t>tid, True)
            self.s.fast = 0
            return self.watcher.follow(call_delta(self.s.calls, text, self.s.position - 1, self.s.position),
                                       t.classes[tid] & QUIET)
        if self.program.tags != NULL:
            events = self.quick(tid)
        if events and type(events[0]) is ToolCallDelta:
            events = self.watcher.follow(<ToolCallDelta>events[0], False)
        return events

    cdef tuple run_span(self, const uint32_t* ids, Py_ssize_t n):
        cdef Out out
        self.check_alone()
        self.read_ids(ids, n, &out)
        return self.release(&out, False)

    cdef int read_ids(self, const uint32_t* ids, Py_ssize_t n, Out* out) except -1:
        """Let the machine read these ids into `out`. The parser is claimed until release() or done()."""
        cdef Context c
        self.claim(ID_MODE)
        out_init(out)
        c = context_of(self, out)
        if n:
            self.s.input_mode = ID_MODE
        if n < RELEASE_GIL_AT:
            machine_ids(&self.s, &c, ids, n)
        else:
            with nogil:
                machine_ids(&self.s, &c, ids, n)
        return 0

    def feed_text(self, text, /):
        """The events of this piece of text: str or bytes, cut anywhere. For servers that have no ids.

        Raises TypeError for anything else, ValueError after finish() or feed(), ParseError in strict mode.
        """
        cdef Out out
        cdef Piece piece
        cdef str whole
        self.check_alone()
        whole = self.read_text(text, &out, &piece)
        return self.release(&out, False) if whole is None else self.whole_piece(whole, &piece)

    cdef str read_text(self, object text, Out* out, Piece* piece):
        """Let the machine read this text into `out`. The parser is claimed until release() or done().

        Or the text is one delta, unchanged. Then it is returned, `piece` is its UTF-8, and the caller passes that to
        whole_piece() or account_piece().
        """
        cdef Py_ssize_t n
        cdef bint valid = isinstance(text, str)
        cdef const uint8_t* p = ascii_bytes(text, &n) if valid else NULL
        if valid and p == NULL:
            try:
                p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
            except UnicodeEncodeError:
                text = without_surrogates(text)
                p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        elif isinstance(text, bytes):
            p = <const uint8_t*>PyBytes_AS_STRING(text)
            n = PyBytes_GET_SIZE(text)
        elif not valid:
            raise TypeError(f"feed_text() takes str or bytes, not {type(text).__name__}: ids go to feed()")
        self.claim(TEXT_MODE)
        if n:
            self.s.input_mode = TEXT_MODE
        piece.p, piece.n, piece.backquote = p, n, False
        if type(text) is str and is_plain_piece(&self.s, self.program.tags, &self.held, piece):
            return text
        self.run_text(p, n, valid, out)
        return None

    cdef void run_text(self, const uint8_t* p, Py_ssize_t n, bint valid, Out* out) noexcept:
        cdef Context c
        out_init(out)
        c = context_of(self, out)
        if n < RELEASE_GIL_AT:
            machine_text(&self.s, &c, p, n, valid)
        else:
            with nogil:
                machine_text(&self.s, &c, p, n, valid)

    cdef tuple whole_piece(self, str text, const Piece* piece):
        """The event of a piece that read_text() returned; then the parser is free."""
        cdef int64_t start = self.s.position
        try:
            account_piece(&self.s, self.program.tags, piece)
            if self.watching and self.s.sink == R_ARGUMENTS:
                return self.watcher.follow(call_delta(self.s.calls, text, start, self.s.position), False)
            return self.one_delta(self.s.sink, text, start, self.s.position)
        finally:
            leave(&self.busy)

    def feed_delta(self, output, /):
        """What these token ids, or this text, add to the reasoning, the content and the calls, as one `Delta`.

        For hosts that need no events. Takes and raises what feed() and feed_text() do; in strict mode the
        error has the events before it. Calls of feed() may come between.
        """
        cdef Ids ids
        cdef Out out
        cdef Piece piece
        cdef Py_ssize_t tid = -1 if self.written else plain_token(self, output)
        cdef str text
        cdef uint8_t kind
        if tid >= 0:
            text, kind = self.text_of(tid), self.s.fast
            account_plain(&self.s, &self.program.tables, <uint32_t>tid, True)
            return plain_delta(kind, text, self.s.calls)
        if self.watcher is not None:
            raise ValueError("a Delta has no watched values: feed() a parser with watch=")
        self.check_alone()
        if isinstance(output, (str, bytes)):
            text = self.read_text(output, &out, &piece)
            if text is not None:
                try:
                    account_piece(&self.s, self.program.tags, &piece)
                    return plain_delta(self.s.sink, text, self.s.calls)
                finally:
                    leave(&self.busy)
        else:
            take_ids(&ids, output)
            try:
                self.read_ids(ids.ids, ids.n, &out)
            finally:
                ids_free(&ids)
        return self.release(&out, True)

    def finish_delta(self, reason=None):
        """finish() as one `Delta`: what was held. A second call returns an empty one. Then `finish_reason` is known."""
        cdef Out out
        self.check_alone()
        return self.release(&out, True) if self.read_end(reason, &out) else plain_delta(R_CONTENT, "", 0)

    cdef tuple one_delta(self, uint8_t kind, str text, int64_t start, int64_t stop):
        return single(&self.returned, refilled(self, &self.returned, kind, self.s.calls, text, start, stop))

    def finish(self, reason=None):
        """The last events: what was held, the ends of what is open, and `StreamEnd`. A second call returns ().

        reason: why the engine stopped, in its own word ("stop", "eos_token", "max_tokens", ...; harmonystream.reasons
        has them all), or None if it does not say. Decides whether an open call is complete.
        """
        cdef Out out
        self.check_alone()
        return self.release(&out, False) if self.read_end(reason, &out) else ()

    cdef int check_alone(self) except -1:
        """Refuse what would be read beside an emitter."""
        if self.written:
            raise ValueError("an emitter uses this parser: call the emitter's feed(), feed_text() and finish(), or "
                             "make another parser")
        return 0

    cdef bint read_end(self, object reason, Out* out) except -1:
        """Let the machine end the stream, into `out`. The parser is claimed until release() or done(). False: it had
        ended before, and is free.
        """
        cdef Context c
        cdef bint stopped
        reason = normal_reason(reason)
        stopped = is_normal_stop(reason)
        self.claim(NO_INPUT)
        if self.s.finished or self.s.error:
            leave(&self.busy)
            if self.s.error and not self.s.finished:
                raise self.failure(())
            return False
        out_init(out)
        c = context_of(self, out)
        machine_finish(&self.s, &c, stopped, reason is not None)
        if not (self.s.error or out.no_memory):
            self.s.finished = 1
            self.end_reason = self.reason_of(reason, stopped)
            out_record(out, R_STREAM_END, self.s.position, self.s.position)
        return True

    def reset(self):
        """Back to the beginning, with the same options; ready for another stream."""
        cdef bint strict = self.s.strict
        self.claim(NO_INPUT)
        try:
            memset(&self.s, 0, sizeof(Stream))
            self.held.input.n = self.held.marks.n = self.held.value.n = 0
            if self.origin is None:
                machine_init(&self.s, self.program.tags, self.trims)
            else:
                state_unpack(&self.s, &self.held, self.program, &self.tools.table,
                             <const uint8_t*>PyBytes_AS_STRING(self.origin), PyBytes_GET_SIZE(self.origin))
            self.s.strict = strict
            self.written = False
            if self.watcher is not None:
                self.watcher.clear()
            self.reopen()
        finally:
            leave(&self.busy)

    def fork(self):
        """An independent copy of the stream in its present state, with what is held: for speculative decoding, or n
        choices of one prompt.
        """
        cdef Parser twin = Parser.__new__(Parser, self.program, self.program.vocab, tools=self.tools, check_stops=False)
        self.claim(NO_INPUT)
        try:
            if self.stale:
                self.reopen()
            twin.copy_state(self)
            twin.empty_args, twin.trims, twin.origin = self.empty_args, self.trims, self.origin
            twin.held.cap = self.held.cap
            if self.watcher is not None:
                twin.watcher, twin.watching, twin.diverted = self.watcher.copy(), self.watching, self.diverted
        finally:
            leave(&self.busy)
        return twin

    cdef int copy_state(self, Parser other) except -1:
        """Where the other stream is, with what is open and held there."""
        memcpy(&self.s, &other.s, sizeof(Stream))
        self.stale = other.stale
        self.open_role, self.open_channel = other.open_role, other.open_channel
        self.open_recipient, self.open_content_type = other.open_recipient, other.open_content_type
        self.held.input.n = self.held.marks.n = self.held.value.n = 0
        if not (buffer_put(&self.held.input, other.held.input.p, other.held.input.n)
                and buffer_put(&self.held.marks, other.held.marks.p, other.held.marks.n)
                and buffer_put(&self.held.value, other.held.value.p, other.held.value.n)):
            raise MemoryError()
        return 0

    # --- state as bytes ---

    def to_bytes(self):
        """The whole state, for from_bytes() in this process or another: small and versioned. Vocabulary and tools are
        not in it.
        """
        cdef Buffer made
        memset(&made, 0, sizeof(Buffer))
        try:
            self.put_state(&made)
            return PyBytes_FromStringAndSize(<const char*>made.p, made.n)
        finally:
            buffer_free(&made)

    @staticmethod
    def from_bytes(data, vocab=None, *, format=None, tools=None, watch=()):
        """The parser that to_bytes() described, given the same vocabulary, tools and watch list; and format, if it was
        not a built-in one.

        The blob is validated field by field: ValueError for one that is truncated, altered, of another version,
        vocabulary, tools or watch list.
        """
        cdef Parser made
        cdef bytes given
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"from_bytes() takes bytes, not {type(data).__name__}")
        given = bytes(data)
        made = parser_in(<const uint8_t*>PyBytes_AS_STRING(given), PyBytes_GET_SIZE(given), vocab, format, tools, watch)
        made.reopen()
        return made

    def __sizeof__(self):
        return object.__sizeof__(self) + self.held.input.cap + self.held.marks.cap + self.held.value.cap

    def __reduce__(self):
        raise TypeError("a Parser is not pickled: use to_bytes() and Parser.from_bytes()")

    def __repr__(self):
        return f"<Parser {self.format}: {self.region.name} at {self.s.position}>"

    # --- between Python and the machine ---

    cdef object release(self, Out* out, bint as_delta):
        """What the machine left in `out`, as events or as one delta; then the parser is free."""
        cdef object made
        try:
            check_memory(self, out)
            if as_delta and not self.s.error:
                made = delta_of(self, out)
            elif self.watcher is not None:
                made = self.watcher.collect(self, out)
            else:
                made = self.collect(out) if out.n_records else ()
        finally:
            self.done(out)
        if self.s.error:
            raise self.failure(made)
        return made

    cdef void done(self, Out* out) noexcept:
        """Discards `out` and releases the parser, also for the shortcut."""
        out_free(out)
        open_shortcut(self)
        leave(&self.busy)


cdef Parser parser_in(const uint8_t* p, Py_ssize_t n, object vocab, object format, object tools, object watch):
    """The parser that to_bytes() described. The names of its open message are still to be made, by reopen()."""
    cdef Parser made
    cdef Blob blob
    blob_unpack(&blob, p, n)
    name = format_in(&blob)
    if format is not None and format_of(format).name != name:
        raise ValueError(f"this parser state has the format {name!r}, not {format_of(format).name!r}")
    made = Parser.__new__(Parser, format or name, vocab, tools=tools, check_stops=False, watch=watch)
    made.take_state(&blob)
    return made


cdef int take_ids(Ids* out, object given) except -1:
    """For feed(), which has a twin for text."""
    if isinstance(given, (str, bytes, bytearray)):
        raise TypeError(f"feed() takes token ids, not {type(given).__name__}: text goes to feed_text()")
    return ids_take(out, given)


name_errors(Parser)
