# From records to the bytes of server-sent events: one writer for all APIs. It feeds a parser, has write_record() write
# the parser's records by the API's templates, and answers what that asks.

import json

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcpy
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.bulk_tokens cimport account_plain
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.locks cimport FREE_THREADED, enter, leave, put_int
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.out cimport out_free, out_init, out_record, out_room
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.core.types cimport *
from harmonystream._native.core.utf8 cimport utf8_is_whole, without_surrogates
from harmonystream._native.stream.events cimport *
from harmonystream._native.stream.open_stream cimport Place, check_memory
from harmonystream._native.stream.parser cimport Parser, plain_token, take_ids
from harmonystream._native.stream.plain_piece cimport Piece, account_piece
from harmonystream._native.wire.json_filter cimport A_TEXT, Arguments, Filter, opening_of
from harmonystream._native.wire.template cimport *
from harmonystream._native.wire.write cimport *
from harmonystream._native.wire.writer cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    LONG = 4096                        # bytes of a token that is rare enough to go the long way
    MOST_TOKENS = 1 << 30              # of a usage that is plain
    TYPES = 64                         # a question about calls: Python decides their types and fields, too


cdef tuple REFUSALS = (
    "this stream has not started: call start() first",
    "this stream writes bytes and has started: call start() once; events() is for streams that began with events()",
    "this stream writes dicts and has started: go on with events()",
    "this stream raised an error halfway: only error() can end it",
    "this stream has ended: make another one",
)


cdef tuple KINDS = ("", "", "reasoning", "content", "arguments")
cdef tuple CHANNELS = (None, "analysis", "commentary", "final")


cdef class SseWriter:
    """SseWriter(parser, ...)
--

    The base of all emitters: feeds a parser, and writes its records by the templates of an API.

    A subclass defines these methods:

    _answer_call(event, index, item): returns the variant of a call's item, its name, its id, more fields as JSON, the
    id of its item, and what its arguments pass through, or None.
    _answer_item(kind, item): returns the id of an item of text.
    _answer_end(kind, text, name): returns the seal of the item that ends, and the logprobs of its text as JSON, for
    the event and for the item.
    _answer_tokens(start, stop, last): returns the logprobs and the ids of these tokens as JSON.
    _tokens_written(delta, used): learns whether these were sent.
    _answer_reason(reason, calls): returns the API's word for the reason, and the fields beside it.
    _feed_with(ids, logprobs): returns the bytes for ids with logprobs, and for all ids while `_watched` is set.

    feed(), feed_text(), start, finish and error raise RuntimeError in a second thread, and in a callback that they
    have called.

    parser: one that has read nothing; or a format's name or row, with `vocab` and `tools` for its parser.
    """

    def __cinit__(self, parser="harmony", *_, vocab=None, tools=None, **__):
        if not isinstance(parser, Parser):
            parser = Parser(parser, vocab, tools=tools)
        elif vocab is not None or tools is not None:
            raise TypeError("a parser has its vocabulary and its tools: give them to Parser()")
        self.parser = parser
        if self.parser.watcher is not None:
            raise ValueError("an API has no watched values: give the emitter a parser without watch=, and feed one "
                             "with it the same ids")
        self.pending = b""
        self.check_fresh()

    def __dealloc__(self):
        writer_free(&self.w)
        buffer_free(&self.out)

    def __sizeof__(self):
        """Bytes, with the text that is kept, and without the parser."""
        cdef const Writer* w = &self.w
        cdef Py_ssize_t size = self.out.cap + w.bound_text.cap + w.text.cap + w.constants.cap + w.output.cap
        cdef int k
        for k in range(<int>N_VALUES):
            size += w.values[k].cap
        for k in range(<int>N_NEXT):
            size += w.next[k].cap
        if w.filter != NULL:
            size += sizeof(Filter) + w.filter.sent.cap + w.filter.raw.cap + w.filter.held.cap
        return object.__sizeof__(self) + size

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is one response")

    def __repr__(self):
        stage = ("new", "under way", "under way, as dicts", "broken off", "ended")[self.w.stage]
        return f"<{type(self).__name__} of {self.parser.format}, {stage}>"

    # --- stages: new, bytes or dicts, then perhaps broken, ended ---

    def _check(self, bint dicts, /):
        """Raises ValueError unless it has started, and goes on, as bytes, or as dicts."""
        self.check(DICTS if dicts else BYTES)

    cdef void break_off(self) noexcept:
        """Something was half done when it raised."""
        self.w.stage = BROKEN
        self.w.answered = 0
        if not FREE_THREADED and self.parser.place != NULL:
            self.parser.place.open = False                                   # a batch's next step looks at the stage

    def _over(self):
        """Ends it: it takes nothing more. Returns the frames from before an error, if an error broke it."""
        self.claim_alone()
        pending, self.pending = self.pending, b""
        self.w.stage = ENDED
        self.leave()
        return pending

    @property
    def _in_events(self):
        """Is events() inside? Then the verbs are its own."""
        return self.in_events

    @_in_events.setter
    def _in_events(self, bint value):
        self.in_events = value

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
        # so a stale value of another thread cannot change the answer; a word is read whole on all platforms of CPython.
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
        if self.w.stage != (DICTS if self.in_events and stage == BYTES else stage):
            raise ValueError(REFUSALS[self.w.stage])
        return 0

    cdef int take_parser(self) except -1:
        """It starts: from now on the parser's events are this emitter's."""
        self.check_fresh()
        if self.parser.written:
            raise ValueError("another emitter uses this parser: give each emitter a parser of its own")
        self.parser.written = True
        return 0

    cdef int check_fresh(self) except -1:
        if self.parser.s.position or self.parser.s.finished:
            raise ValueError(f"this parser has read up to {self.parser.position}: an emitter would lack its "
                             f"events; give it a fresh one")
        return 0

    # --- the start ---

    def _begin(self, bint dicts, Templates templates not None, tuple constants not None, int questions,
               str usage not None, bint fresh=True, /):
        """It is new, and from now on bytes, or dicts. The first frames.

        constants: the response's id, when it was created, the stem of ids, the model, and the JSON that is the head;
        None: the templates have that. questions: what is always asked, see `_question_bits()`. usage: as JSON, what is
        known of it at the beginning. fresh: refuse a parser that is not.
        """
        self.claim_alone()
        try:
            self.check(NEW)
            if fresh:
                self.take_parser()
            self.set_templates(templates, constants, questions)
            self.put_raw(V_USAGE, usage)
            self.out.n = 0
            self.require_memory(fill_template(&self.w, &templates.table.opening, &self.out))
            self.w.stage = DICTS if dicts else BYTES
            return self.taken()
        finally:
            self.leave()

    @staticmethod
    def _question_bits(bint calls, bint types, bint items):
        """For _begin(): who decides? calls: of the ids of calls; types: of more than that; items: of items' ids."""
        return (OF_CALL if calls or types else 0) | (OF_ITEM if items else 0) | (TYPES if types else 0)

    cdef int set_templates(self, Templates templates, tuple constants, int questions) except -1:
        cdef Writer* w = &self.w
        cdef str head = constants[4]
        self.templates = templates
        if not buffer_room(&w.constants, CONSTANTS_ROOM):
            raise MemoryError()
        w.constants.n = 0
        self.put_constant(0, constants[0], True)
        self.put_constant(1, constants[1], False)
        self.put_constant(2, constants[2], True)
        self.put_constant(3, constants[3], True)
        w.templates, w.stale, w.trims = &templates.table, &self.parser.stale, self.parser.trims
        w.always_asked |= questions & (OF_CALL | OF_ITEM)
        self.asks_whole_calls = questions & TYPES
        if templates.table.filtered:
            self.text_opening = opening_of(self._text_key)
            w.text_opening, w.n_text_opening = self.text_opening, len(self.text_opening)
        if head is not None:
            return self.put_constant(4, head, False)
        self.require_memory(fill_template(w, &templates.table.head, &w.values[<int>V_BESIDE])
                 and buffer_put(&w.constants, w.values[<int>V_BESIDE].p, w.values[<int>V_BESIDE].n))
        w.constant_at[5] = w.constants.n
        w.values[<int>V_BESIDE].n = 0
        return 0

    def _change_templates(self, Templates templates not None, /):
        """From now on these: the logprobs and ids of tokens are sent, too."""
        cdef int kind
        self.claim()
        try:
            self.templates, self.w.templates = templates, &templates.table
            self.w.always_asked |= OF_TOKENS
            for kind in range(N_DELTAS):
                self.w.delta_templates[kind] = NULL
        finally:
            self.leave()

    cdef int put_constant(self, int k, str text, bint escaped) except -1:
        cdef Writer* w = &self.w
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        self.require_memory(put_escaped(&w.constants, p, n) if escaped else buffer_put(&w.constants, p, n))
        w.constant_at[k + 1] = w.constants.n
        return 0

    cdef int require_memory(self, bint done) except -1:
        if not done:
            raise MemoryError()
        return 0

    cdef int put_raw(self, int value, str text) except -1:
        """A value that is JSON."""
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        self.w.values[value].n = 0
        return self.require_memory(buffer_put(&self.w.values[value], p, n))

    cdef bytes taken(self):
        """What is in `out`."""
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n)

    # --- the verbs ---

    def feed(self, ids, /, logprobs=None):
        """The frames that these token ids make: none, one or several. Raises what Parser.feed() raises.

        logprobs: the API's object for each of them, in Chat Completions; ValueError if it is another number of them.
        """
        cdef Py_ssize_t tid
        cdef bytes made
        if (not FREE_THREADED and logprobs is None and not self.w.always_asked & OF_TOKENS and self.w.stage == BYTES
                and not self.w.depth):
            tid = plain_token(self.parser, ids)                              # none if it is in a batch
            if tid >= 0 and self.w.delta_templates[self.parser.s.fast] != NULL:
                # no Python code runs in it, so no other thread can enter
                made = self.feed_plain(tid)
                if made is not None:
                    return made
        self.claim_alone()
        try:
            self.check(BYTES)
            if logprobs is not None or self.w.always_asked & OF_TOKENS:
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
            if not self.parser.read_end(reason, &out):
                return b""
            self.reason = self.parser.end_reason
            return self.frames_of(&out)
        finally:
            self.leave()

    def _end_plainly(self, str reason, usage, /):
        """All last frames, if the templates have them for this reason and usage; then the response has ended. None:
        Python must end it.

        Raises what checked_usage() raises.
        """
        return self.end_plainly(reason, usage)

    cdef bytes end_plainly(self, str reason, object usage):
        cdef Out out
        cdef const Stream* s = &self.parser.s
        cdef const ResponseTemplates* templates = self.w.templates
        cdef bytes made
        self.claim_alone()
        try:
            self.check(BYTES)
            if templates == NULL or reason not in self.templates.reasons:
                return None
            self.counted = not (templates.counted and s.input_mode == TEXT_MODE) and self.take_counts(usage)
            if self.counted:
                usage = None if usage is None else dict(usage)
            else:
                if templates.closing_usage.pieces == NULL:
                    return None
                usage = self.checked_usage(usage)
                if not self._has_usage_frame(usage):
                    return None
            if not self.parser.read_end(reason, &out):
                return None
            self.usage, self.ends_plainly, self.reason = usage, True, self.parser.end_reason
            made = self.frames_of(&out)
            self.w.stage = ENDED
            return made
        finally:
            self.leave()

    @property
    def _plain_usage(self):
        """What finish() has been given, of a response whose last frames the templates have; () of any other."""
        return self.usage if self.ends_plainly else ()

    cdef bint take_counts(self, object usage) except -1:
        """Does the usage have only plain counts? A missing count becomes -1."""
        cdef int64_t* counts = self.w.counts
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

    # --- what was written ---

    @property
    def _trims(self):
        """Does the parser write a newline between texts around a call?"""
        return bool(self.parser.trims)

    @property
    def _word(self):
        """The API's reason, after its end; else None."""
        return self.word

    @_word.setter
    def _word(self, str word):
        self.word = word

    @property
    def _end_reason(self):
        """The parser's reason, after its end."""
        return self.reason

    @property
    def _calls_so_far(self):
        """The calls that were shown."""
        return self.w.calls

    @property
    def _items_so_far(self):
        """The items that have begun."""
        return self.w.items

    @property
    def _cut(self):
        """Is a message that no token ends cut?"""
        return bool(self.w.cut)

    @_cut.setter
    def _cut(self, bint cut):
        self.w.cut = cut

    @property
    def _inside(self):
        """Does another stream end the response?"""
        return self.inside

    @_inside.setter
    def _inside(self, bint inside):
        self.inside = inside

    def _items(self, bint with_open=False, /):
        """The items that are done, and the open one, as JSON."""
        cdef Buffer made
        cdef Writer* w = &self.w
        made.p, made.n, made.cap = NULL, 0, 0
        self.claim()
        try:
            self.require_memory(buffer_put(&made, b"[", 1))
            if w.output.n:
                self.require_memory(buffer_put(&made, w.output.p + 1, w.output.n - 1))
            if with_open and w.open:
                made.n -= made.n == 1                                        # its comma becomes the bracket
                self.require_memory(put_open_item(w, &made))
                made.p[0] = c"["
            self.require_memory(buffer_put(&made, b"]", 1))
            return (<const char*>made.p)[:made.n].decode()
        finally:
            buffer_free(&made)
            self.leave()

    def _put_items(self, str items not None, Py_ssize_t begun, /):
        """These items, as JSON, take the place of those that are done. begun: more that have begun."""
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(items, &n)
        self.claim()
        try:
            self.w.items += <int32_t>begun
            self.w.output.n = 0
            if not self.w.keeps_none and n > 2:
                self.require_memory(buffer_put(&self.w.output, b",", 1) and buffer_put(&self.w.output, p + 1, n - 2))
        finally:
            self.leave()

    @property
    def _head_json(self):
        """The JSON of the head."""
        cdef Writer* w = &self.w
        return (<const char*>w.constants.p)[w.constant_at[4]:w.constant_at[5]].decode() if w.constants.n else ""

    def _keep_none(self, *kinds):
        """Keep nothing of an item after its end, and no delta's text of these kinds when it has been sent."""
        self.claim()
        for kind in kinds:
            self.w.drops[<uint8_t>KINDS.index(kind)] = True
        self.w.keeps_none = True
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
    def _watched(self):
        return bool(self.w.always_asked & OF_TOKENS)

    @_watched.setter
    def _watched(self, bint watched):
        self.claim()
        self.w.always_asked = self.w.always_asked & ~OF_TOKENS | (OF_TOKENS if watched else 0)
        self.leave()

    @property
    def in_text(self):
        """Is it fed text? Then the parser counts bytes, not tokens."""
        return self.parser.s.input_mode == TEXT_MODE

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

    # --- what ends without a record ---

    def _end_open(self, bint complete, /):
        """The frames that end the open item."""
        self.claim()
        try:
            self.out.n = 0
            if must_ask_end(&self.w):
                self.answer_end()
            self.require_memory(end_item(&self.w, complete, &self.out))
            self.w.answered = 0
            return self.taken()
        finally:
            self.leave()

    def _close_with(self, str usage not None, /):
        """The last frames, with this usage as JSON."""
        self.claim()
        try:
            self.put_raw(V_USAGE, usage)
            self.out.n = 0
            self.require_memory(fill_template(&self.w, &self.templates.table.closing_usage, &self.out))
            return self.taken()
        finally:
            self.leave()

    def _write_events(self, list events not None, str reason, cut=None, /):
        """The frames of events that another parser has made. reason: of their end. cut: the end of a call that was cut.
        """
        cdef Out out
        self.claim_alone()
        out_init(&out)
        try:
            self.check(BYTES)
            self.reason = reason
            self.out.n = 0
            for event in events:
                out.n_records = out.n_text = out.floor = 0
                if put_event(&out, event, event is cut):
                    if out.records[0].kind == R_CONTENT and self.w.open != R_CONTENT:
                        self.w.channel = out.records[0].channel
                    try:
                        self.write(&out, 0)
                    except BaseException:
                        self.break_off()
                        self.pending += self.taken()
                        raise
            return self.taken()
        finally:
            out_free(&out)
            self.leave()

    # --- filling ---

    cdef bytes one_frame(self, uint8_t kind, const uint8_t* text, Py_ssize_t n, bint unescaped):
        """Valid UTF-8 in the open item's frame, without a detour. unescaped: nothing in it is escaped in JSON, as the
        vocabulary knows.
        """
        cdef Writer* w = &self.w
        cdef Py_ssize_t begin = w.text.n, size
        cdef Filling filling
        cdef bytes whole
        if w.delta_templates[kind].hidden:
            return b""
        if kind == R_ARGUMENTS and w.filtered:
            self.out.n = 0
            self.require_memory(put_delta(w, kind, text, n, &self.out))
            return self.taken()
        self.require_memory(buffer_put(&w.text, text, n) if unescaped else put_escaped(&w.text, text, n))
        size = fill_with(&filling, &w.bound, w.text.p + begin, w.text.n - begin, w.number)
        try:
            whole = PyBytes_FromStringAndSize(NULL, size)
        except MemoryError:
            w.text.n = begin
            raise
        fill(&w.bound, <uint8_t*>PyBytes_AS_STRING(whole), &filling)
        w.number = <int64_t>(<uint64_t>w.number + 1)                         # it wraps
        if w.drops[kind]:
            w.text.n = begin
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
        """The frames of what the parser has just read. It stays claimed meanwhile, so that the stream does not change
        between two records.
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
        cdef Py_ssize_t i = begin
        if begin == end:
            return b""
        self.out.n = 0
        try:
            while i < end:
                i += 1
                self.write(out, i - 1)
        except BaseException:
            self.break_off()
            self.pending = self.taken()                                      # the frames before, for error()
            self.parser.stale = True                                         # it must know which message is open
            raise
        return self.taken()

    cdef int write(self, const Out* out, Py_ssize_t i) except -1:
        """Appends the frames of a record. Answers the questions of write_record()."""
        cdef Writer* w = &self.w
        cdef Record r = out.records[i]
        cdef const uint8_t* text = out.text
        cdef Outcome outcome
        cdef str empty
        if r.kind == R_EMPTY_ARGUMENTS:
            if not self.parser.empty_args:
                return 0
            empty = sendable(self.parser.empty_args)
            text, r.kind, r.at = <const uint8_t*>PyUnicode_AsUTF8AndSize(empty, &r.n), R_ARGUMENTS, 0
        while True:
            outcome = write_record(w, &r, text, &self.out)
            if outcome != ASKS:
                break
            self.answer(out, i, &r, text)
            w.answered |= w.question
        if outcome == NO_MEMORY:
            raise MemoryError()
        if r.kind == R_CALL_START and w.answered & OF_CALL:
            self.through, self.next_through = self.next_through, None
        elif r.kind == R_STREAM_END:
            self.put_end()
        if w.answered & OF_TOKENS:
            self._tokens_written(r.kind <= R_ARGUMENTS, bool(w.used))
        w.answered = 0
        if self.parser.s.strict and (r.kind == R_MESSAGE_START or r.kind == R_MESSAGE_END):
            self.parser.event_of(out, i)                                     # an error names what is open
            self.parser.stale = False
        return 0

    # --- what Python answers ---

    cdef int answer(self, const Out* out, Py_ssize_t i, const Record* r, const uint8_t* text) except -1:
        cdef Writer* w = &self.w
        if w.question == OF_TOKENS:
            logprobs, ids = self._answer_tokens(r.start, r.stop, r.kind == R_STREAM_END)
            self.put_raw(V_LOGPROBS, logprobs)
            self.put_raw(V_IDS, ids)
            w.used = False
        elif w.question == OF_CALL:
            self.answer_call(out, i, r)
        elif w.question == OF_ITEM:
            w.next[<int>V_ITEM_ID].n = 0
            put_str(&w.next[<int>V_ITEM_ID], self._answer_item(KINDS[r.kind], w.items))
        elif w.question == OF_TEXT:
            self.put_raw(V_TEXT, sendable(self.through.feed(text_at(text + r.at, r.n))))
        else:
            self.answer_end()
        return 0

    cdef int answer_call(self, const Out* out, Py_ssize_t i, const Record* r) except -1:
        cdef Writer* w = &self.w
        cdef Buffer* id = &w.next[<int>V_CALL_ID]
        cdef str made
        cdef int k
        for k in range(<int>N_NEXT):
            w.next[k].n = 0
        w.next_variant, w.next_through, self.next_through = 0, False, None
        if (not r.n_id and not self.asks_whole_calls and not self.has_own_ids and self._own_call_id is None
                and (r.flags == FUNCTION or not w.templates.functions) and utf8_is_whole(out.text + r.at, r.n)):
            w.calls += 1                                                     # the template has this call's number
            done = fill_template(w, &w.templates.call_id, id)
            w.calls -= 1
            self.require_memory(done and put_escaped(&w.next[<int>V_NAME], out.text + r.at, r.n))
            made = text_of(id, 0, id.n)
            if made not in self._taken:
                return 0                                                     # what _call_ids would decide
            id.n = 0
            put_str(id, self._call_ids.decide(None, w.calls))
            return 0
        if r.n_id:
            self.has_own_ids = True                                          # a later one may not be this one
            w.always_asked |= OF_CALL
        variant, name, call_id, fields, item_id, through = self._answer_call(self.parser.event_of(out, i), w.calls,
                                                                             w.items)
        put_str(&w.next[<int>V_NAME], name)
        put_str(id, call_id)
        put_str(&w.next[<int>V_ITEM_ID], item_id)
        self.put_next_raw(V_CALL_FIELDS, fields)
        w.next_variant, w.next_through = variant, through is not None
        self.next_through = through
        return 0

    cdef int put_next_raw(self, int value, str text) except -1:
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        return self.require_memory(buffer_put(&self.w.next[value], p, n))

    cdef int answer_end(self) except -1:
        """What the end of the open item has of its text."""
        cdef Writer* w = &self.w
        if w.open == R_ARGUMENTS and w.through:
            self.put_raw(V_TEXT, sendable(self.through.finish()))
        if w.templates.seals[w.open][w.variant] == ASKED:
            name, text = text_of(&w.values[<int>V_NAME], 0, w.values[<int>V_NAME].n), text_of(&w.text, 0, w.text.n)
            seal, whole, whole_bytes = self._answer_end(KINDS[w.open], text, name)
            self.put_raw(V_SEAL, seal)
            self.put_raw(V_ALL, whole)
            self.put_raw(V_ALL_BYTES, whole_bytes)
        w.answered |= OF_END
        return 0

    cdef int put_end(self) except -1:
        """The end of the stream, and of the response if the templates have all of it."""
        cdef Writer* w = &self.w
        cdef const ResponseTemplates* templates = &self.templates.table
        words = self.templates.reasons.get(self.reason) if self.ends_plainly else None
        word, beside = self._answer_reason(self.reason, w.calls) if words is None else <tuple>words[w.calls != 0]
        w.values[<int>V_REASON].n = 0
        put_str(&w.values[<int>V_REASON], word)
        self.put_raw(V_BESIDE, beside)
        self.word = sendable(word)
        if not self.inside:
            self.require_memory(fill_template(w, &templates.finish, &self.out))
        if self.ends_plainly:
            self.put_usage()
            self.require_memory(fill_template(w, &templates.closing if self.counted else &templates.closing_usage,
                                              &self.out))
        return 0

    cdef int put_usage(self) except -1:
        """What the closing frames have of the tokens."""
        cdef Writer* w = &self.w
        if not self.counted:
            return self.put_raw(V_USAGE, self._usage_json(self.usage))
        if w.counts[<int>IN_RESPONSE] < 0:
            w.counts[<int>IN_RESPONSE] = tokens_read(&self.parser.s)
        if w.counts[<int>IN_TOTAL] < 0:
            w.counts[<int>IN_TOTAL] = w.counts[<int>IN_PROMPT] + w.counts[<int>IN_RESPONSE]
        w.counts[<int>OF_REASONING] = self.parser.s.usage[<int>IN_REASONING]
        return 0

    # --- moving ---

    def _check_movable(self):
        """Raises ValueError unless it has started and goes on."""
        if self.w.stage != DICTS:
            self.check(BYTES)

    def _moving(self):
        """Is it dicts, and the next payload's number."""
        return self.w.stage == DICTS, self.w.number

    def _writing(self):
        """Where it is in the response: the open item, and what has begun."""
        cdef Writer* w = &self.w
        cdef Buffer* text
        cdef int k
        self.claim()
        try:
            made = {"open": KINDS[w.open], "variant": w.variant if w.open else 0, "channel": w.channel,
                    "has_text": bool(w.has_text), "fields_now": w.fields_now, "fields_before": w.fields_before,
                    "cut": bool(w.cut), "blank": bool(w.blank), "begun": w.items, "calls": w.calls,
                    "text": text_of(&w.text, 0, w.text.n)}
            if w.open:
                for k in range(<int>V_CALL_FIELDS):
                    made[("name", "call_id", "item_id")[k]] = text_of(&w.values[k], 0, w.values[k].n)
                made["fields"] = raw_of(&w.values[<int>V_CALL_FIELDS])
            if w.open == R_ARGUMENTS and w.filtered:
                text = &w.filter.sent if w.filter.step == A_TEXT else &w.filter.raw
                made["filter"] = [w.filter.step == A_TEXT, raw_of(text)]
            return made
        finally:
            self.leave()

    def _write_on(self, Parser parser not None, bint dicts, int64_t number, Templates templates not None,
                  tuple constants not None, int questions, dict given not None, Arguments filter, /):
        """It is new, and from now on what such a stream was. The parser need not be fresh. given: what _writing() gave,
        each field of the right type. Raises ValueError if it could not have given that.
        """
        cdef Writer* w = &self.w
        cdef const ResponseTemplates* table = &templates.table
        cdef Py_ssize_t kind, variant, k
        self.claim_alone()
        try:
            self.check(NEW)
            self.parser, w.number = parser, number
            self.set_templates(templates, constants, questions)
            kind, variant = KINDS.index(given["open"]) if given["open"] else 0, given["variant"]
            if (variant >= VARIANTS or given["channel"] > OTHER_CHANNEL or given["fields_now"] >= FIELDS
                    or given["fields_before"] >= FIELDS or (kind and given["blank"])
                    or (kind and (table.of_items[DELTA][kind][variant].hidden
                                  or (table.of_items[CUT_ITEM][kind][variant].pieces == NULL)))
                    or (given["text"] and not kind and not given["blank"])
                    or (filter is not None) != (kind == R_ARGUMENTS and table.filtered)):
                raise ValueError("not a usable emitter state: what is open is out of range")
            w.open, w.variant, w.channel = kind, variant, given["channel"]
            w.has_text, w.cut, w.blank = given["has_text"], given["cut"], given["blank"]
            w.fields_now, w.fields_before = given["fields_now"], given["fields_before"]
            w.items, w.calls = given["begun"], given["calls"]
            put_str(&w.text, given["text"])
            if kind:
                for k in range(<int>V_CALL_FIELDS):
                    put_str(&w.values[k], given[("name", "call_id", "item_id")[k]])
                self.put_raw(V_CALL_FIELDS, given["fields"])
            if filter is not None:
                self.require_memory(new_filter(w))
                move_filter(w.filter, &filter.f)
                w.filtered = True
            if kind:
                self.require_memory(bind_open(w))
            w.stage = DICTS if dicts else BYTES
        finally:
            self.leave()


cdef void move_filter(Filter* to, Filter* source) noexcept:
    """The first is the second one, which is fresh."""
    opening, n = to.text_opening, to.n_text_opening
    memcpy(to, source, sizeof(Filter))
    to.text_opening, to.n_text_opening = opening, n
    source.sent.p = source.raw.p = source.held.p = NULL
    source.sent.n = source.raw.n = source.held.n = 0
    source.sent.cap = source.raw.cap = source.held.cap = 0


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


cdef str text_at(const uint8_t* p, Py_ssize_t n):
    return (<const char*>p)[:n].decode("utf-8", "replace") if n else ""


cdef str raw_of(const Buffer* json):
    return (<const char*>json.p)[:json.n].decode() if json.n else ""


cdef str text_of(const Buffer* escaped, Py_ssize_t begin, Py_ssize_t end):
    """A part of the inside of a JSON string, without the escapes."""
    cdef const char* p = <const char*>escaped.p
    if end <= begin:
        return ""
    if memchr(p + begin, c'\\', end - begin) == NULL:
        return p[begin:end].decode()
    return json.loads(b'"' + p[begin:end] + b'"')


cdef uint8_t channel_of(str channel):
    return CHANNELS.index(channel) if channel in CHANNELS else OTHER_CHANNEL


cdef bint put_event(Out* out, object event, bint cut) except -1:
    """The event as a record. Returns False if no API sends such an event."""
    cdef Record r
    cdef bytes text = b"", id = b""
    r.flags = r.channel = 0
    r.index, r.n_id = 0, 0
    if isinstance(event, MessageStart):
        r.kind, r.channel = R_MESSAGE_START, channel_of((<MessageStart>event).channel)
    elif isinstance(event, MessageEnd):
        r.kind = R_MESSAGE_END
    elif isinstance(event, ReasoningDelta):
        r.kind, text = R_REASONING, sendable((<ReasoningDelta>event).text).encode()
    elif isinstance(event, ContentDelta):
        r.kind, text = R_CONTENT, sendable((<ContentDelta>event).text).encode()
        r.channel = channel_of((<ContentDelta>event).channel)
    elif isinstance(event, ToolCallDelta):
        r.kind, text = R_ARGUMENTS, sendable((<ToolCallDelta>event).arguments).encode()
    elif isinstance(event, ToolCallStart):
        r.kind, text = R_CALL_START, sendable((<ToolCallStart>event).name).encode()
        r.flags = CALL_KINDS.index((<ToolCallStart>event).kind)
        r.index = (<ToolCallStart>event).index
        if (<ToolCallStart>event).id is not None:
            id = sendable((<ToolCallStart>event).id).encode()[:65535]
    elif isinstance(event, ToolCallEnd):
        r.kind, r.flags = R_CALL_END, COMPLETE if (<ToolCallEnd>event).complete else 0 if cut else UNREADABLE
    elif isinstance(event, StreamEnd):
        r.kind = R_STREAM_END
    else:
        return False
    if not text and r.kind <= R_ARGUMENTS:
        return False
    r.start, r.stop = event.start, event.stop
    r.n, r.n_id, r.at = len(text), len(id), 0
    if not out_room(out, r.n + r.n_id) or out_record(out, r.kind, r.start, r.stop) == NULL:
        raise MemoryError()
    memcpy(out.text, PyBytes_AS_STRING(text), r.n)
    memcpy(out.text + r.n, PyBytes_AS_STRING(id), r.n_id)
    out.records[0] = r
    return True


cdef tuple CALL_KINDS = (None, "function", "builtin", "other")


name_errors(SseWriter)
