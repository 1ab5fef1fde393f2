# Batch: one decode step of many streams in one call. The machines of all slots run in one loop without the GIL, and write their records one
# behind the other into one Out; only what comes of them, columns or frames, needs Python.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
cimport cython
from harmonystream._build cimport DEBUG_BUILD
from harmonystream._cpython cimport enter, leave
from harmonystream._ids cimport Ids, ids_free, ids_take
from harmonystream._machine cimport machine_ids, set_shortcut
from harmonystream._parser cimport Parser
from harmonystream._json cimport json_step
from harmonystream._sink cimport out_free, out_init, out_record, out_room
from harmonystream._sse cimport SseWriter
from harmonystream._types cimport *

from harmonystream.columns import Columns

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST_SLOTS = 1 << 20

cdef struct Slot:                                # what a step needs of one stream
    Stream* s
    Held* held
    Context c


@cython.final
cdef class Batch:
    """Batch(format="harmony", vocab=None, capacity=1024, **options)
--

    Up to `capacity` streams of one format and vocabulary, fed together: one call per decode step, in which the GIL is released once.

    options: those of Parser that all streams share (trim, empty_args, max_hold). One thread at a time; several batches are independent.
    A slot costs what a Parser does, about 1 KiB, and what its stream holds.
    """

    def __cinit__(self, format="harmony", vocab=None, Py_ssize_t capacity=1024, **options):
        cdef Parser first
        if not 0 < capacity <= MOST_SLOTS:
            raise ValueError(f"capacity is a number of slots from 1 to {MOST_SLOTS:,}, not {capacity}")
        if options.pop("strict", False):
            raise ValueError("a batch is lenient: one stream's error must not stop the others")
        first = Parser.__new__(Parser, format, vocab, **options)
        self.program = first.program
        self.options = options
        self.parsers = [None] * capacity
        self.writers = [None] * capacity
        self.free = list(range(capacity - 1, -1, -1))

    def open(self, *, tools=None, start="auto", prompt=None):
        """A slot for a new stream; the options are those of Parser. Raises RuntimeError if all slots are taken, and what Parser() raises."""
        return self.place(Parser.__new__(Parser, self.program, self.program.vocab, tools=tools, start=start, prompt=prompt, **self.options), None)

    def add(self, stream, /):
        """A slot for an emitter (ChatStream, ...) whose parser has this batch's format and vocabulary, or for such a parser."""
        cdef Parser parser = stream if isinstance(stream, Parser) else stream.parser
        if parser.program is not self.program:
            raise ValueError(f"this stream is {parser!r} on {parser.vocab!r}; the batch is {self.format!r} on {self.program.vocab!r}")
        if parser.strict:
            raise ValueError("a batch is lenient: one stream's error must not stop the others")
        return self.place(parser, None if isinstance(stream, Parser) else stream.writer)

    def place(self, Parser parser, SseWriter writer):
        if not self.free:
            raise RuntimeError(f"all {len(self.parsers)} slots are taken: close() some, or make the batch larger")
        slot = self.free.pop()
        self.parsers[slot], self.writers[slot] = parser, writer
        return slot

    def close(self, slot, /):
        """Free the slot. Its parser, which finish() may still be asked of, is returned."""
        parser = self[slot]
        self.parsers[slot] = self.writers[slot] = None
        self.free.append(slot)
        return parser

    def finish(self, slot, reason=None):
        """The last events of the stream; the slot is free afterwards. See Parser.finish()."""
        return self.close(slot).finish(reason)

    def feed(self, slots, ids, offsets=None):
        """One step: `ids[i]` goes to `slots[i]`. What comes of it, as Columns; for all else, ask the parsers, `batch[slot]`.

        slots, ids: what Parser.feed() takes, of equal length; with offsets, `ids[offsets[i]:offsets[i + 1]]` goes to `slots[i]`.
        Raises TypeError or ValueError, before anything is read, for what is no open slot, no id, or not of one length.
        """
        return self.run(slots, ids, offsets, False)

    def feed_sse(self, slots, ids, offsets=None):
        """One step, of slots that were add()ed with an emitter: the frames of each, as a list of bytes. As feed() otherwise."""
        return self.run(slots, ids, offsets, True)

    def run(self, slots, ids, offsets, bint framed):
        cdef Ids where, what, cuts
        cdef Out out
        cdef Py_ssize_t* ends = NULL
        cdef Py_ssize_t n
        if not enter(&self.busy):
            raise RuntimeError("this batch is in use by another thread: give each thread its own")
        try:
            ids_take(&where, slots)
            try:
                ids_take(&what, ids)
                try:
                    ids_take(&cuts, () if offsets is None else offsets)
                    out_init(&out)
                    try:
                        n = where.n
                        check_lengths(&where, &what, &cuts, offsets is None)
                        self.check(where.ids, n)
                        ends = <Py_ssize_t*>malloc((n + 1) * sizeof(Py_ssize_t))
                        if ends == NULL:
                            raise MemoryError()
                        self.step(&out, ends, where.ids, n, what.ids, what.n, NULL if offsets is None else cuts.ids)
                        if framed:
                            return self.frames(&out, ends, n, where.ids)
                        return self.columns(&out, ends, n, where.ids)
                    finally:
                        free(ends)
                        out_free(&out)
                        ids_free(&cuts)
                finally:
                    ids_free(&what)
            finally:
                ids_free(&where)
        finally:
            leave(&self.busy)

    cdef int check(self, const uint32_t* slots, Py_ssize_t n) except -1:
        """Are all of them open, and taking ids?"""
        cdef Py_ssize_t i
        cdef Parser parser
        for i in range(n):
            if slots[i] >= <uint32_t>len(self.parsers) or self.parsers[slots[i]] is None:
                raise ValueError(f"slot {slots[i]} is not open")
            parser = <Parser>self.parsers[slots[i]]
            if parser.s.finished or parser.s.text_mode != 1 or parser.busy:
                parser.claim(1)                                              # raises if it may not be fed
                leave(&parser.busy)
        return 0

    cdef int step(self, Out* out, Py_ssize_t* ends, const uint32_t* slots, Py_ssize_t n, const uint32_t* ids, Py_ssize_t n_ids,
                  const uint32_t* offsets) except -1:
        """Run all machines. ends[i]: how many records there are behind the slot i."""
        cdef Slot* each = <Slot*>malloc((n + 1) * sizeof(Slot))
        cdef Parser parser
        cdef Py_ssize_t i, begin, size
        if each == NULL:
            raise MemoryError()
        for i in range(n):
            parser = <Parser>self.parsers[slots[i]]
            each[i].s = &parser.s
            each[i].held = &parser.held
            each[i].c = parser.context(out)
            parser.busy = 1
        with nogil:
            for i in range(n):
                begin = i if offsets == NULL else offsets[i]
                size = 1 if offsets == NULL else offsets[i + 1] - offsets[i]
                if size:
                    each[i].s.text_mode = 1
                out.floor = out.n_records
                if size == 1 and each[i].s.fast and take_plain(each[i].s, &each[i].c, ids[begin]):
                    ends[i] = out.n_records
                    continue
                out.held = each[i].held
                machine_ids(each[i].s, &each[i].c, ids + begin, size)
                set_shortcut(each[i].s, each[i].c.row, each[i].held)
                ends[i] = out.n_records
        for i in range(n):
            parser = <Parser>self.parsers[slots[i]]
            parser.busy = 0
            if out.no_memory:
                parser.s.finished = 1                                        # text is missing: only reset() helps
        free(each)
        if out.no_memory:
            raise MemoryError()
        return 0

    cdef object columns(self, Out* out, const Py_ssize_t* ends, Py_ssize_t n, const uint32_t* slots):
        cdef Py_ssize_t rows = out.n_records, i, k = 0
        cdef Record* r
        cdef bytes slot = PyBytes_FromStringAndSize(NULL, 4 * rows), kind = PyBytes_FromStringAndSize(NULL, rows)
        cdef bytes index = PyBytes_FromStringAndSize(NULL, 4 * rows), start = PyBytes_FromStringAndSize(NULL, 8 * rows)
        cdef bytes stop = PyBytes_FromStringAndSize(NULL, 8 * rows), at = PyBytes_FromStringAndSize(NULL, 8 * (rows + 1))
        cdef int32_t* slot_p = <int32_t*>PyBytes_AS_STRING(slot)
        cdef int32_t* index_p = <int32_t*>PyBytes_AS_STRING(index)
        cdef int64_t* start_p = <int64_t*>PyBytes_AS_STRING(start)
        cdef int64_t* stop_p = <int64_t*>PyBytes_AS_STRING(stop)
        cdef int64_t* at_p = <int64_t*>PyBytes_AS_STRING(at)
        cdef dict others = {}
        for i in range(n):
            while k < ends[i]:
                r = &out.records[k]
                slot_p[k] = slots[i]
                PyBytes_AS_STRING(kind)[k] = <char>r.kind
                index_p[k] = r.index
                start_p[k], stop_p[k], at_p[k] = r.start, r.stop, r.at
                if r.kind > R_ARGUMENTS:
                    others[k] = (<Parser>self.parsers[slots[i]]).event_of(out, k)
                k += 1
        at_p[rows] = out.n_text
        return Columns(rows, slot, kind, index, start, stop, at, PyBytes_FromStringAndSize(<const char*>out.text, out.n_text), others)

    cdef list frames(self, Out* out, const Py_ssize_t* ends, Py_ssize_t n, const uint32_t* slots):
        cdef list made = [None] * n
        cdef Py_ssize_t i, k = 0
        cdef SseWriter writer
        for i in range(n):
            writer = <SseWriter>self.writers[slots[i]]
            if writer is None:
                raise ValueError(f"slot {slots[i]} has no emitter: add() one, instead of open()")
            made[i] = writer.records(out, k, ends[i])
            k = ends[i]
        return made

    def __getitem__(self, slot):
        """The slot's parser. Raises ValueError if it is not open."""
        if not 0 <= slot < len(self.parsers) or self.parsers[slot] is None:
            raise ValueError(f"slot {slot} is not open")
        return self.parsers[slot]

    def __len__(self):
        """Open slots."""
        return len(self.parsers) - len(self.free)

    @property
    def capacity(self):
        """Slots, open and free."""
        return len(self.parsers)

    @property
    def format(self):
        """The format's name."""
        return self.program.format.name

    @property
    def vocab(self):
        """The vocabulary."""
        return self.program.vocab

    def __repr__(self):
        return f"<Batch {self.format}: {len(self)} of {self.capacity} slots>"


cdef bint take_plain(Stream* s, const Context* c, uint32_t tid) noexcept nogil:
    """The one-token shortcut (_parser.pxd), as a record. False: the machine must see the token."""
    cdef const Tables* t = c.tables
    cdef Out* o = c.out
    cdef Record* r
    cdef Py_ssize_t n
    cdef const uint8_t* text
    if tid >= t.n or t.classes[tid] & s.shortcut_look != s.shortcut_want:
        return False
    text = t.text + t.offset[tid]
    n = t.offset[tid + 1] - t.offset[tid]
    if not out_room(o, n):
        return False
    r = out_record(o, s.fast, s.position, s.position + 1)
    if r == NULL:
        return False
    r.channel = s.channel_code
    r.index = s.calls
    r.n = n
    if n <= 16:
        memcpy(o.text + o.n_text, text, 16)                                  # one move; both sides are padded
    else:
        memcpy(o.text + o.n_text, text, n)
    o.n_text += n
    s.usage[s.region] += 1
    s.position += 1
    s.attributed = s.position
    s.tags.line_start = 0
    if s.fast == R_ARGUMENTS:
        s.wrote = 1
        json_step(&s.json, text, n)
    return True


cdef int check_lengths(const Ids* slots, const Ids* ids, const Ids* offsets, bint one_each) except -1:
    cdef Py_ssize_t i
    if one_each:
        if ids.n != slots.n:
            raise ValueError(f"{slots.n} slots and {ids.n} ids: without offsets, each slot takes one id")
        return 0
    if offsets.n != slots.n + 1:
        raise ValueError(f"{slots.n} slots need {slots.n + 1} offsets, not {offsets.n}")
    for i in range(slots.n):
        if offsets.ids[i] > offsets.ids[i + 1]:
            raise ValueError("offsets go back")
    if offsets.ids[slots.n] > ids.n:
        raise ValueError(f"offsets go to {offsets.ids[slots.n]}, but there are {ids.n} ids")
    return 0
