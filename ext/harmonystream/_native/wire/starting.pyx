# A writer of frames at its start: the script, and what is constant in this response.

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
cimport cython
from harmonystream._native.core.buffer cimport buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.wire.tell cimport *

DEBUG = bool(DEBUG_BUILD)


@cython.auto_pickle(False)
cdef class StartingWriter(OpenWriter):
    """A response that starts."""

    def _begin_script(self, Script script not None, tuple constants not None, bint asks_ids, str usage not None,
                      bytes opening, /):
        """It is new, and from now on bytes, by this script. The first frames.

        constants: the response's id, when it was created, the stem of ids, the model, and the JSON of what it begins
        with; None: the script has that. asks_ids: `_call_ids` decides the id of each call. usage: as JSON, what is
        known of it at the beginning. opening: the first frames, if they are not the script's.
        """
        self.claim_alone()
        try:
            self.check(NEW)
            self.take_parser()
            return self.begin(script, constants, asks_ids, usage, opening)
        finally:
            self.leave()

    cdef bytes begin(self, Script script, tuple constants, bint asks_ids, str usage, bytes opening):
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(usage, &n)
        self.set_script(script, constants, asks_ids)
        self.out.n = self.w.told.usage.n = 0
        if n and not buffer_put(&self.w.told.usage, p, n):
            raise MemoryError()
        if opening is None and not say(&self.w, &script.table.opening, &self.out):
            raise MemoryError()
        self.w.stage = BYTES
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n) if opening is None else opening

    cdef int set_script(self, Script script, tuple constants, bint asks_ids) except -1:
        cdef Told* t = &self.w.told
        cdef str head = constants[4]
        self.script = script
        if not buffer_room(&t.constants, CONSTANTS_ROOM) or not buffer_room(&t.journal, JOURNAL_ROOM):
            raise MemoryError()
        self.put_constant(0, constants[0], True)
        self.put_constant(1, constants[1], False)
        self.put_constant(2, constants[2], True)
        self.put_constant(3, constants[3], True)
        t.script, t.stale, t.asks_ids = &script.table, &self.parser.stale, asks_ids
        if head is not None:
            return self.put_constant(4, head, False)
        if not say(&self.w, &script.table.head, &t.hook) or not buffer_put(&t.constants, t.hook.p, t.hook.n):
            raise MemoryError()
        t.constant_at[5] = t.constants.n
        t.hook.n = 0
        return 0

    cdef int put_constant(self, int k, str text, bint escaped) except -1:
        cdef Told* t = &self.w.told
        cdef Py_ssize_t n
        cdef const uint8_t* p = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        if not (put_escaped(&t.constants, p, n) if escaped else buffer_put(&t.constants, p, n)):
            raise MemoryError()
        t.constant_at[k + 1] = t.constants.n
        return 0


name_errors(StartingWriter)
