# Batch: its steps. A step itself is in wire/batch_step.pyx and wire/frame_step.pyx, without the GIL; what it returns,
# in wire/frames.pyx; the slots, in wire/slots.pyx.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
cimport cython
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.locks cimport gil_await, gil_left, gil_taken, leave
from harmonystream._native.core.token_ids cimport Ids, ids_free, ids_take
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.core.out cimport out_free, out_init
from harmonystream._native.core.buffer cimport buffer_free, buffer_put
from harmonystream._native.wire.sse cimport SseWriter
from harmonystream._native.wire.writer cimport BYTES
from harmonystream._native.wire.frames cimport Block, Frames
from harmonystream._native.wire.frame_step cimport begin_frames, step_frames
from harmonystream._native.wire.batch_step cimport *
from harmonystream._native.wire.slots cimport Slots, numbers_take
from harmonystream._native.core.types cimport *

from harmonystream.emit.columns import Columns
from harmonystream.errors import EmitterError

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    # bytes of text, and a few records, that a slot may make before the step's memory is given back
    KEPT = 512
    KEPT_RECORDS = 4
    MANY_IDS = 4096                # from here on, a step gives the GIL back after each call of Python


@cython.final
cdef class Batch(Slots):
    """Batch(format="harmony", vocab=None, capacity=1024, *, trim="seams", empty_args="{}", max_hold=1048576,
    check_stops=True)
--

    Up to `capacity` streams of one format and vocabulary, fed together: one call per decode step, in which the GIL is
    released once.

    All arguments but capacity are Parser's. A batch is lenient: one stream's error must not stop the others.
    One thread at a time; several batches are independent. A slot costs what a Parser does, and 160 bytes.
    Raises ValueError for a capacity that is not from 1 to 2**20, and what Parser() raises.
    """

    def __cinit__(self, *_, **__):
        self.out = <Out*>malloc(sizeof(Out))
        if self.out == NULL:
            raise MemoryError()
        out_init(self.out)

    def __dealloc__(self):
        if self.out != NULL:
            out_free(self.out)
        free(self.out)

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
        cdef Py_ssize_t waiting = 0
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
                    begin_frames(&self.step, &c)
                    waiting = step_frames(&self.step, &c)
                elif planned:
                    step_run(&self.step, &c)
                    step_columns(&self.step, self.out)
                gil_await(&self.step)
            gil_taken(&self.step)
            if not planned:
                self.refuse(slots.n)
            if self.out.no_memory:
                raise MemoryError()
            return self.frames(&c, waiting) if framed else self.columns()
        except EmitterError:
            raise
        except BaseException:                                                # no memory, or Ctrl-C in a callback
            if planned:
                step_lost(&self.step)
            raise
        finally:
            step_over(&self.step)
            buffer_free(&self.step.out)                                     # still ours: no Frames or Block took it
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
            raise ValueError(f"slot {number} has an emitter: use feed_sse()")
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
        """The events of the rows that are not deltas, by row."""
        cdef dict others = {}
        cdef const Holder* holder
        cdef Py_ssize_t i, k = 0, row = 0
        for i in range(self.step.n):
            while k < self.step.tasks[i].end:
                if is_row(&self.step, &self.step.tasks[i], &self.out.records[k]):
                    if self.out.records[k].kind > R_ARGUMENTS:
                        holder = &self.step.holders[self.step.tasks[i].number]
                        others[row] = (<Parser>holder.parser).event_of(self.out, k)
                    row += 1
                k += 1
        return others

    cdef Frames frames(self, Context* c, Py_ssize_t i):
        """i: the first task that needs its emitter's methods. Few do, so the rest of a short step keeps the GIL."""
        cdef Step* step = &self.step
        cdef Frames frames
        cdef dict errors = {}
        while i < step.n:
            self.make_frame(&step.tasks[i], errors)
            if step.n_ids < MANY_IDS:
                i = step_frames(step, c)
                continue
            with nogil:
                gil_left(step)
                i = step_frames(step, c)
                gil_await(step)
            gil_taken(step)
        if self.out.no_memory:
            raise MemoryError()
        frames = Frames.__new__(Frames)
        frames.n = step.n
        frames.own(&step.out)
        if errors:
            raise EmitterError(errors, [None if step.tasks[i].number in errors else frames[i] for i in range(step.n)])
        return frames

    cdef int make_frame(self, Task* task, dict errors) except -1:
        """Appends the frames that need Python. If the emitter raises, it keeps those of this task for error()."""
        cdef Buffer* out = &self.step.out
        cdef Py_ssize_t begin = self.step.begin_at
        cdef SseWriter emitter = self.emitters[task.number]
        cdef bytes frame
        try:
            frame = emitter.records(self.out, self.step.first, task.end)
        except MemoryError:
            raise
        except Exception as error:
            errors[task.number] = error
            frame = b""
            emitter.pending = (<const char*>out.p)[begin:out.n] + emitter.pending
            out.n = begin
        if not buffer_put(out, <const uint8_t*>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame)):
            raise MemoryError()
        task.end = out.n
        return 0

    def __sizeof__(self):
        cdef Py_ssize_t size = Slots.__sizeof__(self) + sizeof(Out)
        if self.out.cap_records != INLINE_RECORDS:
            size += self.out.cap_records * sizeof(Record)
        return size + (self.out.cap_text if self.out.cap_text != INLINE_TEXT else 0)


name_errors(Batch)
