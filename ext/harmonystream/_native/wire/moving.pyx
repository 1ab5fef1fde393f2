# A writer of frames that can be moved to another process: what it has told, as bytes or as text, and back.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset
cimport cython
from harmonystream._native.core.buffer cimport buffer_free
from harmonystream._native.core.build cimport DEBUG_BUILD
from harmonystream._native.core.fields cimport Fields
from harmonystream._native.core.naming cimport name_errors
from harmonystream._native.core.types cimport *
from harmonystream._native.stream.parser cimport Parser
from harmonystream._native.wire.json_filter cimport Arguments
from harmonystream._native.wire.script cimport Script
from harmonystream._native.wire.tell cimport *
from harmonystream._native.wire.told_state cimport *
from harmonystream._native.wire.writer cimport OpenWriter

DEBUG = bool(DEBUG_BUILD)


@cython.auto_pickle(False)
cdef class MovingWriter(OpenWriter):
    """The state of one response, as bytes and back."""

    def _check_movable(self):
        """Raises ValueError unless it has started and goes on."""
        if self.w.stage != DICTS:
            self.check(BYTES)

    def _moving(self):
        """Is it dicts, and the next payload's number."""
        return self.w.stage == DICTS, self.w.number

    def _kept(self):
        """What is kept of each kind of delta; after _catch_up()."""
        cdef int kind
        self.claim_alone()
        try:
            return [self.text_of(kind, 0, self.w.kept[kind].n) for kind in range(R_REASONING, R_ARGUMENTS + 1)]
        finally:
            self.leave()

    def _move_to(self, Parser parser not None, bint dicts, int64_t number, /):
        """It is new, and from now on what such a stream was. The parser need not be fresh."""
        self.claim_alone()
        try:
            self.check(NEW)
            self.parser, self.w.number, self.w.stage = parser, number, DICTS if dicts else BYTES
        finally:
            self.leave()

    def _told_state(self):
        """What its script has told, for _tell_again(). None: it has none, or Python has been told a part."""
        cdef Buffer made
        self.claim_alone()
        memset(&made, 0, sizeof(Buffer))
        try:
            self._check_movable()
            if self.w.told.script == NULL or self.w.told.caught_up or self.w.told.cut:
                return None
            if not told_pack(&self.w, &made):
                raise MemoryError()
            return PyBytes_FromStringAndSize(<const char*>made.p, made.n)
        finally:
            buffer_free(&made)
            self.leave()

    def _tell_again(self, Script script not None, str id not None, str created not None, str stem not None, str head,
                    bytes told not None, Arguments filter, int64_t number, /):
        """It is new, with a parser that need not be fresh, and from now on what such a stream was.

        filter: of an open call's arguments. Raises ValueError for what _told_state() could not have given.
        """
        cdef Fields f
        cdef Fault fault
        f.p, f.n, f.at, f.writing, f.truncated = (<uint8_t*>PyBytes_AS_STRING(told), PyBytes_GET_SIZE(told), 0, False,
                                                  False)
        self.claim_alone()
        try:
            self.check(NEW)
            self.set_script(script, id, created, stem, head)
            fault = told_unpack(&self.w, &f)
            if fault == LACKS_MEMORY:
                raise MemoryError()
            filtered = self.w.told.open == R_ARGUMENTS and script.table.filtered
            if fault == REFUSED or filtered != (filter is not None):
                raise ValueError("not a usable emitter state: its script does not tell this")
            if filtered and self.w.kept[<int>R_ARGUMENTS].n != self.w.told.item_at:
                raise ValueError("not a usable emitter state: the filter has the open call's arguments")
            self.set_filter(filter)
            self.w.number, self.w.stage = number, BYTES
        finally:
            self.leave()


name_errors(MovingWriter)
