# A writer of frames at its start: the script, and what the script says of this response. A pattern is a writer that has
# not started. Others are made of it, so that neither the constructor nor the choice of a script runs for each response.

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_REFCNT
from libc.stdint cimport uint8_t
cimport cython
from harmonystream._native.core.buffer cimport buffer_clear, buffer_put, buffer_room
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.cpython cimport PyUnicode_AsUTF8AndSize
from harmonystream._native.core.json_text cimport put_escaped
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.wire.json_filter cimport Arguments, filter_clear
from harmonystream._native.wire.tell cimport *

DEBUG = bool(DEBUG_BUILD)

cdef enum:
    MOST_OUT = 1 << 14                 # bytes of the buffer for frames that the next response takes over


@cython.auto_pickle(False)
cdef class StartingWriter(OpenWriter):
    """A response that starts, alone or as another one of a pattern."""

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

    # --- patterns ---

    cdef int take_shape(self) except -1:
        """It is a pattern from now on. Raises ValueError if it has started, or is one of several choices."""
        self.claim_alone()
        try:
            self.check(NEW)
            self.check_fresh()
            if self.shape is None:
                self.shape, self.shape_script, self.time, plain = self._shape()
                if self.shape_script is not None and plain is not None:
                    self.prefix, self.head, self.word_stem = plain
        finally:
            self.leave()
        return 0

    cdef StartingWriter another(self):
        """A writer with the same options, to start_as(). take_shape() comes before."""
        cdef object kind = type(self)
        cdef StartingWriter made = kind.__new__(kind, self.parser.fork(), _moved=True)
        made.pattern = self
        made.__dict__ = self.shape.copy()
        if not self.shape.get("_keeps_text", True):
            made._forget_texts()
        return made

    cdef void rest(self) noexcept:
        """Its response has ended, and nobody else holds it or its parser: it gives back what is large."""
        cdef Writer* w = &self.w
        cdef Arguments filter = self.arguments_through
        cdef int kind
        for kind in range(N_DELTAS):
            buffer_clear(&w.kept[kind], MOST_LEFT)
        told_clear(&w.told)
        buffer_clear(&self.out, MOST_OUT)
        w.filtered = False
        if filter is not None and Py_REFCNT(filter) > 2:
            self.set_filter(None)                                            # somebody else has it, too
        elif filter is not None:
            filter_clear(w.filter, MOST_LEFT)                                # it is for the next call

    cdef int renew(self) except -1:
        """As its pattern's another() gives it, after rest()."""
        self.parser.copy_state(self.pattern.parser)
        self.pending, self.end_word, self.script = b"", None, None
        self.ends_plainly = False
        self.drop_frames()
        self.w.number, self.w.stage = 0, NEW
        self.__dict__ = self.pattern.shape.copy()
        return 0

    cdef bytes start_as(self, object id, object created):
        """Give it its identity, and start it. The first frames."""
        cdef StartingWriter pattern = self.pattern
        cdef dict own
        if (pattern.prefix is None or type(id) is not str or not id.isascii()
                or (created is not None if pattern.time is None else type(created) is not int)):
            self._identify(id, created)
            if pattern.shape_script is None:
                return self.start()
            return self.begin(pattern.shape_script, self._constants(), self._opening_told())
        own = self.__dict__
        own["id"] = id
        if pattern.time is not None:
            own[pattern.time] = created
        stem = id[len(pattern.prefix):] if id.startswith(pattern.prefix) else id
        if pattern.word_stem and not stem.isalnum():
            stem = self._stem
        created = "" if pattern.time is None else str(created)
        return self.begin(pattern.shape_script, (id, created, stem, pattern.head), None)


name_errors(StartingWriter)
