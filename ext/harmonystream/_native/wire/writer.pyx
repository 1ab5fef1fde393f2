# A writer of frames beside its verbs: who may use it, in which stage it is, what its deltas have said, and what its
# script has told without Python.

import json

from cpython.pythread cimport PyThread_get_thread_ident
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memcpy
cimport cython
from harmonystream._native.wire.json_filter cimport Arguments, filter_read
from harmonystream._native.wire.script cimport Script
from harmonystream._native.core.buffer cimport buffer_free, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.locks cimport FREE_THREADED, enter, leave, put_int
from harmonystream._native.core.out cimport out_free, out_init, out_record, out_room
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.stream.open_stream cimport Place, untold
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.core.types cimport *
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.utf8 cimport without_surrogates
from harmonystream._native.wire.tell cimport *

DEBUG = bool(DEBUG_BUILD)


cdef tuple REFUSALS = (
    "this stream has not started: start() comes first",
    "this stream has started and is bytes: start() comes once, events() is for one that is dicts from its beginning",
    "this stream has started and is dicts: go on with events()",
    "this stream has raised in the middle of something: error() is what can still end it",
    "this stream has ended: make another one",
)


cdef class OpenWriter:
    """The state of one response, and its lock. SseWriter adds the verbs."""

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
        told_free(&self.w.told)
        buffer_free(&self.out)

    def __sizeof__(self):
        """Bytes, with the text that is kept, and without the parser."""
        cdef const Told* t = &self.w.told
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

    # --- the script ---

    @property
    def _scripted(self):
        """Does the script tell what happens? Then Python may not know yet: see _journal()."""
        return self.w.told.script != NULL

    @property
    def _word_told(self):
        """The API's reason, if the script has told the end of the response, too; else None."""
        return self.end_word

    @property
    def _calls_told(self):
        """The calls that the script has shown."""
        return self.w.told.calls

    @property
    def _items_told(self):
        """The items that the script has shown."""
        return self.w.told.items

    @property
    def _output_told(self):
        """The items that are done, as the script says them, each after a comma."""
        return (<const char*>self.w.told.output.p)[:self.w.told.output.n].decode() if self.w.told.output.n else ""

    @property
    def _head_told(self):
        """The JSON of what the response begins with."""
        cdef Told* t = &self.w.told
        return (<const char*>t.constants.p)[t.constant_at[4]:t.constant_at[5]].decode() if t.constants.n else ""

    def _cut_from_here(self):
        """From here on a message that no token ends is cut. In the journal this is None."""
        self.w.told.cut = True
        if not note_run(&self.w, R_NONE, 0, False):
            raise MemoryError()

    def _leave_script(self):
        """From here on, Python writes every frame."""
        self.claim()
        try:
            if self.w.told.script != NULL:
                self._catch_up()
                self.w.told.script = NULL
                self.drop_frames()
        finally:
            self.leave()

    def _journal(self):
        """The events that Python has not been told, and the filter of an open call's arguments: it is told now. The
        text of deltas is one event for each run.
        """
        cdef list events = []
        cdef bint alone                                                      # no verb, which has the parser, is inside
        self.claim()
        try:
            if self.w.told.script != NULL:
                alone = FREE_THREADED and self.w.depth == 1
                if alone:                                                    # replay() names the parser's open message
                    self.parser.claim(NO_INPUT)
                try:
                    self.replay(events)
                finally:
                    if alone:
                        leave(&self.parser.busy)
                if self.w.told.blank:                                        # Python holds it now
                    self.w.told.script = NULL
                    self.drop_frames()
            return events, self.open_filter()
        finally:
            self.leave()

    def _caught_up(self, filter, /):
        """Called after _journal(), when Python has seen all of it. What is open continues where it was."""
        cdef Told* t = &self.w.told
        self.claim()
        try:
            if t.script == NULL:
                return
            self.set_filter(filter)
            t.journal.n = t.item_at = t.had_blank = 0
            if t.open == R_ARGUMENTS and filter is not None:
                self.keep_sent()
            if t.open and not note_run(&self.w, t.open, self.w.kept[t.open].n, True):
                raise MemoryError()
            if t.open == R_ARGUMENTS and filter is not None:
                self.w.kept[t.open].n = 0
        finally:
            self.leave()

    cdef int replay(self, list events) except -1:
        """Append the events of the journal. What is kept of their texts is taken out."""
        cdef Told* t = &self.w.told
        cdef Py_ssize_t[N_DELTAS] end
        cdef Entry entry
        cdef Py_ssize_t at = 0
        cdef list entries = []
        cdef dict texts = {}
        cdef int kind
        t.caught_up = True
        while at < t.journal.n:
            entries.append(at)
            memcpy(&entry, t.journal.p + at, sizeof(Entry))
            at += sizeof(Entry) + entry.n
        if t.open == R_ARGUMENTS and self.w.filtered:
            self.w.kept[<int>R_ARGUMENTS].n = t.item_at                           # the filter has it
            self.keep_sent()
        for kind in range(N_DELTAS):
            end[kind] = self.w.kept[kind].n
        for at in reversed(entries):
            memcpy(&entry, t.journal.p + at, sizeof(Entry))
            if entry.kind <= R_ARGUMENTS:
                begin = min(entry.at, end[entry.kind])
                texts[at] = self.text_of(entry.kind, begin, end[entry.kind])
                end[entry.kind] = begin
        for kind in range(N_DELTAS):
            self.w.kept[kind].n = 0 if kind == R_ARGUMENTS and t.script.filtered else end[kind]
        for at in entries:
            memcpy(&entry, t.journal.p + at, sizeof(Entry))
            if entry.kind == R_NONE:
                events.append(None)
            elif not entry.flags or entry.kind > R_ARGUMENTS or texts[at]:
                events.append(self.replayed(&entry, t.journal.p + at + sizeof(Entry), texts.get(at)))
        return 0

    cdef object replayed(self, const Entry* entry, const uint8_t* text, str delta):
        """The event of an entry of the journal."""
        cdef Out out
        cdef Record* r
        cdef bytes whole
        out_init(&out)
        whole = (<const char*>text)[:entry.n] if delta is None else delta.encode()
        try:
            if not out_room(&out, len(whole)):
                raise MemoryError()
            r = out_record(&out, entry.kind, entry.start, entry.stop)
            memcpy(out.text, PyBytes_AS_STRING(whole), len(whole))
            r.flags, r.channel, r.n_id, r.index = entry.flags, entry.channel, entry.n_id, entry.index
            r.n = len(whole) - entry.n_id
            return self.parser.event_of(&out, 0)
        finally:
            out_free(&out)

    cdef str text_of(self, int kind, Py_ssize_t begin, Py_ssize_t end):
        """A part of what is kept, without the escapes."""
        return json_text(&self.w.kept[kind], begin, end)

    cdef int keep_sent(self) except -1:
        """What the filter has let through, with what is kept of arguments."""
        cdef Buffer* sent = &self.arguments_through.f.sent
        if not put_escaped(&self.w.kept[<int>R_ARGUMENTS], sent.p, sent.n):
            raise MemoryError()
        return 0

    cdef Arguments open_filter(self):
        """Of the open call's arguments; None: there is none. One that has ended is used again for the next call."""
        return self.arguments_through if self.w.filtered else None

    cdef void set_filter(self, Arguments filter) noexcept:
        self.arguments_through = filter
        self.w.filter = NULL if filter is None else &filter.f
        self.w.filtered = filter is not None

    cdef int hook(self, const Record* r, const uint8_t* text) except -1:
        """Does what tell() needs from Python before it can write this record."""
        cdef Told* t = &self.w.told
        cdef str own = None
        if t.open == R_REASONING and t.script.signed:
            self.put_hook(self._sign_told(self.text_of(R_REASONING, t.item_at, self.w.kept[<int>R_REASONING].n)))
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
        cdef Told* t = &self.w.told
        cdef str made
        t.call_id.n = 0
        if not self.has_own_ids and self._own_call_id is None:
            t.calls += 1                                                     # its frame has this call's number
            done = say(&self.w, &t.script.call_id, &t.call_id)
            t.calls -= 1
            if not done:
                raise MemoryError()
            made = json_text(&t.call_id, 0, t.call_id.n)
            if made not in self._taken:
                return 0                                                     # what _call_ids would decide
            t.call_id.n = 0
        return put_str(&t.call_id, self._call_ids.decide(own, t.calls))

    cdef int put_hook(self, str text) except -1:
        self.w.told.hook.n = 0
        return put_str(&self.w.told.hook, text)

    cdef void drop_frames(self) noexcept:
        cdef int kind
        for kind in range(N_DELTAS):
            self.w.frames[kind] = NULL

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

    # --- what the deltas have said ---

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
        """What the deltas of this kind have said since the last _take()."""
        cdef Buffer* kept = &self.w.kept[<uint8_t>KINDS[kind]]
        self.claim()
        try:
            text = self.text_of(KINDS[kind], 0, kept.n)
            kept.n = 0
            forget_text(&self.w.told, KINDS[kind])
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


cdef int64_t tokens_read(const Stream* s) noexcept nogil:
    cdef int64_t total = 0
    cdef int k
    for k in range(N_REGIONS):
        total += s.usage[k]
    return total


cdef str json_text(const Buffer* escaped, Py_ssize_t begin, Py_ssize_t end):
    """A part of the inside of a JSON string, without the escapes."""
    cdef const char* p = <const char*>escaped.p
    if end <= begin:
        return ""
    if memchr(p + begin, c'\\', end - begin) == NULL:
        return p[begin:end].decode()
    return json.loads(b'"' + p[begin:end] + b'"')


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


name_errors(OpenWriter)
