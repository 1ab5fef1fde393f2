# The slots of a batch: what opens, is added, closes and ends in them, one by one. What a step does with many of them is
# in wire/batch.pyx.
from array import array

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.options cimport size_of
from harmonystream._native.core.locks cimport FREE_THREADED, enter, leave
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.core.types cimport N_REGIONS
from harmonystream._native.stream.open_stream cimport leave_place
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.stream.program cimport NO_VOCAB, Program
from harmonystream._native.wire.slot cimport Holder, Slot, Task
from harmonystream._native.wire.sse cimport SseWriter

from harmonystream.errors import EmitterError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST_SLOTS = 1 << 20


cdef class Slots:
    """The slots of a batch. Batch adds the steps."""

    def __cinit__(self, format="harmony", vocab=None, capacity=1024, *, trim="seams", empty_args="{}",
                  max_hold=1 << 20, check_stops=True):
        cdef Parser first
        cdef Py_ssize_t slots = size_of("capacity", capacity)
        if not 0 < slots <= MOST_SLOTS:
            raise ValueError(f"capacity is a number of slots from 1 to {MOST_SLOTS:,}, not {slots}")
        first = Parser.__new__(Parser, format, vocab, trim=trim, empty_args=empty_args, max_hold=max_hold,
                               check_stops=check_stops)
        self.program = first.program
        self.trim, self.empty_args, self.max_hold, self.capacity_ = trim, empty_args, max_hold, slots
        self.emitters = [None] * slots
        self.free = list(range(slots - 1, -1, -1))
        self.step.capacity = slots
        self.step.textual = self.program.vocab is NO_VOCAB
        self.step.slots = <Slot*>calloc(slots, sizeof(Slot))
        self.step.holders = <Holder*>calloc(slots, sizeof(Holder))
        self.step.tasks = <Task*>calloc(slots, sizeof(Task))
        if self.step.slots == NULL or self.step.holders == NULL or self.step.tasks == NULL:
            raise MemoryError()

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.step.slots != NULL and self.step.holders != NULL:
            for i in range(self.capacity_):
                unslotted(&self.step.slots[i], &self.step.holders[i])
        free(self.step.tasks)
        free(self.step.holders)
        free(self.step.slots)

    def open(self, *, tools=None, start="auto", prompt=None):
        """A slot for a new stream, whose options are Parser's. Raises RuntimeError if all slots are taken, and what
        Parser() raises.
        """
        return self.place(self.stream(tools, start, prompt), None)

    def open_many(self, n, /, *, tools=None, start="auto", prompt=None):
        """Slots for n new streams that share their options, as an array of int32, which feed() reads as it is.

        Raises RuntimeError if fewer slots are free, ValueError if n is negative, and what Parser() raises.
        """
        cdef Py_ssize_t i, count = size_of("n, the number of streams to open,", n)
        if count < 0:
            raise ValueError(f"n is the number of streams to open, 0 or more, not {n}")
        if count > len(self.free):
            raise RuntimeError(f"{len(self.free)} of {self.capacity_} slots are free, not {n}: close() some first")
        first = self.stream(tools, start, prompt)
        return array("i", [self.place(first if i == 0 else first.fork(), None) for i in range(count)])

    cdef Parser stream(self, object tools, object start, object prompt):
        return Parser.__new__(Parser, self.program, self.program.vocab, tools=tools, start=start, prompt=prompt,
                              trim=self.trim, empty_args=self.empty_args, max_hold=self.max_hold, check_stops=False)

    def add(self, stream, /):
        """A slot for an emitter (ChatStream, ...), or for a parser, as fork() makes one. It must have this batch's
        format and vocabulary.

        Raises TypeError or ValueError for any other, for one that has a slot already, and for a ChatStream whose chunks
        have token ids; RuntimeError if all slots are taken.
        """
        emitter = stream if isinstance(stream, SseWriter) else None
        if emitter is None and not isinstance(stream, Parser):
            raise TypeError(f"add() takes a Parser or an emitter, not {type(stream).__name__}")
        parser = stream if emitter is None else (<SseWriter>emitter).parser
        self.check_fits(parser, emitter)
        return self.place(parser, emitter)

    cdef int check_fits(self, Parser parser, SseWriter emitter) except -1:
        if emitter is not None and emitter._watched:
            raise ValueError("this emitter's chunks have token ids or logprobs: feed() it by itself")
        if not equal_programs(parser.program, self.program):
            raise ValueError(f"this stream is {parser.format!r} on {parser.vocab!r}; the batch is {self.format!r} on "
                             f"{self.vocab!r}")
        if parser.watcher is not None:
            raise ValueError("columns and frames have no watched values: feed() a parser with watch= by itself")
        if parser.s.strict:
            raise ValueError("a batch is lenient: one stream's error must not stop the others")
        return 0

    cdef int claim(self) except -1:
        if not enter(&self.busy):
            raise RuntimeError("this batch is in use, by another thread or its own callback: give each thread its own")
        return 0

    cdef object place(self, Parser parser, SseWriter emitter):
        self.claim()
        try:
            self.check_free()
            return self.taken(parser, emitter)
        finally:
            leave(&self.busy)

    cdef int check_free(self) except -1:
        if not self.free:
            raise RuntimeError(f"all {self.capacity_} slots are taken: close() some, or make the batch larger")
        return 0

    cdef object taken(self, Parser parser, SseWriter emitter):
        """The slot that this stream gets."""
        cdef Slot* slot
        cdef Holder* holder
        if not enter(&parser.slotted):
            raise ValueError("this stream has a slot already, in this batch or another")
        number = self.free.pop()
        self.emitters[number] = emitter
        slot = &self.step.slots[<Py_ssize_t>number]
        slot.place.guard, slot.place.open = &self.guard, False
        if not FREE_THREADED:
            parser.place = &slot.place
        Py_INCREF(parser)
        holder = &self.step.holders[<Py_ssize_t>number]
        holder.parser, holder.busy = <PyObject*>parser, &parser.busy
        holder.held, holder.tools = &parser.held, &parser.tools.table
        holder.no_empty = not parser.empty_args
        slot.s = &parser.s
        slot.writer = NULL if emitter is None else &emitter.w
        return number

    cdef object closed(self, Py_ssize_t slot):
        stream = self.at(slot) if self.emitters[slot] is None else self.emitters[slot]
        unslotted(&self.step.slots[slot], &self.step.holders[slot])
        self.emitters[slot] = None
        self.free.append(slot)
        return stream

    def close(self, slot, /):
        """Free the slot, which the next open() takes. What was in it, a parser or an emitter, is returned. Raises
        ValueError if it is not open.
        """
        cdef Py_ssize_t i = size_of("slot", slot)
        self.claim()
        try:
            self.at(i)
            return self.closed(i)
        finally:
            leave(&self.busy)

    def finish(self, slot, reason=None, usage=None):
        """The last events of a stream as a tuple, or an emitter's last frames as bytes; then the slot is free. It stays
        open if this raises.

        reason, usage: see Parser.finish() and the emitter's; a parser takes no usage.
        """
        cdef Py_ssize_t i = size_of("slot", slot)
        self.claim()
        try:
            return self.ended(i, reason, usage)
        finally:
            leave(&self.busy)

    cdef object ended(self, Py_ssize_t slot, object reason, object usage):
        cdef Parser parser = self.at(slot)
        if self.emitters[slot] is None:
            if usage is not None:
                raise TypeError("usage is for emitters: this slot has a parser")
            made = parser.finish(reason)
            self.closed(slot)
            return made
        made = self.emitters[slot].finish(reason, usage)
        self.closed(slot)
        return made

    def finish_many(self, slots, reasons=None, usages=None):
        """What finish() gives for each slot, as a list.

        reasons: one for all, or a list with one for each. usages: None, or a list with one for each. Raises TypeError
        or ValueError, before anything has ended, for a slot that is not open, a slot given twice, or another number of
        reasons or usages. If streams raise, the others end anyway, and the slots that failed stay open. Then
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

    def __getitem__(self, slot):
        """The slot's parser. Raises ValueError if it is not open; on a free-threaded Python RuntimeError while a step
        runs.
        """
        cdef Py_ssize_t i = size_of("slot", slot)
        if not FREE_THREADED:
            return self.at(i)
        self.claim()                                                         # another thread may be about to close it
        try:
            return self.at(i)
        finally:
            leave(&self.busy)

    cdef Parser at(self, Py_ssize_t slot):
        if not 0 <= slot < self.capacity_ or self.step.slots[slot].s == NULL:
            raise ValueError(f"slot {slot} is not open")
        return <Parser>self.step.holders[slot].parser

    def __len__(self):
        """Open slots."""
        return self.capacity_ - len(self.free)

    def __sizeof__(self):
        cdef Py_ssize_t each = sizeof(Slot) + sizeof(Holder) + sizeof(Task) + 3 * sizeof(void*)
        return object.__sizeof__(self) + self.capacity_ * each

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


cdef void unslotted(Slot* slot, Holder* holder) noexcept:
    """Makes the slot free. A slot owns a reference to its parser: the garbage collector may clear lists first."""
    cdef Parser parser
    if slot.s != NULL:
        parser = <Parser>holder.parser
        leave_place(parser)
        parser.place = NULL
        leave(&parser.slotted)
        slot.s = NULL
        holder.parser = NULL
        Py_DECREF(parser)


cdef bint equal_programs(Program one, Program other) except -1:
    """Do both read the same format? It may have been compiled twice, so this compares fingerprints."""
    return one is other or (one.fingerprint == other.fingerprint and one.format == other.format)


cdef int numbers_take(Ids* out, object given, str name) except -1:
    try:
        return ids_take(out, given)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}, read like token ids: {error}") from None


cdef list numbers_of(object slots):
    """Numbers of slots, from whatever feed() takes."""
    cdef Ids ids
    cdef Py_ssize_t i
    numbers_take(&ids, slots, "slots")
    try:
        return [ids.ids[i] for i in range(ids.n)]
    finally:
        ids_free(&ids)


name_errors(Slots)
