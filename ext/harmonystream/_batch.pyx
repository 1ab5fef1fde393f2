# Batch: one decode step of many streams in one call. The machines of all slots run in one loop without the GIL, and write their records one
# behind the other into one Out; only what comes of them, columns or frames, needs Python.
#
# While a step runs, each of its parsers is busy, as in a call of its own, and its shortcut is off: that one does not look at `busy`.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
cimport cython
from harmonystream._build cimport DEBUG_BUILD
from harmonystream._cpython cimport FREE_THREADED, enter, leave
from harmonystream._ids cimport Ids, ids_free, ids_take
from harmonystream._json cimport json_step
from harmonystream._machine cimport machine_ids, set_shortcut
from harmonystream._parser cimport Parser
from harmonystream._program cimport Program
from harmonystream._sink cimport out_free, out_init, out_record, out_room
from harmonystream._sse cimport BYTES, SseWriter
from harmonystream._types cimport *

from harmonystream.columns import Columns
from harmonystream.errors import EmitterError

DEBUG = bool(DEBUG_BUILD)

cdef extern from *:
    """
    /* Streams lie all over memory, as do the tokens' texts: without this, half of a step is waiting. */
    #if defined(__GNUC__) || defined(__clang__)
      #define hs_prefetch(p) __builtin_prefetch(p)
    #else
      #define hs_prefetch(p) ((void)(p))
    #endif
    """
    void prefetch "hs_prefetch"(const void* p) noexcept nogil

cdef enum:
    MOST_SLOTS = 1 << 20
    BY_MACHINE = 255
    AHEAD = 6                          # streams that are on their way to the cache
    KEPT = 512                         # bytes of text, and a few records, that a slot may make before the step's memory is given back
    KEPT_RECORDS = 4


@cython.final
cdef class Batch:
    """Batch(format="harmony", vocab=None, capacity=1024, *, trim="seams", empty_args="{}", max_hold=1048576)
--

    Up to `capacity` streams of one format and vocabulary, fed together: one call per decode step, in which the GIL is released once.

    All arguments but capacity are Parser's. A batch is lenient: one stream's error must not stop the others.
    One thread at a time; several batches are independent. A slot costs what a Parser does, and 112 bytes.
    Raises ValueError for a capacity that is not from 1 to 2**20, and what Parser() raises.
    """

    def __cinit__(self, format="harmony", vocab=None, Py_ssize_t capacity=1024, *, str trim="seams", str empty_args not None="{}",
                  Py_ssize_t max_hold=1 << 20):
        cdef Parser first
        if not 0 < capacity <= MOST_SLOTS:
            raise ValueError(f"capacity is a number of slots from 1 to {MOST_SLOTS:,}, not {capacity}")
        first = Parser.__new__(Parser, format, vocab, trim=trim, empty_args=empty_args, max_hold=max_hold)
        self.program = first.program
        self.trim, self.empty_args, self.max_hold = trim, empty_args, max_hold
        self.capacity_ = capacity
        self.parsers = [None] * capacity
        self.emitters = [None] * capacity
        self.free = list(range(capacity - 1, -1, -1))
        self.slots = <Slot*>calloc(capacity, sizeof(Slot))
        self.tasks = <Task*>calloc(capacity, sizeof(Task))
        self.out = <Out*>malloc(sizeof(Out))
        if self.out != NULL:
            out_init(self.out)
        if self.slots == NULL or self.tasks == NULL or self.out == NULL:
            raise MemoryError()

    def __dealloc__(self):
        if self.out != NULL:
            out_free(self.out)
        free(self.out)
        free(self.tasks)
        free(self.slots)

    # --- slots ---

    def open(self, *, tools=None, start="auto", prompt=None):
        """A slot for a new stream, whose options are Parser's. Raises RuntimeError if all slots are taken, and what Parser() raises."""
        return self.place(Parser.__new__(Parser, self.program, self.program.vocab, tools=tools, start=start, prompt=prompt, trim=self.trim,
                                         empty_args=self.empty_args, max_hold=self.max_hold), None)

    def add(self, stream, /):
        """A slot for an emitter (ChatStream, ...), or for a parser, as fork() makes one. It must have this batch's format and vocabulary.

        Raises TypeError or ValueError for any other, and for a ChatStream whose chunks have token ids; RuntimeError if all slots are taken.
        """
        cdef Parser parser
        emitter = stream if isinstance(stream, SseWriter) else None
        if emitter is None and not isinstance(stream, Parser):
            raise TypeError(f"add() takes a Parser or an emitter, not {type(stream).__name__}")
        parser = stream if emitter is None else (<SseWriter>emitter).parser
        if emitter is not None and (<SseWriter>emitter).watched:
            raise ValueError("this emitter's chunks have token ids or logprobs: feed() it by itself")
        if not equal_programs(parser.program, self.program):
            raise ValueError(f"this stream is {parser.format!r} on {parser.vocab!r}; the batch is {self.format!r} on {self.vocab!r}")
        if parser.s.strict:
            raise ValueError("a batch is lenient: one stream's error must not stop the others")
        return self.place(parser, emitter)

    cdef int claim(self) except -1:
        if not enter(&self.busy):
            raise RuntimeError("this batch is in use, by another thread or an emitter that it has called: give each thread its own")
        return 0

    cdef object place(self, Parser parser, SseWriter emitter):
        cdef Slot* slot
        self.claim()
        try:
            if not self.free:
                raise RuntimeError(f"all {self.capacity_} slots are taken: close() some, or make the batch larger")
            number = self.free.pop()
            self.parsers[number], self.emitters[number] = parser, emitter
            slot = &self.slots[<Py_ssize_t>number]
            slot.s, slot.held, slot.tools, slot.busy = &parser.s, &parser.held, &parser.tools.table, &parser.busy
            slot.writer = NULL if emitter is None else &emitter.w
            self.may_skip = self.may_skip or not parser.empty_args
            return number
        finally:
            leave(&self.busy)

    cdef object closed(self, Py_ssize_t slot):
        stream = self.parsers[slot] if self.emitters[slot] is None else self.emitters[slot]
        self.slots[slot].s = NULL
        self.parsers[slot] = self.emitters[slot] = None
        self.free.append(slot)
        return stream

    def close(self, Py_ssize_t slot, /):
        """Free the slot, which the next open() takes. What was in it, a parser or an emitter, is returned. Raises ValueError if it is not open."""
        self.claim()
        try:
            self.at(slot)
            return self.closed(slot)
        finally:
            leave(&self.busy)

    def finish(self, Py_ssize_t slot, reason=None, usage=None):
        """The last events of a stream as a tuple, or an emitter's last frames as bytes; then the slot is free. It stays open if this raises.

        reason, usage: see Parser.finish() and the emitter's; a parser takes no usage.
        """
        self.claim()
        try:
            parser, emitter = self.at(slot), self.emitters[slot]
            if emitter is None and usage is not None:
                raise TypeError("usage is for emitters: this slot has a parser")
            made = parser.finish(reason) if emitter is None else emitter.finish(reason, usage)
            self.closed(slot)
            return made
        finally:
            leave(&self.busy)

    # --- a step ---

    def feed(self, slots, ids, offsets=None):
        """One step: `ids[i]` goes to `slots[i]`. What comes of it, as Columns; for all else, ask the parsers, `batch[slot]`.

        slots, ids: what Parser.feed() takes, of equal length; with offsets, `ids[offsets[i]:offsets[i + 1]]` goes to `slots[i]`.
        Raises TypeError, ValueError or RuntimeError, before anything is read, for what is no open slot, a slot given twice or with an
        emitter, no id, not of one length, or a stream that takes no ids or is in use.
        """
        return self.run(slots, ids, offsets, False)

    def feed_sse(self, slots, ids, offsets=None):
        """One step of slots that have emitters: the frames of each, as a list of bytes. Otherwise as feed().

        Raises EmitterError if emitters raise; it has the frames of all others.
        """
        return self.run(slots, ids, offsets, True)

    cdef object run(self, object slots, object ids, object offsets, bint framed):
        cdef Ids where, what, cuts
        where.block = what.block = cuts.block = NULL
        where.viewed = what.viewed = cuts.viewed = False
        cuts.n = -1                                                          # there are none
        try:
            numbers_take(&where, slots, "slots")
            ids_take(&what, ids)
            if offsets is not None:
                numbers_take(&cuts, offsets, "offsets")
            self.claim()
            try:
                self.plan(&where, &what, &cuts, framed)
                return self.step(where.n, framed)
            finally:
                leave(&self.busy)
        finally:
            ids_free(&where)
            ids_free(&what)
            ids_free(&cuts)

    cdef int plan(self, const Ids* slots, const Ids* ids, const Ids* offsets, bint framed) except -1:
        """The tasks of a step, all of which may be done; or nothing has changed."""
        cdef Py_ssize_t i, taken = 0
        cdef int64_t begin = 0, end = 0
        cdef Task* task
        if offsets.n < 0 and ids.n != slots.n:
            raise ValueError(f"{slots.n} slots and {ids.n} ids: without offsets, each slot takes one id")
        if offsets.n >= 0 and offsets.n != slots.n + 1:
            raise ValueError(f"{slots.n} slots need {slots.n + 1} offsets, not {offsets.n}")
        if slots.n > self.capacity_:
            raise ValueError(f"{slots.n} slots in one step; the batch has {self.capacity_}, and each may be given once")
        if offsets.n >= 0:
            end = offsets.ids[0]
        try:
            for i in range(slots.n):
                task = &self.tasks[i]
                if i + AHEAD < slots.n:
                    self.fetch(slots.ids[i + AHEAD])
                begin = end
                end = i + 1 if offsets.n < 0 else <int64_t>offsets.ids[i + 1]
                if end < begin or end > ids.n:
                    raise ValueError(f"offsets[{i + 1}] is {end}, behind {begin}: offsets ascend, and there are {ids.n} ids")
                task.ids = ids.ids + begin
                task.n = end - begin
                self.take(task, slots.ids[i], framed)
                taken += 1
        except BaseException:
            self.release(taken, False)
            raise
        return 0

    cdef void fetch(self, uint32_t number) noexcept:
        if number < self.capacity_ and self.slots[number].s != NULL:
            prefetch(&self.slots[number].s.fast)
            prefetch(self.slots[number].busy)

    cdef int take(self, Task* task, uint32_t number, bint framed) except -1:
        """The slot is this step's until release()."""
        cdef Slot* slot
        if number >= self.capacity_ or self.slots[number].s == NULL:
            raise ValueError(f"slot {number} is not open")
        slot = &self.slots[number]
        if slot.taken:
            raise ValueError(f"slot {number} is given twice in one step: with offsets, it takes several ids at once")
        if framed != (slot.writer != NULL):
            raise ValueError(f"slot {number} has no emitter: add() one, instead of open()" if framed else
                             f"slot {number} has an emitter, which must see what comes of its ids: feed_sse()")
        if framed and slot.writer.stage != BYTES:
            try:
                (<SseWriter>self.emitters[number]).check(BYTES)
            except ValueError as error:
                raise ValueError(f"slot {number}: {error}") from None
        if not (enter(slot.busy) if FREE_THREADED else slot.busy[0] == 0):
            raise RuntimeError(f"the parser in slot {number} is in use by another thread, or in two slots")
        if slot.s.finished or slot.s.error or slot.s.text_mode != 1:
            try:
                (<Parser>self.parsers[number]).check_open(1)
            except BaseException:
                leave(slot.busy)
                raise
        slot.busy[0] = 1
        slot.taken = True
        task.slot = slot
        task.number = number
        task.fast = slot.s.fast
        slot.s.fast = 0
        return 0

    cdef void release(self, Py_ssize_t n, bint lost) noexcept:
        """The first n tasks are over. lost: text is missing, so only reset() helps their parsers."""
        cdef Py_ssize_t i
        cdef Task* task
        cdef Slot* slot
        for i in range(n):
            task = &self.tasks[i]
            slot = task.slot
            if lost:
                slot.s.finished = 1
            elif task.fast == BY_MACHINE:
                set_shortcut(slot.s, self.program.tags, slot.held)
            else:
                slot.s.fast = task.fast
            slot.taken = False
            leave(slot.busy)

    cdef object step(self, Py_ssize_t n, bint framed):
        cdef Context c
        cdef Out* out = self.out
        cdef bint lost = False
        c.tables = &self.program.tables
        c.row = self.program.tags
        c.out = out
        out.labels = NULL
        out.n_records = out.n_text = out.floor = 0
        out.no_memory = False
        try:
            with nogil:
                run_tasks(self.tasks, n, &c)
            if out.no_memory:
                raise MemoryError()
            return self.frames(n) if framed else self.columns(n)
        except MemoryError:
            lost = True
            raise
        finally:
            self.release(n, lost)
            self.shrink()

    cdef void shrink(self) noexcept:
        """One step of long pieces must not keep its memory for ever."""
        if self.out.cap_text > KEPT * self.capacity_ + INLINE_TEXT or self.out.cap_records > KEPT_RECORDS * self.capacity_ + INLINE_RECORDS:
            out_free(self.out)
            out_init(self.out)

    # --- what comes of it ---

    cdef bint skipped(self, Py_ssize_t record, const Task* task):
        return self.out.records[record].kind == R_EMPTY_ARGUMENTS and not (<Parser>self.parsers[task.number]).empty_args

    cdef object columns(self, Py_ssize_t n):
        """One block for all columns, the widest first, so that each is aligned: see Columns."""
        cdef Out* out = self.out
        cdef Py_ssize_t rows = out.n_records, i, k = 0, row = 0
        cdef const Record* r
        cdef int64_t* start
        cdef int64_t* stop
        cdef int64_t* at
        cdef int32_t* slot
        cdef int32_t* index
        cdef uint8_t* kind
        cdef uint8_t* channel
        cdef bytes block
        cdef dict others = {}
        if self.may_skip:
            for i in range(n):
                while k < self.tasks[i].end:
                    rows -= self.skipped(k, &self.tasks[i])
                    k += 1
            k = 0
        block = PyBytes_FromStringAndSize(NULL, 34 * rows + 8)
        start = <int64_t*>PyBytes_AS_STRING(block)
        stop = start + rows
        at = stop + rows
        slot = <int32_t*>(at + rows + 1)
        index = slot + rows
        kind = <uint8_t*>(index + rows)
        channel = kind + rows
        for i in range(n):
            while k < self.tasks[i].end:
                r = &out.records[k]
                k += 1
                if r.kind > R_ARGUMENTS:
                    if self.may_skip and self.skipped(k - 1, &self.tasks[i]):
                        continue
                    others[row] = (<Parser>self.parsers[self.tasks[i].number]).event_of(out, k - 1)
                start[row], stop[row], at[row] = r.start, r.stop, r.at
                slot[row], index[row] = <int32_t>self.tasks[i].number, r.index
                kind[row], channel[row] = r.kind, r.channel
                row += 1
        at[rows] = out.n_text
        return Columns(rows, block, PyBytes_FromStringAndSize(<const char*>out.text, out.n_text), others)

    cdef list frames(self, Py_ssize_t n):
        """One emitter's error must not stop the others: they all get their records, and then it is told."""
        cdef list made = [None] * n
        cdef dict errors = {}
        cdef Py_ssize_t i = 0
        while i < n:
            try:
                while i < n:
                    made[i] = (<SseWriter>self.emitters[self.tasks[i].number]).records(self.out, self.tasks[i - 1].end if i else 0, self.tasks[i].end)
                    i += 1
            except MemoryError:
                raise
            except Exception as error:
                errors[self.tasks[i].number] = error
                i += 1
        if errors:
            raise EmitterError(errors, made)
        return made

    # --- looking at it ---

    def __getitem__(self, Py_ssize_t slot):
        """The slot's parser. Raises ValueError if it is not open; on a free-threaded Python RuntimeError while a step runs."""
        if not FREE_THREADED:
            return self.at(slot)
        self.claim()                                                         # another thread may be about to close it
        try:
            return self.at(slot)
        finally:
            leave(&self.busy)

    cdef Parser at(self, Py_ssize_t slot):
        parser = self.parsers[slot] if 0 <= slot < self.capacity_ else None
        if parser is None:
            raise ValueError(f"slot {slot} is not open")
        return parser

    def __len__(self):
        """Open slots."""
        return self.capacity_ - len(self.free)

    def __sizeof__(self):
        cdef Py_ssize_t size = self.capacity_ * (sizeof(Slot) + sizeof(Task) + 3 * sizeof(void*)) + sizeof(Out)
        if self.out.cap_records != INLINE_RECORDS:
            size += self.out.cap_records * sizeof(Record)
        return object.__sizeof__(self) + size + (self.out.cap_text if self.out.cap_text != INLINE_TEXT else 0)

    @property
    def capacity(self):
        """Slots, open and free."""
        return self.capacity_

    @property
    def format(self):
        """The format's name."""
        return self.program.format.name

    @property
    def vocab(self):
        """The vocabulary."""
        return self.program.vocab

    def __repr__(self):
        return f"<Batch {self.format}: {len(self)} of {self.capacity_} slots>"


cdef bint equal_programs(Program one, Program other) except -1:
    """Threads that compile a format at the same time, or after it has been forgotten, have each their own."""
    return one is other or (one.fingerprint == other.fingerprint and one.format == other.format)


cdef int numbers_take(Ids* out, object given, str name) except -1:
    try:
        return ids_take(out, given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}, which are taken as ids are: {error}") from None


cdef inline void fetch_ahead(const Task* tasks, Py_ssize_t i, Py_ssize_t n, const Tables* t) noexcept nogil:
    cdef const Task* task
    cdef uint32_t tid
    if i + 2 * AHEAD < n:
        task = &tasks[i + 2 * AHEAD]
        tid = task.ids[0] if task.n else 0
        if tid < t.n:
            prefetch(&t.classes[tid])
            prefetch(&t.offset[tid])
    if i + AHEAD < n:
        task = &tasks[i + AHEAD]
        tid = task.ids[0] if task.n else 0
        if tid < t.n:
            prefetch(t.text + t.offset[tid])
        prefetch(task.slot.s)
        prefetch(&task.slot.s.usage[3])
        prefetch(&task.slot.s.calls)


cdef void run_tasks(Task* tasks, Py_ssize_t n, Context* c) noexcept nogil:
    cdef Out* out = c.out
    cdef Task* task
    cdef Slot* slot
    cdef Py_ssize_t i
    for i in range(n):
        fetch_ahead(tasks, i, n, c.tables)
        task = &tasks[i]
        slot = task.slot
        out.floor = out.n_records
        if task.n == 1 and task.fast and take_plain(slot.s, c, task.fast, task.ids[0]):
            task.end = out.n_records
            continue
        if task.n:
            slot.s.text_mode = 1
            task.fast = BY_MACHINE
            out.held = slot.held
            c.tools = slot.tools
            machine_ids(slot.s, c, task.ids, task.n)
        task.end = out.n_records


cdef bint take_plain(Stream* s, const Context* c, uint8_t kind, uint32_t tid) noexcept nogil:
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
    r = out_record(o, kind, s.position, s.position + 1)
    if r == NULL:
        return False
    r.channel = s.channel_code
    r.index = s.calls
    r.n = n
    memcpy(o.text + o.n_text, text, 16)                                      # one move; both sides are padded
    if n > 16:
        memcpy(o.text + o.n_text, text, n)
    o.n_text += n
    s.usage[s.region] += 1
    s.position += 1
    s.attributed = s.position
    if c.row != NULL:
        s.tags.line_start = 0
    if kind == R_ARGUMENTS:
        s.wrote = 1
        if t.classes[tid] & QUIET and s.json.in_string and not s.json.escape:
            s.json.count += n
        else:
            json_step(&s.json, text, n)
    return True
