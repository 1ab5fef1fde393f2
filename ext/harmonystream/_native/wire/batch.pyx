# Batch: the slots. The step itself is in wire/batch_step.pyx, without the GIL; what it returns, in wire/frames.pyx.
from array import array

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.locks cimport FREE_THREADED, enter, gil_await, gil_left, gil_taken, leave
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.open_stream cimport leave_place
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.program cimport NO_VOCAB, Program
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.wire.sse cimport SseWriter
from harmonystream._native.wire.tell cimport BYTES
from harmonystream._native.wire.frames cimport Block, Frames
from harmonystream._native.wire.batch_step cimport *
from harmonystream._native.core.types cimport *

from harmonystream.emit.columns import Columns
from harmonystream.errors import EmitterError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST_SLOTS = 1 << 20
    # bytes of text, and a few records, that a slot may make before the step's memory is given back
    KEPT = 512
    KEPT_RECORDS = 4
    MANY_IDS = 4096                # from here on, a step gives the GIL back after each call of Python


@cython.final
cdef class Batch:
    """Batch(format="harmony", vocab=None, capacity=1024, *, trim="seams", empty_args="{}", max_hold=1048576,
    check_stops=True)
--

    Up to `capacity` streams of one format and vocabulary, fed together: one call per decode step, in which the GIL is
    released once.

    All arguments but capacity are Parser's. A batch is lenient: one stream's error must not stop the others.
    One thread at a time; several batches are independent. A slot costs what a Parser does, and 144 bytes.
    Raises ValueError for a capacity that is not from 1 to 2**20, and what Parser() raises.
    """

    def __cinit__(self, format="harmony", vocab=None, Py_ssize_t capacity=1024, *, str trim="seams",
                  str empty_args not None="{}", Py_ssize_t max_hold=1 << 20, bint check_stops=True):
        cdef Parser first
        if not 0 < capacity <= MOST_SLOTS:
            raise ValueError(f"capacity is a number of slots from 1 to {MOST_SLOTS:,}, not {capacity}")
        first = Parser.__new__(Parser, format, vocab, trim=trim, empty_args=empty_args, max_hold=max_hold,
                               check_stops=check_stops)
        self.program = first.program
        self.trim, self.empty_args, self.max_hold, self.capacity_ = trim, empty_args, max_hold, capacity
        self.emitters = [None] * capacity
        self.free = list(range(capacity - 1, -1, -1))
        self.step.capacity = capacity
        self.step.textual = self.program.vocab is NO_VOCAB
        self.step.tagged = self.program.tags != NULL
        self.step.slots = <Slot*>calloc(capacity, sizeof(Slot))
        self.step.tasks = <Task*>calloc(capacity, sizeof(Task))
        self.out = <Out*>malloc(sizeof(Out))
        if self.out != NULL:
            out_init(self.out)
        if self.step.slots == NULL or self.step.tasks == NULL or self.out == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.out != NULL:
            out_free(self.out)
        free(self.out)
        if self.step.slots != NULL:
            for i in range(self.capacity_):
                unslotted(&self.step.slots[i])
        free(self.step.tasks)
        free(self.step.slots)

    def open(self, *, tools=None, start="auto", prompt=None):
        """A slot for a new stream, whose options are Parser's. Raises RuntimeError if all slots are taken, and what
        Parser() raises.
        """
        return self.place(self.stream(tools, start, prompt), None)

    def open_many(self, Py_ssize_t n, /, *, tools=None, start="auto", prompt=None):
        """Slots for n new streams that share their options, as an array of int32, which feed() reads as it is.

        Raises RuntimeError if fewer slots are free, ValueError if n is negative, and what Parser() raises.
        """
        cdef Py_ssize_t i
        if n < 0:
            raise ValueError(f"n is the number of streams to open, 0 or more, not {n}")
        if n > len(self.free):
            raise RuntimeError(f"{len(self.free)} of {self.capacity_} slots are free, not {n}: close() some first")
        first = self.stream(tools, start, prompt)
        return array("i", [self.place(first if i == 0 else first.fork(), None) for i in range(n)])

    cdef Parser stream(self, object tools, object start, object prompt):
        return Parser.__new__(Parser, self.program, self.program.vocab, tools=tools, start=start, prompt=prompt,
                              trim=self.trim, empty_args=self.empty_args, max_hold=self.max_hold, check_stops=False)

    def add(self, stream, /):
        """A slot for an emitter (ChatStream, ...), or for a parser, as fork() makes one. It must have this batch's
        format and vocabulary.

        Raises TypeError or ValueError for any other, for one that has a slot already, and for a ChatStream whose chunks
        have token ids; RuntimeError if all slots are taken.
        """
        cdef Parser parser
        emitter = stream if isinstance(stream, SseWriter) else None
        if emitter is None and not isinstance(stream, Parser):
            raise TypeError(f"add() takes a Parser or an emitter, not {type(stream).__name__}")
        parser = stream if emitter is None else (<SseWriter>emitter).parser
        if emitter is not None and (<SseWriter>emitter).watched:
            raise ValueError("this emitter's chunks have token ids or logprobs: feed() it by itself")
        if not equal_programs(parser.program, self.program):
            raise ValueError(f"this stream is {parser.format!r} on {parser.vocab!r}; the batch is {self.format!r} on "
                             f"{self.vocab!r}")
        if parser.watcher is not None:
            raise ValueError("columns and frames have no watched values: feed() a parser with watch= by itself")
        if parser.s.strict:
            raise ValueError("a batch is lenient: one stream's error must not stop the others")
        return self.place(parser, emitter)

    cdef int claim(self) except -1:
        if not enter(&self.busy):
            raise RuntimeError("this batch is in use, by another thread or its own callback: give each thread its own")
        return 0

    cdef object place(self, Parser parser, SseWriter emitter):
        cdef Slot* slot
        self.claim()
        try:
            if not self.free:
                raise RuntimeError(f"all {self.capacity_} slots are taken: close() some, or make the batch larger")
            if not enter(&parser.slotted):
                raise ValueError("this stream has a slot already, in this batch or another")
            number = self.free.pop()
            self.emitters[number] = emitter
            slot = &self.step.slots[<Py_ssize_t>number]
            slot.place.guard, slot.place.open = &self.guard, False
            if not FREE_THREADED:
                parser.place = &slot.place
            Py_INCREF(parser)
            slot.parser = <PyObject*>parser
            slot.s, slot.held, slot.tools, slot.busy = &parser.s, &parser.held, &parser.tools.table, &parser.busy
            slot.writer = NULL if emitter is None else &emitter.w
            slot.no_empty = not parser.empty_args
            return number
        finally:
            leave(&self.busy)

    cdef object closed(self, Py_ssize_t slot):
        stream = self.at(slot) if self.emitters[slot] is None else self.emitters[slot]
        unslotted(&self.step.slots[slot])
        self.emitters[slot] = None
        self.free.append(slot)
        return stream

    def close(self, Py_ssize_t slot, /):
        """Free the slot, which the next open() takes. What was in it, a parser or an emitter, is returned. Raises
        ValueError if it is not open.
        """
        self.claim()
        try:
            self.at(slot)
            return self.closed(slot)
        finally:
            leave(&self.busy)

    def finish(self, Py_ssize_t slot, reason=None, usage=None):
        """The last events of a stream as a tuple, or an emitter's last frames as bytes; then the slot is free. It stays
        open if this raises.

        reason, usage: see Parser.finish() and the emitter's; a parser takes no usage.
        """
        self.claim()
        try:
            return self.ended(slot, reason, usage)
        finally:
            leave(&self.busy)

    cdef object ended(self, Py_ssize_t slot, object reason, object usage):
        parser, emitter = self.at(slot), self.emitters[slot]
        if emitter is None and usage is not None:
            raise TypeError("usage is for emitters: this slot has a parser")
        made = parser.finish(reason) if emitter is None else emitter.finish(reason, usage)
        self.closed(slot)
        return made

    def finish_many(self, slots, reasons=None, usages=None):
        """What finish() gives for each slot, as a list.

        reasons: one for all, or a list with one for each. usages: None, or a list with one for each. Raises TypeError
        or ValueError, before anything has ended, for a slot that is not open, a slot given twice, or another number of
        reasons or usages. If streams raise, the others end all the same, and the slots that failed stay open. Then
        EmitterError has the results of the others.
        """
        cdef list numbers = numbers_of(slots), made = []
        cdef dict errors = {}
        each = reasons if isinstance(reasons, (list, tuple)) else (reasons,) * len(numbers)
        uses = (None,) * len(numbers) if usages is None else usages
        if len(each) != len(numbers) or len(uses) != len(numbers):
            raise ValueError(f"{len(numbers)} slots, {len(each)} reasons and {len(uses)} usages: one for each slot")
        if len(set(numbers)) != len(numbers):
            raise ValueError("a slot is given twice: a stream ends once")
        self.claim()
        try:
            for slot in numbers:
                self.at(slot)
            for slot, reason, usage in zip(numbers, each, uses):
                ended = None
                try:
                    ended = self.ended(slot, reason, usage)
                except Exception as error:
                    errors[slot] = error
                made.append(ended)
        finally:
            leave(&self.busy)
        if errors:
            raise EmitterError(errors, made)
        return made

    def counts(self, slots, /):
        """What was counted in each slot so far: a memoryview of int64, with a row for each slot. The columns are the
        tokens of each `Region`, and how much was repaired. Raises TypeError or ValueError for a slot that is not open.
        """
        cdef list numbers = numbers_of(slots), found = []
        self.claim()
        try:
            for slot in numbers:
                found += (*self.at(slot).usage, self.at(slot).s.deviations)
        finally:
            leave(&self.busy)
        column = memoryview(array("q", found))
        return column.cast("B").cast("q", (len(numbers), N_REGIONS + 1)) if found else column

    def feed(self, slots, ids, offsets=None):
        """One step: `ids[i]` goes to `slots[i]`. The deltas are returned as Columns; everything else is in the parsers,
        `batch[slot]`.

        slots, ids: what Parser.feed() takes, of equal length; with offsets, `ids[offsets[i]:offsets[i + 1]]` goes to
        `slots[i]`. Raises TypeError, ValueError or RuntimeError, before anything is read, for a slot that is not open,
        comes twice or has an emitter, an invalid id, lists of two lengths, or a stream that takes no ids or is in use.
        """
        return self.run(slots, ids, offsets, False)

    def feed_sse(self, slots, ids, offsets=None):
        """One step of slots that have emitters: the frames of each, as Frames, a sequence of bytes. Otherwise as
        feed().

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
                return self.step_of(&where, &what, &cuts, framed)
            finally:
                leave(&self.busy)
        finally:
            ids_free(&where)
            ids_free(&what)
            ids_free(&cuts)

    cdef object step_of(self, const Ids* slots, const Ids* ids, const Ids* offsets, bint framed):
        """All of it is done, or nothing has changed."""
        cdef Context c
        cdef bint planned = False
        cdef Py_ssize_t done = 0
        cdef const uint32_t* cuts = offsets.ids if offsets.n >= 0 else NULL
        if cuts == NULL and ids.n != slots.n:
            raise ValueError(f"{slots.n} slots and {ids.n} ids: without offsets, each slot takes one id")
        if cuts != NULL and offsets.n != slots.n + 1:
            raise ValueError(f"{slots.n} slots need {slots.n + 1} offsets, not {offsets.n}")
        if slots.n > self.capacity_:
            raise ValueError(f"{slots.n} slots in one step; the batch has {self.capacity_}, and each may be given once")
        c.tables = &self.program.tables
        c.row = self.program.tags
        c.out = self.out
        self.step.framed = framed
        self.step.thread = self.guard.owner = PyThread_get_thread_ident()
        self.guard.stepping = True
        try:
            with nogil:
                gil_left(&self.step)
                planned = step_plan(&self.step, slots.ids, slots.n, cuts, ids.n, ids.ids)
                if planned and framed:
                    done = step_frames(&self.step, &c, 0)
                elif planned:
                    step_run(&self.step, &c)
                    step_columns(&self.step, self.out)
                gil_await(&self.step)
            gil_taken(&self.step)
            if not planned:
                self.refuse(slots.n)
            if self.out.no_memory:
                raise MemoryError()
            return self.frames(&c, done) if framed else self.columns()
        except EmitterError:
            raise
        except BaseException:                                                # no memory, or Ctrl-C in a callback
            if planned:
                step_lost(&self.step)
            raise
        finally:
            step_over(&self.step)
            buffer_free(&self.step.said)                                     # still ours: no Frames or Block took it
            free(self.step.block)
            self.step.block = NULL
            self.guard.stepping = False
            self.shrink()

    cdef int refuse(self, Py_ssize_t n) except -1:
        """Say what is wrong with the task after those that are planned. n: the slots of the call."""
        cdef Step* step = &self.step
        cdef Py_ssize_t i = step.n, number = step.tasks[i].number if i < n else -1
        if step.fault == OFFSETS_BEGIN:
            raise ValueError(f"offsets[0] is {step.stop}: offsets begin at 0, or ids would be lost")
        if step.fault == OFFSETS_DESCEND:
            raise ValueError(f"offsets[{i + 1}] is {step.stop}, less than offsets[{i}], {step.begin}: offsets ascend")
        if step.fault == OFFSETS_END:
            raise ValueError(f"the last offset is {step.stop}, and there are {step.n_ids} ids: offsets end at the "
                             f"number of ids"
                             if i == n else f"offsets[{i + 1}] is {step.stop}: there are {step.n_ids} ids")
        if step.fault == NOT_OPEN:
            raise ValueError(f"slot {number} is not open")
        if step.fault == TWICE:
            raise ValueError(f"slot {number} is given twice in one step: with offsets, it takes several ids at once")
        if step.fault == NO_EMITTER:
            raise ValueError(f"slot {number} has no emitter: add() one, instead of open()")
        if step.fault == HAS_EMITTER:
            raise ValueError(f"slot {number} has an emitter, which must see what comes of its ids: feed_sse()")
        try:
            if step.fault == WRONG_STAGE:
                (<SseWriter>self.emitters[number]).check(BYTES)
            elif step.fault == TAKES_NO_IDS:
                self.at(number).check_open(ID_MODE)
        except ValueError as error:
            raise ValueError(f"slot {number}: {error}") from None
        used = "emitter" if step.fault == EMITTER_IN_USE else "parser"
        raise RuntimeError(f"the {used} in slot {number} is in use by another thread, or by what it has called")

    cdef void shrink(self) noexcept:
        """One step of long pieces must not keep its memory for ever."""
        if (self.out.cap_text > KEPT * self.capacity_ + INLINE_TEXT
                or self.out.cap_records > KEPT_RECORDS * self.capacity_ + INLINE_RECORDS):
            out_free(self.out)
            out_init(self.out)

    cdef object columns(self):
        cdef Block block = Block.__new__(Block)
        block.take(&self.step, self.step.size)
        return Columns(self.step.rows, block, self.others() if self.step.others else {})

    cdef dict others(self):
        """The events of the rows that are no deltas, by row."""
        cdef dict others = {}
        cdef Py_ssize_t i, k = 0, row = 0
        for i in range(self.step.n):
            while k < self.step.tasks[i].end:
                if is_row(&self.step, &self.step.tasks[i], &self.out.records[k]):
                    if self.out.records[k].kind > R_ARGUMENTS:
                        others[row] = (<Parser>slot_of(&self.step, &self.step.tasks[i]).parser).event_of(self.out, k)
                    row += 1
                k += 1
        return others

    cdef Frames frames(self, Context* c, Py_ssize_t i):
        """i: the first task that needs its emitter's methods. Few do, so the rest of a short step keeps the GIL."""
        cdef Step* step = &self.step
        cdef Frames frames
        cdef dict errors = {}
        while i < step.n:
            self.make_frame(&step.tasks[i], (<int64_t*>step.said.p)[i], errors)
            if step.n_ids < MANY_IDS:
                i = step_frames(step, c, i + 1)
                continue
            with nogil:
                gil_left(step)
                i = step_frames(step, c, i + 1)
                gil_await(step)
            gil_taken(step)
        if self.out.no_memory:
            raise MemoryError()
        frames = Frames.__new__(Frames)
        frames.n = step.n
        frames.own(&step.said)
        if errors:
            raise EmitterError(errors, [None if step.tasks[i].number in errors else frames[i] for i in range(step.n)])
        return frames

    cdef int make_frame(self, const Task* task, int64_t offset, dict errors) except -1:
        """Appends the frames that need Python. If the emitter raises, it keeps those of this task for error()."""
        cdef Buffer* said = &self.step.said
        cdef Py_ssize_t begin = (self.step.n + 1) * sizeof(int64_t) + offset
        cdef SseWriter emitter = self.emitters[task.number]
        cdef bytes frame
        try:
            frame = emitter.records(self.out, self.step.first, task.end)
        except MemoryError:
            raise
        except Exception as error:
            errors[task.number] = error
            frame = b""
            emitter.pending = (<const char*>said.p)[begin:said.n] + emitter.pending
            said.n = begin
        if not buffer_put(said, <const uint8_t*>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame)):
            raise MemoryError()
        return 0

    def __getitem__(self, Py_ssize_t slot):
        """The slot's parser. Raises ValueError if it is not open; on a free-threaded Python RuntimeError while a step
        runs.
        """
        if not FREE_THREADED:
            return self.at(slot)
        self.claim()                                                         # another thread may be about to close it
        try:
            return self.at(slot)
        finally:
            leave(&self.busy)

    cdef Parser at(self, Py_ssize_t slot):
        if not 0 <= slot < self.capacity_ or self.step.slots[slot].s == NULL:
            raise ValueError(f"slot {slot} is not open")
        return <Parser>self.step.slots[slot].parser

    def __len__(self):
        """Open slots."""
        return self.capacity_ - len(self.free)

    def __sizeof__(self):
        cdef Py_ssize_t each = sizeof(Slot) + sizeof(Task) + 2 * sizeof(void*)
        cdef Py_ssize_t size = self.capacity_ * each + sizeof(Out)
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


cdef void unslotted(Slot* slot) noexcept:
    """It is free. Its parser is not a list's: the collector empties lists of what is garbage, and this must be done all
    the same.
    """
    cdef Parser parser
    if slot.s != NULL:
        parser = <Parser>slot.parser
        leave_place(parser)
        parser.place = NULL
        leave(&parser.slotted)
        slot.s = NULL
        slot.parser = NULL
        Py_DECREF(parser)


cdef bint equal_programs(Program one, Program other) except -1:
    """Threads that compile a format at the same time, or after it has been forgotten, have each their own."""
    return one is other or (one.fingerprint == other.fingerprint and one.format == other.format)


cdef int numbers_take(Ids* out, object given, str name) except -1:
    try:
        return ids_take(out, given)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}, which are taken as ids are: {error}") from None


cdef list numbers_of(object slots):
    """Numbers of slots, from whatever feed() takes."""
    cdef Ids ids
    cdef Py_ssize_t i
    numbers_take(&ids, slots, "slots")
    try:
        return [ids.ids[i] for i in range(ids.n)]
    finally:
        ids_free(&ids)


name_errors(Batch)
