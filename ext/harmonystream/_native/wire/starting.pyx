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

    def _begin_script(self, Script script not None, str id not None, str created not None, str stem not None, str head,
               bytes opening, /):
        """It is new, and from now on bytes, by this script. The first frames.

        head: the JSON of what a response begins with; None: the script has it. opening: the first frames, if they are
        not the script's.
        """
        self.claim_alone()
        try:
            self.check(NEW)
            self.check_fresh()
            return self.begin(script, (id, created, stem, head), opening)
        finally:
            self.leave()

    cdef bytes begin(self, Script script, tuple constants, bytes opening):
        self.set_script(script, constants[0], constants[1], constants[2], constants[3])
        self.out.n = 0
        if opening is None and not say(&self.w, &script.table.opening, &self.out):
            raise MemoryError()
        self.w.stage = BYTES
        return PyBytes_FromStringAndSize(<const char*>self.out.p, self.out.n) if opening is None else opening

    cdef int set_script(self, Script script, str id, str created, str stem, str head) except -1:
        cdef Told* t = &self.w.told
        self.script = script
        if not buffer_room(&t.constants, CONSTANTS_ROOM) or not buffer_room(&t.journal, JOURNAL_ROOM):
            raise MemoryError()
        self.put_constant(0, id, True)
        self.put_constant(1, created, False)
        self.put_constant(2, stem, True)
        t.script, t.stale = &script.table, &self.parser.stale
        if head is not None:
            return self.put_constant(3, head, False)
        if not say(&self.w, &script.table.head, &t.hook) or not buffer_put(&t.constants, t.hook.p, t.hook.n):
            raise MemoryError()
        t.constant_at[4] = t.constants.n
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
